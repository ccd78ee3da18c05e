"""Assembling an `Architecture`: outer configuration, text part, recipe, head, rotary tables."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue, ValidationError

from models.architecture.blocks.draft import Draft, rows
from models.architecture.blocks.rotary import rotary_tables
from models.architecture.blocks.vision import step_elements, vision
from models.architecture.config.conventions import with_usual_exceptions
from models.architecture.config.fields import Fields, is_mapping
from models.architecture.config.quantization import MXFP4, named_scheme, quantization
from models.architecture.families.family import ModelFamily, Multimodal
from models.architecture.families.registry import (
    FAMILIES,
    defaults_of,
    known_types,
    multimodal_of,
    text_type,
)
from models.architecture.families.towers import audio, is_gated
from models.architecture.traits import EngineTraits
from models.architecture.types import (
    Architecture,
    Family,
    Part,
    Quantization,
    Shard,
)
from models.core.findings import Finding
from models.core.problems import ProblemsError, from_validation, shown

_DTYPES: Final = ("bfloat16", "float16", "float32")


def architecture(config: Mapping[str, JsonValue]) -> Architecture:
    """Return the architecture of a `config.json`.

    Raises:
        ProblemsError: naming every field that is missing, wrong or not understood.

    """
    text, outer_type = _text_part(config)
    model_type = _model_type(text, outer_type)
    family = FAMILIES.get(model_type)
    if family is None:
        problem = Finding(
            path="model_type",
            message="this model type is not known",
            value=shown(text.get("model_type", config.get("model_type"))),
            allowed=", ".join(sorted(known_types())),
        )
        raise ProblemsError("config.json", [problem])
    fields = Fields(text, model_type, defaults=family.defaults)
    name = outer_type or model_type
    outer = Fields(config, name, defaults=defaults_of(name))
    found: Architecture | None = None
    unfit: tuple[Finding, ...] = ()
    try:
        draft = Draft(fields)
        family.recipe(draft)
        if not draft.caches:
            fields.wrong("num_hidden_layers", fields.config.get("num_hidden_layers"), "layers")
        found = _assemble(draft, outer, family)
    except ValidationError as error:
        # Values that pass one by one and make no model together.
        unfit = from_validation(error)
    problems = [*fields.problems, *outer.problems] or [*unfit, *fields.not_understood()]
    if problems or found is None:
        raise ProblemsError("config.json", problems)
    return found


def with_quantization(model: Architecture, method: str) -> Architecture:
    """Return the architecture under an engine method's name (`--quantization`).

    A checkpoint that states its own quantization keeps it, as in the engine.

    Raises:
        ProblemsError: when the method is not known.

    """
    if model.quantization is not None:
        return model
    scheme = named_scheme(method)
    if scheme is None:
        problem = Finding(
            path="quantization",
            message="this quantization method is not known",
            value=shown(method),
            remedy="give the checkpoint's config.json with its quantization_config",
        )
        raise ProblemsError("engine arguments", [problem])
    assumed = Quantization(
        method=method,
        scheme=scheme,
        experts_only="mxfp4" in method.lower(),
        online=True,
        assumed=True,
    )
    missing = (*model.incomplete, *_not_explained(model.engine, assumed))
    changed = {"quantization": assumed, "incomplete": missing}
    return with_usual_exceptions(model.model_copy(update=changed))


def _not_explained(engine: EngineTraits, quantization: Quantization | None) -> tuple[str, ...]:
    """Name what the engine allocates beyond what this project can count.

    Asked about FP8 under its Transformers backend, it says 4 to 14 % more than the parameters.
    """
    if quantization is None or not engine.transformers_backend:
        return ()
    if not quantization.scheme.kind.value.startswith("fp8"):
        return ()
    return ("what FP8 takes beside weights under the engine's Transformers backend",)


def _text_part(config: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], str | None]:
    outer = config.get("model_type")
    outer_type = outer if isinstance(outer, str) else None
    for name in ("text_config", "llm_config", "language_config", "thinker_config"):
        inner = config.get(name)
        if is_mapping(inner) and inner:
            return inner, outer_type
    return config, outer_type


def classes_of(config: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the model classes that a configuration names (`architectures`)."""
    named = config.get("architectures")
    return tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else ()


def _model_type(text: Mapping[str, JsonValue], outer: str | None) -> str:
    stated = text.get("model_type")
    name = stated if isinstance(stated, str) else outer or ""
    return text_type(name)


