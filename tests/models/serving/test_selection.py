"""Engine arguments: accepted by the engine's parser, legal for the family, each with its reason."""

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest
from pydantic import JsonValue

from models.architecture import Architecture, CacheKind, Family, architecture
from models.engine.profiles import EngineOverrides, Environment, Parallelism
from models.engine.serve import command_line, problems_of
from models.facts.accelerators import Accelerator
from models.facts.catalog import CatalogModel
from models.facts.contract import EngineContract
from models.memory import Verdict
from models.memory.terms.pages import base_block
from models.serving.chosen_arguments import Choice, choose
from models.serving.family_arguments import attention_backend
from models.serving.formats import FORMATS, find_format, merged_config, under_format
from models.serving.reasons import ArgumentInputs, Reasons
from models.serving.selection import ModelCandidate, Selection, select, smallest
from models.serving.splits import legal_tensor_parallel, node_gpus
from tests.helpers.plans.dev import catalog

pytestmark = pytest.mark.pure

FACTS: Final = Path(__file__).resolve().parents[4] / "shared" / "facts"
TOLD: Final = [f for f in FORMATS if f not in ("bf16", "fp16", "gguf", "bitsandbytes")]
MODELS: Final = sorted(catalog().models)
LATENT: Final = {CacheKind.MLA, CacheKind.MLA_SLIDING}


class EngineParser(argparse.ArgumentParser):
    """The pinned engine's parser, which raises where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        raise AssertionError(message)


def number_or_auto(text: str) -> int | str:
    """Read what `human_readable_int_or_auto` reads of plain numbers."""
    return text if text == "auto" else int(text)


TYPES: Final[dict[str | None, Any]] = {
    "int": int,
    "float": float,
    "human_readable_int": int,
    "human_readable_int_or_auto": number_or_auto,
}


@cache
def engine_parser() -> EngineParser:
    """Build the parser of vLLM 0.33.0 from its own list of options."""
    path = FACTS / "vllm-args-0.33.0.json"
    if not path.exists():
        pytest.fail(f"lacking {path.name} in ../shared/facts: nothing to check against")
    parser = EngineParser(add_help=False, allow_abbrev=False)
    parser.add_argument("model_tag", nargs="?")
    for row in json.loads(path.read_text(encoding="utf-8")):
        names: list[str] = row["flags"]
        if "--help" in names:
            continue
        if row["nargs"] == 0:
            off = [f"--no-{name[2:]}" for name in names if name.startswith("--enable-")]
            parser.add_argument(*names, *off, action="store_true")
            continue
        convert = TYPES.get(row["type"], str)
        more: dict[str, Any] = {} if row["choices"] is None else {"choices": row["choices"]}
        parser.add_argument(*names, nargs=row["nargs"], type=convert, **more)
    return parser


@cache
def shapes(name: str) -> Architecture:
    """Return a catalog model's architecture."""
    return architecture(catalog().models[name].config)


def contract() -> EngineContract:
    """Return the pinned release."""
    return catalog().engines["0.33.0"]


def card(name: str) -> Accelerator:
    """Return a card of the catalog."""
    return catalog().accelerators[name]


def subject(name: str, asked: str | None = None) -> ModelCandidate:
    """Return a catalog model as a subject, in a format where one is asked for."""
    found, problems = find_format(shapes(name), (name,), asked)
    assert not problems
    return ModelCandidate(
        entry=catalog().models[name].entry, architecture=shapes(name), format=found
    )


def chosen(
    model: CatalogModel,
    found: Architecture,
    environment: Environment,
    on: Accelerator,
    quantization: str | None = None,
    **overrides: Any,
) -> tuple[Choice, ArgumentInputs]:
    """Return the arguments chosen over all GPUs that are legal, without a word against them."""
    wanted = ArgumentInputs(
        environment=environment,
        entry=model.entry,
        architecture=found,
        accelerator=on,
        contract=contract(),
        parallelism=Parallelism(tensor=legal(model.entry.name, on.name)[-1]),
        overrides=EngineOverrides(**overrides),
        path="models[0]",
        quantization=quantization,
    )
    choice, problems = choose(wanted)
    assert not problems
    return choice, wanted


