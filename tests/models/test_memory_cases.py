"""The budget against real runs of many releases: what was reached is held here.

docs/memory-model.md has the figures out of sample and says what misses and why.
"""

import json
import statistics
from typing import Any, cast

import pytest

from benchmarks.fit_memory import Sample, figures, fit, low, samples
from benchmarks.memory_cases import Case, arguments_of_line, cases, model_names
from models.architecture import architecture
from models.memory import BudgetRequest, Card, Verdict, behaviour_of, budget
from models.memory.constants import FITTED
from models.memory.kvcache import CachePlan, cache_plan
from models.memory.request import resolve
from tests.models.memory_data import read

pytestmark = pytest.mark.pure

NOT_IN_THE_INPUTS = {
    "vllm-13061-r1distill-qwen14b-2x4090": "the line is another rank's",
    "recipes-kimi-k2-thinking-tp8-dcp8": "decode context parallelism is not among the inputs",
}
"""Runs whose tokens depend on what the inputs do not say; kvsweep (drafts) beside them."""


@pytest.fixture(scope="module", name="everything")
def every_case() -> list[Case]:
    read("vram_cases.jsonl")
    return cases()


@pytest.fixture(scope="module", name="judged")
def judged_samples(everything: list[Case]) -> list[Sample]:
    return samples(everything)


def layouts() -> list[tuple[str, dict[str, float], CachePlan]]:
    """Return the KV layout of every run whose model is known, whatever its GPU."""
    names = model_names()
    found: list[tuple[str, dict[str, float], CachePlan]] = []
    for text in read("vram_cases.jsonl").splitlines():
        line = cast("dict[str, Any]", json.loads(text))
        config = names.configuration(line["model"])
        if config is None or line["id"] in NOT_IN_THE_INPUTS or "kvsweep" in line["id"]:
            continue
        request = BudgetRequest(
            architecture=architecture(config),
            card=Card(memory_gib=line["gpu_mem_gib"] or 80.0, capability=(8, 9)),
            behaviour=behaviour_of(line["vllm_version"]),
            arguments=arguments_of_line(line),
        )
        observed: dict[str, float] = {
            str(k): float(v) for k, v in line["observed"].items() if isinstance(v, int | float)
        }
        found.append((str(line["id"]), observed, cache_plan(request, resolve(request))))
    return found


def test_kv_bytes_per_token_are_those_of_the_logs() -> None:
    """Half a per cent, hybrid, sliding-window and latent caches included (logs round to 0.01)."""
    compared = 0
    for name, observed, plan in layouts():
        kv, tokens = observed.get("kv_cache_gib", 0.0), observed.get("kv_cache_tokens", 0.0)
        if kv > 0 and tokens:
            said = plan.tokens(plan.blocks(int(kv * 2**30)))
            assert said == pytest.approx(tokens, rel=0.005), name
            compared += 1
        if observed.get("needed_kv_gib"):
            said = plan.need_bytes / 2**30
            assert said == pytest.approx(observed["needed_kv_gib"], rel=0.005), name
            compared += 1
    assert compared >= 24


def test_most_runs_get_a_verdict_and_the_others_a_reason(everything: list[Case]) -> None:
    verdicts = [budget(case.request).verdict for case in everything if case.request is not None]
    assert sum(verdict is not Verdict.UNKNOWN for verdict in verdicts) >= 58
    assert all(case.missing for case in everything if case.request is None)


def test_no_run_that_failed_is_called_fitting(judged: list[Sample]) -> None:
    assert figures(judged, lambda _: FITTED).false_fits == ()


def test_few_running_cases_are_refused(judged: list[Sample]) -> None:
    """Three of 45, all of whose utilisation was not what the inputs say (their own notes)."""
    refused = set(figures(judged, lambda _: FITTED).false_refusals)
    assert refused <= {"llmd-gptoss120b-h100", "l20-qwen25-72b-awq-4k", "l20-qwen25-72b-awq-8k"}


def test_kv_memory_is_near_the_logs(judged: list[Sample]) -> None:
    logged = [
        sample
        for sample in judged
        if sample.case.number("kv_cache_gib") or sample.case.number("available_kv_gib")
    ]
    found = figures(logged, lambda _: FITTED)
    assert found.compared >= 30
    assert found.median <= 0.5
    assert found.p90 <= 2.0


def test_the_bound_holds_and_is_not_far(judged: list[Sample]) -> None:
    seen = [sample for sample in judged if sample.kv_seen is not None]
    inside = [low(s, FITTED) <= (s.kv_seen or 0.0) + 0.005 for s in seen]
    assert sum(inside) / len(inside) >= 0.98
    assert statistics.median(s.kv(FITTED) - low(s, FITTED) for s in seen) <= 1.5


def test_constants_are_what_the_fit_gives(judged: list[Sample]) -> None:
    """The committed constants have one source: the fitting script."""
    fitted = fit(judged)
    for name in ("sampler_sorts", "sampler_fused", "context", "communication", "context_rocm"):
        assert getattr(FITTED, name) == pytest.approx(getattr(fitted, name), rel=0.06), name
    assert FITTED.bound >= 0.97 * fitted.bound
