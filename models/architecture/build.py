"""Assembling an `Architecture`: outer configuration, text part, recipe, head, rotary tables."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue, ValidationError

from models.architecture.blocks.attention import rotary
from models.architecture.blocks.audio import audio
from models.architecture.blocks.draft import Draft, rows
from models.architecture.blocks.vision import step_elements, vision
from models.architecture.config.conventions import with_usual_exceptions
from models.architecture.config.defaults import TIED_BY_DEFAULT
from models.architecture.config.fields import Fields, is_mapping, layer_count
from models.architecture.config.quantization import MXFP4, named_scheme, quantization
from models.architecture.families.registry import RECIPES, TEXT_PART
from models.architecture.types import (
    Architecture,
    CacheKind,
    Family,
    Part,
    Quantization,
    Shard,
)
from models.core.findings import Finding
from models.core.problems import ProblemsError, from_validation, shown

_DTYPES: Final = ("bfloat16", "float16", "float32")
_TRANSFORMERS_BACKEND: Final = frozenset(
    {"arcee", "cwm", "flex_olmo", "glm", "gpt_neox", "hunyuan_v1_dense", "jais2", "mellum", "olmo"}
    | {"olmo2", "olmo3", "phi", "seed_oss", "smollm3", "starcoder2", "vaultgemma"}
)
"""Model types without a class of the engine's own (vLLM 0.33.0 `registry.py`)."""
_NO_ROTARY: Final = _TRANSFORMERS_BACKEND | frozenset(
    # The backend keeps frequencies and no table; the others have none at all.
    {"nemotron_h", "jamba", "kimi_linear", "zamba2", "gpt2", "gpt-sw3", "opt", "bloom"}
)
_PREFIX_TYPES: Final = ("gemma3", "paligemma")


def architecture(config: Mapping[str, JsonValue]) -> Architecture:
    """Return the architecture of a `config.json`.

    Raises:
        ProblemsError: naming every field that is missing, wrong or not understood.

    """
    text, outer_type = _text_part(config)
    model_type = _model_type(text, outer_type)
    recipe = RECIPES.get(model_type)
    if recipe is None:
        known = ", ".join(sorted({*RECIPES, *TEXT_PART}))
        problem = Finding(
            path="model_type",
            message="this model type is not known",
            value=shown(text.get("model_type", config.get("model_type"))),
            allowed=known,
        )
        raise ProblemsError("config.json", [problem])
    fields = Fields(text, model_type)
    outer = Fields(config, outer_type or model_type)
    found: Architecture | None = None
    unfit: tuple[Finding, ...] = ()
    try:
        draft = Draft(fields)
        recipe(draft)
        if not draft.caches:
            fields.wrong("num_hidden_layers", fields.config.get("num_hidden_layers"), "layers")
        found = _assemble(draft, outer, model_type)
    except ValidationError as error:
        # Values that pass one by one and make no model together.
        unfit = from_validation(error)
    problems = [*fields.problems, *outer.problems] or [*unfit, *fields.not_understood()]
    if problems or found is None:
        raise ProblemsError("config.json", problems)
    return found


def with_quantization(found: Architecture, method: str) -> Architecture:
    """Return the architecture under an engine method's name (`--quantization`).

    A checkpoint that states its own quantization keeps it, as in the engine.

    Raises:
        ProblemsError: when the method is not known.

    """
    if found.quantization is not None:
        return found
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
    missing = (*found.incomplete, *_not_explained(found.model_type, assumed))
    changed = {"quantization": assumed, "incomplete": missing}
    return with_usual_exceptions(found.model_copy(update=changed))


def _not_explained(model_type: str, quantization: Quantization | None) -> tuple[str, ...]:
    """Name what the engine allocates beyond what this project can count.

    Asked about FP8 under its Transformers backend, it says 4 to 14 % more than the parameters.
    """
    if quantization is None or model_type not in _TRANSFORMERS_BACKEND:
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
    return TEXT_PART.get(name, name)