@cache
def legal(name: str, on: str) -> tuple[int, ...]:
    """Return the legal tensor parallel sizes."""
    return legal_tensor_parallel(shapes(name), card(on), contract())


def check(choice: Choice, wanted: ArgumentInputs) -> None:
    """Hold a choice against the engine's parser, its contract, its family, and its reasons."""
    command = command_line(choice.arguments, contract())
    parsed = engine_parser().parse_args(command)
    assert parsed.model_tag == choice.arguments.model_path
    assert problems_of(command, contract(), "x") == []
    family, arguments = wanted.architecture.family, choice.arguments
    minimum = contract().minimum_capability
    if wanted.accelerator.capability >= (7, 5):
        assert arguments.kv_cache_dtype in minimum.kv_cache_dtype
    words = " ".join(command)
    if family is Family.SSM:
        assert "prefix-caching" not in words
        assert "kv-cache-dtype=fp8" not in words
        assert "attention-backend" not in words
    if family in (Family.SSM, Family.HYBRID):
        assert "block-size" not in words
    elif arguments.block_size is not None:
        own = base_block(
            wanted.architecture, wanted.accelerator.capability, arguments.kv_cache_dtype
        )
        assert arguments.block_size % own == 0, "the best kernels could not be used"
    old = wanted.accelerator.capability < (8, 0)
    latent = bool(LATENT & set(wanted.architecture.attention_kinds))
    expected = ("TRITON_MLA" if latent else "TRITON_ATTN") if old else None
    assert arguments.attention_backend == (None if family is Family.SSM else expected)
    reasons = {reason.option: reason.why for reason in choice.reasons}
    for word in command[1:]:
        option = word.split("=")[0].replace("--no-enable-", "--enable-")
        assert reasons.get(option), f"{word} has no reason"
        assert not reasons[option].startswith("left out"), word
    assert len(reasons) == len(choice.reasons), "an option has two reasons"


@pytest.mark.parametrize("name", MODELS)
def test_arguments_of_every_card_and_environment_pass_the_engines_parser(name: str) -> None:
    """A word that the parser does not take ends the container before it logs anything."""
    model = catalog().models[name]
    for on in catalog().accelerators.values():
        for environment in Environment:
            check(*chosen(model, shapes(name), environment, on))


@pytest.mark.parametrize("name", ["falcon-mamba-7b", "nemotron3-nano-30b-a3b", "qwen3-30b-a3b"])
@pytest.mark.parametrize("form", TOLD)
def test_formats_that_the_engine_must_be_told_pass_too(name: str, form: str) -> None:
    """Every format on a model of every family whose configuration does not state it."""
    found = subject(name, form).format
    model, stored = catalog().models[name], under_format(shapes(name), found)
    for on in catalog().accelerators.values():
        choice, wanted = chosen(model, stored, Environment.PROD, on, found.quantization)
        check(choice, wanted)
        assert choice.arguments.quantization == found.quantization is not None


@pytest.mark.parametrize("form", ["gguf", "bitsandbytes"])
def test_formats_that_the_pinned_engine_lost_are_refused(form: str) -> None:
    """Both left the engine; the parser ends the container at the word."""
    found = select(subject("qwen3-8b", form), Environment.PROD, card("l4"), contract())
    assert not found.good
    assert any("--quantization" in problem for problem in found.problems)


