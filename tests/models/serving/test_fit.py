"""The plan's margin: what fits by the estimate must fit by its bound, or be excused by name."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from models.core.findings import Finding, Severity
from models.core.problems import ProblemsError
from models.memory import Budget, Remedy, TermSource, Verdict
from models.plan.plan import PlannedModel
from models.plan.resolve.stack import resolve
from models.serving.fit import BudgetSubject, memory_problems, memory_remarks
from models.settings.settings import parse
from tests.helpers.plans.dev import TODAY, catalog, dev_plan, dev_settings

pytestmark = pytest.mark.pure

WHERE = BudgetSubject(path="models[3]", subject="west/llama", model="llama", node_gpus=2)


def fitting(low: float | None, need: float | None = 2.0) -> Budget:
    """Return a budget that fits by its estimate of 4 GiB."""
    return Budget(verdict=Verdict.FITS, kv_cache_gib=4.0, kv_cache_gib_low=low, needed_kv_gib=need)


def only(problems: list[Finding]) -> Finding:
    """Return the one problem."""
    (problem,) = problems
    return problem


@pytest.mark.parametrize("low", [2.0, 2.01, 4.0])
def test_what_fits_within_its_bound_is_no_problem(low: float) -> None:
    assert memory_problems(WHERE, fitting(low)) == []


@pytest.mark.parametrize("low", [0.0, 1.0, 1.99])
def test_what_fits_by_the_estimate_only_is_a_problem_of_the_margin(low: float) -> None:
    """Now and then it would not start: nobody should learn that from a crash loop."""
    problem = only(memory_problems(WHERE, fitting(low)))
    assert problem.rule == "plan-margin"
    assert problem.subject == "west/llama"
    assert problem.path == "models[3]"
    assert f"as little as {low:.2f} GiB" in problem.message
    assert "one request of full length needs 2.00 GiB" in problem.message
    assert problem.value == f"estimate 4.00 GiB, bound {low:.2f} GiB"


@pytest.mark.parametrize("fit", [fitting(None), fitting(3.0, None)])
def test_a_bound_that_is_not_known_is_not_held(fit: Budget) -> None:
    assert only(memory_problems(WHERE, fit)).rule == "plan-margin"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.CANNOT_START, "the engine would not start: because"),
        (Verdict.CANNOT_SERVE, "the engine would refuse its own context length: because"),
        (Verdict.UNKNOWN, "whether the engine would start cannot be verified: because"),
    ],
)
def test_what_does_not_fit_is_no_question_of_the_margin(verdict: Verdict, words: str) -> None:
    fit = Budget(
        verdict=verdict,
        weights_gib=15.0,
        kv_cache_gib=0.0,
        needed_kv_gib=2.0,
        refusals=(Finding("", "because"),),
        sources={"weights_gib": TermSource.GOLDEN},
        golden="0.33.0 llama sm90",
    )
    problem = only(memory_problems(WHERE, fit))
    assert problem.rule == "plan-memory"
    assert problem.message == words
    assert problem.value == (
        "weights 15.00 GiB, KV cache 0.00 GiB, one request 2.00 GiB, "
        "weights by the engine's own code (0.33.0 llama sm90)"
    )
    assert "larger cards" in (problem.remedy or "")


def test_remedies_are_those_that_a_node_of_the_pool_can_hold() -> None:
    """Three at the most, and none that takes more GPUs than a node has."""
    remedies = (
        Remedy(text="a", settings={"tensor_parallel_size": 4}),
        Remedy(text="b", settings={"tensor_parallel_size": 2}),
        *(Remedy(text=each) for each in "cde"),
    )
    fit = Budget(verdict=Verdict.CANNOT_SERVE, remedies=remedies)
    assert only(memory_problems(WHERE, fit)).remedy == "b; or c; or d"


def test_copies_of_kv_heads_are_remarked() -> None:
    assert memory_remarks(WHERE, fitting(4.0)) == []
    (notice,) = memory_remarks(WHERE, fitting(4.0).model_copy(update={"kv_heads_replicated": True}))
    assert notice.severity is Severity.WARNING
    assert notice.message.startswith("llama: tensor parallel ranks hold copies")


# The same in a plan.

Settings = dict[str, Any]


def llama(length: int | None = None) -> Callable[[Settings], None]:
    """Return a change that leaves one model on an L4, with its length."""

    def change(settings: Settings) -> None:
        entry: Settings = {"model": "qwen3-8b", "pool": "gpu-l4-pool", "replicas": 1}
        if length is not None:
            entry["engine"] = {"max_model_len": length}
        settings["models"] = [entry]

    return change


def planned(change: Callable[[Settings], None]) -> PlannedModel:
    """Return the plan of the one model."""
    (model,) = dev_plan(change).regions[0].models
    return model


def length_of(gib: float, known: Budget) -> int:
    """Return the length whose request takes so much of the cache."""
    return math.floor(gib * 2**30 / (known.kv_bytes_per_token or 1.0)) // 16 * 16


def test_a_plan_asks_for_the_bound_and_an_exception_excuses_it() -> None:
    known = planned(llama()).budget
    low, high = known.kv_cache_gib_low or 0.0, known.kv_cache_gib or 0.0
    assert 0 < low < high - 0.5, "the example has no room between bound and estimate"
    settings = dev_settings()
    llama(length_of((low + high) / 2, known))(settings)
    with pytest.raises(ProblemsError, match=r"\[plan-margin\] local/qwen3-8b"):
        resolve(parse(json.dumps(settings)), catalog(), TODAY)
    assert planned(llama(length_of(0.9 * low, known))).budget.is_within_bound
    settings["exceptions"] = [
        {
            "rule": "plan-margin",
            "object": "local/qwen3-8b",
            "reason": "measured on this very card",
            "owner": "platform-ml",
            "expires": "2026-12-31",
        }
    ]
    plan = resolve(parse(json.dumps(settings)), catalog(), TODAY)
    assert any("excused: " in notice.message for notice in plan.notices)
    assert not plan.regions[0].models[0].budget.is_within_bound
