"""The plan's proofs, over the inputs of the `Plan` component."""

import copy
from typing import Any

import policies_lab as lab
import pytest
from policies_lab import CONTEXT

from models.memory import Verdict
from policies.evaluate import plan_findings
from policies.finding import Severity
from policies.rules import plan
from policies.unknowns import SENTINELS

pytestmark = pytest.mark.pure


def inputs() -> dict[str, Any]:
    """Return a plan in which nothing is wrong: one model on a pool of two nodes."""
    pool = {
        "name": "gpu-l4-pool",
        "accelerator": "l4",
        "instanceType": "g6.2xlarge",
        "gpusPerNode": 2,
        "min": 1,
        "max": 2,
    }
    model: dict[str, Any] = {
        "name": "llama",
        "id": "meta-llama/Llama-3.1-8B-Instruct",
        "region": "west",
        "pool": "gpu-l4-pool",
        "serving": "statefulset",
        "replicasMin": 1,
        "replicasMax": 4,
        "gpusPerReplica": 1,
        "engine": "0.33.0",
        "budget": {"verdict": "fits", "reasons": []},
        "service": "llama",
        "route": "llama",
        "servedModelName": "llama",
    }
    return {
        "environment": "dev",
        "regions": [{"name": "west", "pools": [pool]}],
        "models": [model],
        "totals": {"gpusMin": 1, "gpusMax": 4, "usdPerHourMin": 1.0, "usdPerHourMax": 2.0},
    }


def test_verdicts_are_those_of_the_memory_model() -> None:
    """A verdict of another name would refuse every plan."""
    assert Verdict.FITS.value == plan.FITS
    assert Verdict.UNKNOWN.value == plan.UNKNOWN


def test_a_plan_that_holds_has_no_findings() -> None:
    """The program's own plans must pass their second proof."""
    assert plan_findings(inputs(), CONTEXT) == ()


BROKEN: list[tuple[str, str, Any, str]] = [
    ("plan-capacity", "models.0.replicasMax", 5, "west/gpu-l4-pool"),
    ("plan-capacity", "regions.0.pools.0.max", 1, "west/gpu-l4-pool"),
    ("plan-names", "models.0.servedModelName", "meta-llama/Llama", "west/llama"),
    ("plan-names", "models.0.service", "lama", "west/llama"),
    ("plan-names", "models.0.route", lab.ABSENT, "west/llama"),
    ("plan-pools", "models.0.pool", "gpu-h100-pool", "west/llama"),
    ("plan-pools", "models.0.region", "east", "east/llama"),
    ("plan-pools", "models.0.gpusPerReplica", 3, "west/llama"),
    ("plan-pools", "models.0.replicasMin", 9, "west/llama"),
    ("plan-memory", "models.0.budget.verdict", "cannot-serve", "west/llama"),
    ("plan-memory", "models.0.budget.verdict", "unknown", "west/llama"),
    ("plan-memory", "models.0.budget", {}, "west/llama"),
    ("plan-status", "models.0.id", "unheard/of", "west/llama"),
    ("plan-totals", "totals.gpusMax", 3, "plan"),
    ("plan-totals", "totals.gpusMin", lab.ABSENT, "plan"),
    ("plan-totals", "totals.usdPerHourMin", 3.0, "plan"),
]


@pytest.mark.parametrize(("rule", "path", "value", "label"), BROKEN)
def test_a_broken_plan_is_refused(rule: str, path: str, value: Any, label: str) -> None:
    """Somebody else's program may register the component with whatever it likes."""
    changed = lab.broken(f"plan.{path}", value, {"plan": inputs()})["plan"]
    found = lab.refused(plan_findings(changed, CONTEXT), rule)
    assert [each.object for each in found] == [label]
    assert all(each.message and each.remedy for each in found)


def test_the_same_model_twice_is_refused() -> None:
    """Two engines behind one name answer at random."""
    twice = inputs()
    twice["models"].append(copy.deepcopy(twice["models"][0]))
    assert lab.refused(plan_findings(twice, CONTEXT), "plan-names")


@pytest.mark.parametrize("path", sorted(lab.leaf_paths(inputs())))
def test_an_unknown_in_the_plan_is_never_waved_through(path: str) -> None:
    """The plan is plain values; an output among them is refused by the rules that read it."""
    changed = lab.broken(f"plan|{path}", SENTINELS[2], {"plan": inputs()})["plan"]
    unread = ("accelerator", "instanceType", "min", "id", "serving", "engine", "environment")
    unread = (*unread, "reasons")
    found = plan_findings(changed, CONTEXT)
    if path.rsplit("|", 1)[-1] not in unread:
        assert any(each.severity is Severity.UNKNOWN for each in found)


def test_an_unpriced_plan_is_told() -> None:
    """An unknown bill is not a small one."""
    changed = lab.broken("plan.totals.usdPerHourMax", None, {"plan": inputs()})["plan"]
    assert [each.severity for each in plan_findings(changed, CONTEXT)] == [Severity.WARNING]