def _assemble(draft: Draft, outer: Fields, model_type: str) -> Architecture:
    fields = draft.fields
    layers = layer_count(fields) if model_type != "nemotron_h" else _nemotron_layers(fields)
    vocab = fields.size("vocab_size")
    tied = _tied(fields, outer, model_type)
    _ends(draft, vocab, tied=tied)
    positions = fields.optional("max_position_embeddings", "n_positions", "max_seq_len")
    _rotary_tables(draft, positions, model_type)
    tokens, vision_width = vision(draft, outer)
    audio(draft, outer)
    kinds = {cache.kind.is_state for cache in draft.caches}
    found = quantization(fields) or (
        quantization(outer) if outer.config is not fields.config else None
    )
    if found is not None and fields.text("expert_dtype") == "fp4" and not found.expert_scheme:
        found = found.model_copy(update={"expert_scheme": MXFP4})
    if found is not None and found.scheme == MXFP4 and model_type == "kimi_linear":
        found = found.model_copy(update={"experts_only": True})
    fields.incomplete.extend(_not_explained(model_type, found))
    whole = Architecture(
        model_type=model_type,
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
        attention_sinks=model_type in ("gpt_oss", "mimo_v2_flash"),
        mtp_layers=fields.count("num_nextn_predict_layers", "mtp_num_hidden_layers"),
        index_top_k=fields.count("index_topk"),
        incomplete=tuple(dict.fromkeys([*fields.incomplete, *outer.incomplete])),
        weights=tuple(draft.weights),
        caches=tuple(draft.caches),
        quantization=found,
        notes=tuple(dict.fromkeys([*fields.notes, *outer.notes])),
    )
    return with_usual_exceptions(whole)


def _nemotron_layers(fields: Fields) -> int:
    kinds = fields.text("hybrid_override_pattern") or fields.texts("layers_block_type")
    return len(kinds) if kinds else layer_count(fields)


def _tied(fields: Fields, outer: Fields, model_type: str) -> bool:
    """Tell whether the head is the embedding.

    The engine copies what stands outside into most text parts, not into Qwen3.5's (vLLM 0.33.0
    `config/vllm.py`; measured).
    """
    default = model_type in TIED_BY_DEFAULT
    own = model_type in ("qwen3_5_text", "qwen3_5_moe_text")
    if own or fields.raw("tie_word_embeddings") is not None:
        return fields.flag("tie_word_embeddings", default=default)
    return outer.flag("tie_word_embeddings", default=default)


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
    return (outer.text("model_type") or "") in _PREFIX_TYPES


def _rotary_tables(draft: Draft, positions: int | None, model_type: str) -> None:
    """Add the rotary tables that the engine builds: one per distinct head size and base."""
    attention = [cache for cache in draft.caches if not cache.kind.is_state]
    if positions is None or not attention or model_type in _NO_ROTARY:
        return
    fields = draft.fields
    if model_type == "granitemoehybrid" and fields.text("position_embedding_type") != "rope":
        return
    if model_type == "deepseek_v4":
        for _ in ("compressed", "window"):
            rotary(draft, positions, fields.size("qk_rope_head_dim"), "float32")
        return
    partial = _partial(fields)
    latent = fields.optional("qk_rope_head_dim")
    if latent is not None:
        tables = 2 if fields.optional("index_n_heads") else 1
        dtype = "float32" if tables == 2 else None
        for _ in range(tables):
            rotary(draft, positions, latent, dtype)
        return
    dtype = "float32" if model_type == "gpt_oss" else None
    dims = {(cache.head_dim, cache.kind) for cache in attention if cache.head_dim}
    local = model_type in ("gemma3_text", "gemma3n_text", "gemma4_text", "mimo_v2_flash")
    tables = dims if local else {(dim, CacheKind.FULL) for dim, _ in dims}
    for dim, kind in sorted(tables):
        times = 1 if kind is CacheKind.SLIDING else _linear_scaling(fields)
        rotary(draft, int(positions * times), max(1, int(dim * partial)), dtype)


def _linear_scaling(fields: Fields) -> float:
    """Return the factor by which linear scaling lengthens a table (others keep its length).

    vLLM 0.33.0 `rotary_embedding/linear_scaling_rope.py`. Windows have their own table.
    """
    for name in ("rope_parameters", "rope_scaling"):
        section: Mapping[str, JsonValue] = fields.section(name)
        nested = section.get("full_attention")
        section = nested if is_mapping(nested) else section
        if section.get("rope_type", section.get("type")) != "linear":
            continue
        factor = section.get("factor", 1.0)
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1e6:
            fields.wrong(f"{name}.factor", factor, "a positive number")
            return 1.0
        return max(1.0, factor)
    return 1.0


def _partial(fields: Fields) -> float:
    section = fields.section("rope_parameters")
    inner = Fields(section, fields.model_type, path="rope_parameters.")
    value = inner.number("partial_rotary_factor", 1.0)
    if value == 1.0:
        value = fields.number("partial_rotary_factor", 1.0)
    dim = fields.optional("rotary_dim")
    if dim and fields.optional("head_dim"):
        return min(1.0, dim / fields.size("head_dim"))
    return min(1.0, value)