def _assemble(draft: Draft, outer: Fields, family: ModelFamily) -> Architecture:
    fields = draft.fields
    layers = family.layers(fields)
    vocab = fields.size("vocab_size")
    tied = _tied(fields, outer, family)
    _ends(draft, vocab, tied=tied)
    positions = fields.optional("max_position_embeddings", "n_positions", "max_seq_len")
    rotary_tables(draft, positions, family.tables)
    joint = _multimodal(outer).joint
    tokens, vision_width = vision(draft, outer, joint, gated=is_gated(outer))
    audio(draft, outer)
    kinds = {cache.kind.is_state for cache in draft.caches}
    found = quantization(fields) or (
        quantization(outer) if outer.config is not fields.config else None
    )
    if found is not None and fields.text("expert_dtype") == "fp4" and not found.expert_scheme:
        found = found.model_copy(update={"expert_scheme": MXFP4})
    if found is not None and found.scheme == MXFP4 and family.mxfp4_experts_only:
        found = found.model_copy(update={"experts_only": True})
    fields.incomplete.extend(_not_explained(family.engine, found))
    whole = Architecture(
        model_type=family.name,
        classes=classes_of(outer.config),
        family=_family(kinds, draft.experts),
        dtype=_dtype(fields, outer),
        hidden_size=draft.hidden,
        vocab_size=vocab,
        num_layers=layers,
        heads=draft.heads,
        kv_heads=draft.kv_heads,
        head_dim=draft.head_dim,
        max_positions=positions,
        intermediate_width=draft.widest,
        tied_embeddings=tied,
        experts=draft.experts,
        top_k=draft.top_k,
        expert_intermediate=draft.expert_intermediate,
        multimodal=tokens > 0,
        vision_tokens=tokens,
        vision_width=vision_width,
        step_elements=step_elements(draft, outer) if tokens else 0,
        bidirectional_prefix=_has_prefix(fields, outer),
        attention_sinks=family.attention_sinks,
        engine=family.engine,
        mtp_layers=fields.count("num_nextn_predict_layers", "mtp_num_hidden_layers"),
        index_top_k=fields.count("index_topk"),
        incomplete=tuple(dict.fromkeys([*fields.incomplete, *outer.incomplete])),
        weights=tuple(draft.weights),
        caches=tuple(draft.caches),
        quantization=found,
        notes=tuple(dict.fromkeys([*fields.notes, *outer.notes])),
    )
    return with_usual_exceptions(whole)


def _tied(fields: Fields, outer: Fields, family: ModelFamily) -> bool:
    """Tell whether the head is the embedding."""
    if family.ties_itself or fields.raw("tie_word_embeddings") is not None:
        return fields.flag("tie_word_embeddings", default=family.tied)
    return outer.flag("tie_word_embeddings", default=family.tied)


def _ends(draft: Draft, vocab: int, *, tied: bool) -> None:
    """Add embedding, final norm and head."""
    draft.add(Part.EMBEDDING, "embed_tokens", rows(vocab), draft.hidden, shard=Shard.VOCABULARY)
    if not tied:
        draft.add(
            Part.HEAD, "lm_head", rows(vocab), draft.hidden, shard=Shard.VOCABULARY, linear=True
        )
    draft.add(Part.NORM, "norm", rows(draft.hidden))


def _family(kinds: set[bool], experts: int) -> Family:
    if kinds == {True}:
        return Family.SSM
    if kinds == {True, False}:
        return Family.HYBRID
    return Family.MOE if experts else Family.TRANSFORMER


def _dtype(fields: Fields, outer: Fields) -> str:
    stated = fields.text("torch_dtype", "dtype") or outer.text("torch_dtype", "dtype")
    if stated is None:
        return "bfloat16"
    plain = stated.removeprefix("torch.")
    if plain not in _DTYPES:
        fields.wrong("torch_dtype", stated, ", ".join(_DTYPES))
    if plain == "float32":
        fields.notes.append("the checkpoint is float32: the engine's auto dtype is 16 bit")
        return "bfloat16"
    return plain


def _has_prefix(fields: Fields, outer: Fields) -> bool:
    """Tell whether image tokens attend both ways (the engine picks other kernels then)."""
    if not outer.config.get("vision_config"):
        return False
    if fields.raw("use_bidirectional_attention") is not None:
        return fields.raw("use_bidirectional_attention") in ("vision", "all", True)
    return _multimodal(outer).bidirectional_prefix


def _multimodal(outer: Fields) -> Multimodal:
    """Return what is known of the outer type; one without a vision part need not name any."""
    return multimodal_of(outer.text("model_type") if outer.config.get("vision_config") else None)