def test_overrides_carry_their_reasons() -> None:
    """Whoever reads the plan sees what was asked for and what was decided."""
    choice, wanted = chosen(
        catalog().models["qwen3-8b"],
        shapes("qwen3-8b"),
        Environment.PROD,
        card("h100-80gb"),
        max_num_batched_tokens=4096,
        enforce_eager=True,
        kv_cache_memory_bytes=2**30,
        enable_prefix_caching=False,
        dtype="half",
        kv_cache_dtype="auto",
        block_size=32,
        max_model_len=1024,
    )
    check(choice, wanted)
    why = {reason.option: reason.why for reason in choice.reasons}
    for option in ("--block-size", "--enforce-eager", "--dtype", "--enable-prefix-caching"):
        assert why[option].startswith("asked for"), option


def test_a_block_size_that_keeps_the_best_kernels_away_is_a_warning() -> None:
    """FlashMLA takes blocks of 64 only: 16 would leave the slower kernels."""
    name = "deepseek-r1"
    on = card("h200-141gb")
    plain, _ = chosen(catalog().models[name], shapes(name), Environment.PROD, on)
    assert plain.arguments.block_size is None
    model = catalog().models[name]
    asked, _ = chosen(model, shapes(name), Environment.PROD, on, block_size=16)
    assert asked.arguments.block_size == 16
    assert any("take blocks of 64" in notice.message for notice in asked.notices)


@pytest.mark.parametrize("name", MODELS)
def test_the_format_is_read_from_the_configuration(name: str) -> None:
    """The catalog's own word agrees with what is detected."""
    assert subject(name).format.format == catalog().models[name].entry.format.value


def test_the_names_of_files_count_where_the_configuration_is_silent() -> None:
    found, problems = find_format(shapes("qwen3-8b"), ("Qwen3-8B-AWQ", "model.safetensors"), None)
    assert (found.format, found.quantization, problems) == ("awq", "awq", [])
    assert "quant_config.json" in found.warnings[0]


def test_quantization_beside_the_configuration_is_merged_into_it() -> None:
    """Older tools wrote quant_config.json; ModelOpt nests it one level down."""
    config = dict(catalog().models["qwen3-8b"].config)
    awq = merged_config(config, {"quant_config.json": {"w_bit": 4, "q_group_size": 128}})
    found, _ = find_format(architecture(awq), (), None)
    assert (found.format, found.quantization) == ("awq", None)
    modelopt: dict[str, JsonValue] = {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "NVFP4"},
    }
    merged = merged_config(config, {"hf_quant_config.json": modelopt})
    assert find_format(architecture(merged), (), None)[0].format == "nvfp4"
    stated = dict(catalog().models["qwen25-7b-instruct-awq"].config)
    assert merged_config(stated, {"quantize_config.json": {"bits": 8}}) == stated


def test_a_format_against_the_checkpoint_is_refused() -> None:
    """The engine compares the two and stops."""
    _, problems = find_format(shapes("qwen25-7b-instruct-awq"), (), "fp8")
    assert "the engine would stop at the contradiction" in str(problems[0])
    _, problems = find_format(shapes("qwen3-8b"), (), "exl2")
    assert "no such format" in str(problems[0])
    agreed, problems = find_format(shapes("qwen25-7b-instruct-awq"), (), "AWQ")
    assert (agreed.quantization, problems) == (None, [])


@pytest.mark.parametrize(
    ("name", "on", "sizes"),
    [
        ("qwen3-8b", "h100-80gb", (1, 2, 4, 8)),
        ("qwen25-7b-instruct-awq", "h100-80gb", (1, 2, 4)),
        ("qwen3-30b-a3b-fp8", "h100-80gb", (1, 2, 4, 8)),
        ("qwen3-30b-a3b-fp8", "a100-80gb", (1, 2)),
        ("gemma3-1b-it", "h100-80gb", (1, 2, 4)),
        ("falcon-mamba-7b", "h100-80gb", (1, 2, 4, 8)),
    ],
)
def test_legal_sizes_follow_heads_groups_and_widths(
    name: str, on: str, sizes: tuple[int, ...]
) -> None:
    """VLLM-01, 02, 03: 28 heads allow 7, but a width of 18944 over 7 ranks does not."""
    assert legal(name, on) == sizes


