"""Real start-up logs, as issues quote them: what is read, and what one run tells of another."""

import json
from typing import Any, cast

import pytest

from catalog.loader import load
from catalog.readers.names import model_names, other_gpus
from catalog.readers.tables import gpu_families
from models.cases.asking import CaseRequest, Sources, ask
from models.cases.calibration import budget_with
from models.cases.cards import CardNames
from models.cases.cases import case_of
from models.cases.profiles import MemoryProfile
from models.engine.startup_log import read_log
from tests.helpers.cli.command import shared

pytestmark = pytest.mark.pure


def known() -> Sources:
    catalog = load()
    return Sources(
        catalog=catalog,
        names=model_names(json.loads(shared("data/model_configs.json").read_text())),
        cards=CardNames(catalog.accelerators, other_gpus(), gpu_families()),
        pinned=False,
    )


def runs() -> dict[str, dict[str, Any]]:
    lines = map(json.loads, shared("data/vram_cases.jsonl").read_text().splitlines())
    return {line["id"]: cast("dict[str, Any]", line) for line in lines}


def asked_of(line: dict[str, Any], **changes: Any) -> CaseRequest:
    return ask(case_of({**line, **changes}, known().catalog.engines)[0], known())


def profile_of(asked: CaseRequest, text: str) -> MemoryProfile:
    assert asked.request is not None, asked.missing
    return MemoryProfile(
        name=asked.case.id,
        model=asked.case.model or "",
        gpu=asked.case.gpu or "",
        version=asked.version or "0.11.0",
        arguments=asked.request.arguments,
        measured=read_log(text).measured,
        source="quote",
    )


def test_quotes_of_real_logs_are_read() -> None:
    """The lines as the issues quote them: the first engine's and the second's."""
    seen = runs()
    text = "weights 2.88; " + seen["qwen25math-15b-a10-v072"]["quote"]
    assert "CUDA blocks 36332" in text
    old = read_log(
        "the current vLLM instance can use total_gpu_memory (22.06GiB) x gpu_memory_utilization "
        "(0.90) = 19.85GiB\nmodel weights take 2.88GiB; non_torch_memory takes 0.05GiB; PyTorch "
        "activation peak memory takes 1.40GiB; the rest of the memory reserved for KV Cache is "
        "15.52GiB.\n# cuda blocks: 36332, # CPU blocks: 9362\nMaximum concurrency for 4096 tokens "
        "per request: 141.92x\nGraph capturing finished in 14 secs, took 0.18 GiB"
    ).measured
    assert (old.total_gib, old.requested_gib, old.utilization) == (22.06, 19.85, 0.9)
    assert (old.weights_gib, old.non_torch_gib, old.peak_gib) == (2.88, 0.05, 1.4)
    assert (old.kv_cache_gib, old.gpu_blocks, old.max_concurrency) == (15.52, 36332, 141.92)
    assert old.cuda_graph_gib == 0.18
    failed = read_log(seen["vllm-23278-gptoss120b-h100"]["quote"]).measured
    assert (failed.weights_gib, failed.kv_cache_gib) == (65.9651, -2.14)
    fields = read_log(seen["recipes-kimi-k2-thinking-tp8"]["quote"]).measured
    assert (fields.kv_cache_gib, fields.kv_cache_tokens) == (46.8, 715072)


@pytest.mark.parametrize(
    ("one", "other", "expected", "changes"),
    [
        # Both rows of one table, whose head states utilization and eager for all of them.
        ("l20-qwen25-72b-awq-1k", "l20-qwen25-72b-awq-4k", 10848,
            {"gpu_memory_utilization": 0.98, "enforce_eager": True}),
        ("l20-qwen25-72b-awq-4k", "l20-qwen25-72b-awq-1k", 10848,
            {"gpu_memory_utilization": 0.98, "enforce_eager": True}),
    ],
)  # fmt: skip  # rows of a table
def test_real_runs_predict_each_other(
    one: str, other: str, expected: int, changes: dict[str, Any]
) -> None:
    """48 sequences of 1k and one of 4k on one card: real figures, not ours."""
    seen = runs()
    first = asked_of(seen[one], **changes)
    tokens = seen[one]["observed"]["kv_cache_tokens"]
    gib = tokens * 80 * 2 * 8 * 128 * 2 / 2**30
    profile = profile_of(first, f"Available KV cache memory: {gib:.2f} GiB")
    second = asked_of(seen[other], **changes).request
    assert second is not None
    assert budget_with(second, profile).kv_cache_tokens == pytest.approx(expected, rel=0.01)


def test_another_utilization_of_a_real_run() -> None:
    """One machine at 0.955 and 0.92: 9.28 and 8.18 GiB of KV cache in its logs."""
    seen = runs()
    first = asked_of(seen["kvsweep-q38-5090-fp8"])
    text = (
        "Model loading took 18.19 GiB memory\nnon_torch_memory takes 0.27GiB\n"
        "Graph capturing finished in 5 secs, took 0.45 GiB\nAvailable KV cache memory: 9.28 GiB"
    )
    second = asked_of(seen["kvsweep-q38-breakdown-092"]).request
    assert second is not None
    found = budget_with(second, profile_of(first, text))
    assert found.kv_cache_gib == pytest.approx(8.18, rel=0.01)
