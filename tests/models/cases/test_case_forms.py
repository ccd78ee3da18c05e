"""Cases in the forms in which people write them: flags, counts, GPUs, releases not stated."""

from typing import Any

import pytest

from catalog.loader import load
from catalog.readers import names as tables
from catalog.readers.tables import gpu_families
from models.architecture.families.registry import FAMILIES
from models.cases.asking import CaseRequest, Sources, ask
from models.cases.cards import CardNames
from models.cases.cases import Case, case_of
from models.core.problems import ProblemsError
from models.facts.gpu_families import capability_of_name
from models.memory import Verdict, budget
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

CATALOG = load()
KNOWN = Sources(
    catalog=CATALOG,
    names=tables.model_names({}),
    cards=CardNames(CATALOG.accelerators, tables.other_gpus(), gpu_families()),
)


def case(**line: Any) -> Case:
    return case_of({"model": "Qwen/Qwen3-8B", "gpu": "A10G", **line}, CATALOG.engines)[0]


def asked(**line: Any) -> CaseRequest:
    return ask(case(**line), KNOWN)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("8k", 8000), ("8K", 8192), ("25.6k", 25600), ("1M", 2**20), ("8,192", 8192), (8192.0, 8192)],
)
def test_counts_as_the_engines_parser_takes_them(written: Any, meant: int) -> None:
    assert case(max_model_len=written).max_model_len == meant


@pytest.mark.parametrize("written", ["eight", "8kk", "-8k"])
def test_counts_that_are_none_are_refused(written: str) -> None:
    with pytest.raises(ProblemsError, match="max_model_len"):
        case(max_model_len=written)


@pytest.mark.parametrize(
    "args",
    [
        "vllm serve --max-model-len 8192 --kv-cache-dtype=fp8_e5m2 --enforce-eager -tp 2",
        ["--max_model_len", "8192", "--kv-cache-dtype", "fp8_e5m2", "--enforce-eager", "-tp=2"],
        {"max-model-len": 8192, "kv_cache_dtype": "fp8_e5m2", "enforce-eager": True, "tp": 2},
    ],
)
def test_flags_in_every_form_say_the_same(args: Any) -> None:
    found = case(args=args)
    assert (found.max_model_len, found.kv_cache_dtype) == (8192, "fp8_e5m2")
    assert found.enforce_eager is True
    assert found.tensor_parallel_size == 2


def test_a_field_wins_over_a_flag_and_a_switch_can_be_off() -> None:
    found = case(max_model_len=4096, args="--max-model-len 8192 --no-enable-prefix-caching")
    assert found.max_model_len == 4096
    assert found.enable_prefix_caching is False


def test_draft_tokens_are_read_and_said_not_to_be_counted() -> None:
    config = '{"method": "mtp", "num_speculative_tokens": 3}'
    for line in ({"args": ["--speculative-config", config]}, {"speculative_config": config}):
        found = asked(max_model_len=4096, **line)
        assert found.request is not None
        assert found.request.arguments.num_speculative_tokens == 3
        assert any("draft" in note for note in found.notes)


def test_weights_left_in_the_hosts_memory_leave_room() -> None:
    whole, less = asked(max_model_len=4096), asked(max_model_len=4096, cpu_offload_gb=4)
    assert whole.request is not None
    assert less.request is not None
    before, after = budget(whole.request), budget(less.request)
    assert (before.weights_gib or 0) - (after.weights_gib or 0) == pytest.approx(4, rel=0.01)
    assert (after.kv_cache_gib or 0) - (before.kv_cache_gib or 0) == pytest.approx(4, rel=0.01)


def test_a_tower_that_is_not_loaded_takes_nothing() -> None:
    line = {"model": "Qwen/Qwen3.8-27B", "gpu": "H200", "max_model_len": 32768}
    whole, text = asked(**line), asked(**line, args="--language-model-only")
    assert whole.request is not None
    assert text.request is not None
    before, after = budget(whole.request), budget(text.request)
    assert (before.weights_gib or 0) - (after.weights_gib or 0) == pytest.approx(0.86, abs=0.05)
    assert (after.kv_cache_gib or 0) > (before.kv_cache_gib or 0)


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("RTX 5080 16GB", (12, 0)),
        ("NVIDIA RTX PRO 6000 Blackwell", (12, 0)),
        ("RTX4070 Ti SUPER", (8, 9)),
        ("RTX 3060 12GB", (8, 6)),
        ("NVIDIA A40-48Q", (8, 6)),
        ("GB300", (10, 3)),
        ("H800 80GB", (9, 0)),
        ("A800-SXM4-80GB", (8, 0)),
        ("RTX 2080 Ti", (7, 5)),
        ("Apple M3 Max", None),
    ],
)
def test_the_family_tells_the_compute_capability(
    name: str, capability: tuple[int, int] | None
) -> None:
    """By its memory alone a 16 GB card of 2025 would pass for a T4, and run in float16."""
    assert capability_of_name(name, gpu_families()) == capability


def test_a_card_of_a_known_family_needs_its_memory_all_the_same() -> None:
    assert asked(gpu="B300").request is None
    found = asked(gpu="RTX 5080 16GB", max_model_len=4096)
    assert found.request is not None
    assert found.request.card.capability == (12, 0)
    assert found.request.card.memory_gib == pytest.approx(16e9 / 2**30)


def test_a_cache_dtype_of_unknown_size_is_unknown_and_not_refused() -> None:
    found = asked(kv_cache_dtype="turboquant_k8v4")
    assert found.request is None
    assert any("turboquant_k8v4" in text for text in found.missing)


def test_a_run_of_a_newer_model_cannot_have_used_an_older_release() -> None:
    since = {name: FAMILIES[name].engine.first_release for name in ("gemma4_text", "llama")}
    assert behavior_of(None, at_least=since["gemma4_text"]).release == (0, 19)
    assert behavior_of(None, at_least=since["llama"]).release == (0, 11)
    assert behavior_of("0.10.2", at_least=(0, 19)).release == (0, 10)


def test_what_changed_at_a_release_that_is_not_known_is_taken_from_the_lower_side() -> None:
    unknown, stated = behavior_of(None, at_least=(0, 24)), behavior_of("0.24.0")
    assert unknown.assumed
    assert unknown.gpu_memory_utilization < stated.gpu_memory_utilization
    assert (unknown.sampler, stated.sampler) == ("sorts", "fused")
    assert unknown.graphs_deducted


def test_more_offload_never_makes_the_verdict_worse() -> None:
    order = {Verdict.CANNOT_START: 0, Verdict.CANNOT_SERVE: 0, Verdict.FITS: 1}
    last = 0
    for offload in (0, 2, 6, 12, 40):
        found = asked(gpu="A2000", max_model_len=4096, cpu_offload_gb=offload)
        assert found.request is not None
        now = order[budget(found.request).verdict]
        assert now >= last
        last = now
    assert last == 1