def test_a_node_bounds_the_legal_sizes() -> None:
    """VLLM-19: what spans two nodes waits forever."""
    for on in catalog().accelerators.values():
        assert max(legal("qwen3-8b", on.name)) <= node_gpus(on)


def selected(name: str, on: str, tensor: int | None = None, **overrides: Any) -> Selection:
    """Return the selection of a catalog model in prod."""
    asked = EngineOverrides(**overrides)
    return select(subject(name), Environment.PROD, card(on), contract(), asked, tensor)


def test_the_fewest_gpus_that_hold_the_model_are_chosen() -> None:
    found = selected("qwen3-8b", "t4")
    assert (found.tensor_parallel, found.verdict) == (2, Verdict.FITS)
    assert selected("qwen3-8b", "t4", tensor=1).verdict is not Verdict.FITS


def test_a_size_that_is_not_legal_is_refused_with_those_that_are() -> None:
    found = selected("qwen25-7b-instruct-awq", "h100-80gb", tensor=8)
    assert not found.good
    assert any("allowed: 1, 2, 4" in problem for problem in found.problems)


def test_what_more_gpus_cannot_mend_is_not_spread() -> None:
    """PSTK-05: a V100 stays too old, however many there are."""
    found = selected("qwen3-8b", "v100-16gb")
    assert found.tensor_parallel == 1
    assert "capability" in found.rules


def test_remedies_stay_within_a_node() -> None:
    found = selected("deepseek-r1", "h100-80gb")
    assert found.tensor_parallel == 8
    assert not any("16" in remedy for remedy in found.remedies)


def test_the_smallest_machine_that_holds_a_model_is_found() -> None:
    cards = catalog().accelerators.values()
    found = smallest(subject("qwen3-8b"), Environment.PROD, cards, contract())
    assert (found.gpu, found.gpus, found.good) == ("a10g", 1, True)
    large = smallest(subject("deepseek-r1"), Environment.PROD, cards, contract())
    assert (large.gpu, large.gpus) == ("h200-141gb", 8)


@pytest.mark.parametrize(
    ("name", "kind", "caching", "affinity", "tiers"),
    [
        ("qwen3-8b", "paged-kv", "on", True, True),
        ("deepseek-v2-lite", "paged-latent", "on", True, True),
        ("gpt-oss-20b", "paged-kv-with-windows", "on", True, False),
        ("qwen3-next-80b-a3b-instruct", "hybrid-state-and-kv", "engine-default", False, False),
        ("falcon-mamba-7b", "recurrent-state", "not-applicable", False, False),
    ],
)
def test_the_cache_strategy_follows_the_family(
    name: str, kind: str, caching: str, affinity: bool, tiers: bool
) -> None:
    """VLLM-07, LMC-07: routing by prefix and LMCache do not suit every family."""
    cache_ = selected(name, "h200-141gb").cache
    assert (cache_.kind, cache_.prefix_caching) == (kind, caching)
    assert (cache_.prefix_affinity_routing, cache_.tiers) == (affinity, tiers)


def test_every_argument_of_a_selection_is_explained() -> None:
    found = selected("falcon-mamba-7b", "t4")
    passed = [each for each in found.arguments if each.passed]
    assert len(passed) == len(found.command)
    left = {each.option: each.why for each in found.arguments if not each.passed}
    assert left["--block-size"] == "a state of fixed size is not paged"
    assert "no attention layers" in left["--attention-backend"]


def test_the_backend_is_left_to_the_engine_from_ampere_on() -> None:
    """8.0 itself has the default kernels."""
    _, wanted = chosen(
        catalog().models["qwen3-8b"], shapes("qwen3-8b"), Environment.DEV, card("a100-40gb")
    )
    assert attention_backend(wanted, Reasons(wanted)) is None
