"""The budget against real runs of many releases: what was reached is held here.

docs/memory-model.md has the figures out of sample and says what misses and why.
"""

import json
from typing import Any, cast

import pytest

from benchmarks.fit.constants import figures
from benchmarks.fit.samples import Sample, samples
from benchmarks.shared.memory_cases import MeasuredCase, arguments_of_line, cases, model_names
from models.architecture import architecture
from models.memory import BudgetRequest, Card, Verdict, budget
from models.memory.inputs.request import resolve
from models.memory.terms.constants import FITTED
from models.memory.terms.kvcache import CachePlan, cache_plan
from tests.helpers.models.memory_data import read
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

NOT_IN_THE_INPUTS = {
    "vllm-13061-r1distill-qwen14b-2x4090": "the line is another rank's",
    "recipes-kimi-k2-thinking-tp8-dcp8": "decode context parallelism is not among the inputs",
    "fail-q36-27b-262k-v100x2": "neither the exact model nor the release is stated",
}
"""Runs whose tokens depend on what the inputs do not say; kvsweep (drafts) beside them."""


@pytest.fixture(scope="module", name="everything")
def every_case() -> list[MeasuredCase]:
    read("vram_cases.jsonl")
    return cases()


@pytest.fixture(scope="module", name="judged")
def judged_samples(everything: list[MeasuredCase]) -> list[Sample]:
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
            behavior=behavior_of(line["vllm_version"]),
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


def test_most_runs_get_a_verdict_and_the_others_a_reason(everything: list[MeasuredCase]) -> None:
    verdicts = [budget(case.request).verdict for case in everything if case.request is not None]
    assert sum(verdict is not Verdict.UNKNOWN for verdict in verdicts) >= 58
    assert all(case.missing for case in everything if case.request is None)


def test_no_run_that_failed_is_called_fitting(judged: list[Sample]) -> None:
    assert figures(judged, lambda _: FITTED).false_fits == ()


def test_few_running_cases_are_refused(judged: list[Sample]) -> None:
    """Three of 45, all of whose utilization was not what the inputs say (their own notes)."""
    refused = set(figures(judged, lambda _: FITTED).false_refusals)
    assert refused <= {"llmd-gptoss120b-h100", "l20-qwen25-72b-awq-4k", "l20-qwen25-72b-awq-8k"}


def test_kv_memory_is_near_the_logs(judged: list[Sample]) -> None:
    found = figures([sample for sample in judged if sample.is_stated], lambda _: FITTED)
    assert found.compared >= 30
    assert found.median <= 0.25
    assert found.p90 <= 1.5


def test_mxfp4_goes_to_marlin_on_hopper_until_triton_is_in_the_wheel() -> None:
    """Marlin's form is 1.2 GiB larger for gpt-oss-120b; logs of 0.10 and 0.14 show both."""
    config = model_names().configuration("openai/gpt-oss-120b")
    assert config is not None

    def weights(version: str) -> float:
        request = BudgetRequest(
            architecture=architecture(config),
            card=Card(memory_gib=79.2, capability=(9, 0)),
            behavior=behavior_of(version),
        )
        return budget(request).weights_gib or 0.0

    assert weights("0.10.1") == pytest.approx(65.97, rel=0.001)
    assert weights("0.14.1") == pytest.approx(64.38, rel=0.01)
    assert weights("0.33.0") < weights("0.10.1") - 1
