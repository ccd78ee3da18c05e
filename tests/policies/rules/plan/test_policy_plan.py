"""The plan's proofs, over the inputs of the `Plan` component."""

import copy
from typing import Any

import pytest

from models.core.findings import Severity
from models.memory import Verdict
from policies.core.unknowns import SENTINELS
from policies.frame.evaluate import plan_findings
from policies.rules.plan import proofs as plan
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTEXT

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
        "usdPerHour": 0.9776,
        "priceBasis": "on-demand list price",
    }
    services = [
        {"item": "eks_control_plane_standard", "count": 1, "usdPerHour": 0.1},
        {"item": "nat_gateway", "count": 2, "usdPerHour": 0.045},
    ]
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
        "regions": [
            {
                "name": "west",
                "awsRegion": "us-west-2",
                "pools": [pool],
                "services": services,
                "cost": {"usdPerHourMin": 1.1676, "usdPerHourMax": 2.1452},
            }
        ],
        "models": [model],
        "totals": {"gpusMin": 1, "gpusMax": 4, "usdPerHourMin": 1.1676, "usdPerHourMax": 2.1452},
        "limits": {
            "usdPerHour": 2.5,
            "usdPerHourPerRegion": {"west": 2.2},
            "gpusPerRegion": {"west": 4},
        },
        "bill": {"covers": ["nodes"], "excludes": ["storage"]},
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
    ("plan-names", "models.0.route", compliant_stack.ABSENT, "west/llama"),
    ("plan-pools", "models.0.pool", "gpu-h100-pool", "west/llama"),
    ("plan-pools", "models.0.region", "east", "east/llama"),
    ("plan-pools", "models.0.gpusPerReplica", 3, "west/llama"),
    ("plan-pools", "models.0.replicasMin", 9, "west/llama"),
    ("plan-memory", "models.0.budget.verdict", "cannot-serve", "west/llama"),
    ("plan-memory", "models.0.budget.verdict", "unknown", "west/llama"),
    ("plan-memory", "models.0.budget", {}, "west/llama"),
    ("plan-status", "models.0.id", "unheard/of", "west/llama"),
    ("plan-totals", "totals.gpusMax", 3, "plan"),
    ("plan-totals", "totals.gpusMin", compliant_stack.ABSENT, "plan"),
    ("plan-bill", "totals.usdPerHourMin", 1.0, "plan"),
    ("plan-bill", "totals.usdPerHourMax", None, "plan"),
    ("plan-bill", "regions.0.cost.usdPerHourMax", 1.5, "plan"),
    ("plan-bill", "regions.0.cost", {}, "plan"),
    ("plan-bill", "regions.0.pools.0.usdPerHour", 0.5, "plan"),
    ("plan-bill", "regions.0.pools.0.usdPerHour", None, "plan"),
    ("plan-bill", "regions.0.pools.0.instanceType", "p9.48xlarge", "plan"),
    ("plan-bill", "regions.0.pools.0.min", 2, "plan"),
    ("plan-bill", "regions.0.awsRegion", "eu-west-1", "plan"),
    ("plan-bill", "regions.0.services.1.count", -3, "plan"),
    ("plan-bill", "regions.0.services.0.usdPerHour", 0.01, "plan"),
    ("plan-cost", "limits.usdPerHour", 2.1, "dev"),
    ("plan-cost", "limits.usdPerHourPerRegion.west", 2.1, "west"),
    ("plan-cost", "limits.usdPerHourPerRegion.east", 9.0, "east"),
    ("plan-gpus", "limits.gpusPerRegion.west", 3, "west"),
]


@pytest.mark.parametrize(("rule", "path", "value", "label"), BROKEN)
def test_a_broken_plan_is_refused(rule: str, path: str, value: Any, label: str) -> None:
    """Somebody else's program may register the component with whatever it likes."""
    changed = compliant_stack.broken(f"plan.{path}", value, {"plan": inputs()})["plan"]
    found = compliant_stack.refused(plan_findings(changed, CONTEXT), rule)
    assert {each.subject for each in found} == {label}
    assert all(each.message and each.remedy for each in found)


def test_the_same_model_twice_is_refused() -> None:
    """Two engines behind one name answer at random."""
    twice = inputs()
    twice["models"].append(copy.deepcopy(twice["models"][0]))
    assert compliant_stack.refused(plan_findings(twice, CONTEXT), "plan-names")


@pytest.mark.parametrize("path", sorted(compliant_stack.leaf_paths(inputs())))
def test_an_unknown_in_the_plan_is_never_waved_through(path: str) -> None:
    """The plan is plain values; an output among them is refused by the rules that read it."""
    changed = compliant_stack.broken(f"plan|{path}", SENTINELS[2], {"plan": inputs()})["plan"]
    unread = ("accelerator", "id", "serving", "engine", "reasons", "priceBasis")
    unread = (*unread, "covers|0", "excludes|0")
    found = plan_findings(changed, CONTEXT)
    if not path.endswith(unread):
        assert any(each.severity is Severity.UNKNOWN for each in found)


def unpriced(environment: str) -> dict[str, Any]:
    """Return a plan of an existing cluster whose pool has no price, and that says so."""
    changed = inputs()
    region = changed["regions"][0]
    region |= {"awsRegion": None, "services": []}
    region["pools"][0]["usdPerHour"] = None
    region["cost"] = {"usdPerHourMin": None, "usdPerHourMax": None}
    changed["totals"] |= region["cost"]
    changed["limits"] = {"usdPerHour": None, "usdPerHourPerRegion": {}, "gpusPerRegion": {}}
    changed["environment"] = environment
    return changed


def test_an_unpriced_plan_is_told() -> None:
    """An unknown bill is not a small one."""
    found = plan_findings(unpriced("dev"), CONTEXT)
    assert [(each.rule, each.severity) for each in found] == [("plan-bill", Severity.WARNING)]


def test_an_unpriced_plan_passes_no_bound() -> None:
    """The whole stack's, and its region's."""
    changed = unpriced("dev")
    changed["limits"] |= {"usdPerHour": 9.0, "usdPerHourPerRegion": {"west": 9.0}}
    found = compliant_stack.refused(plan_findings(changed, CONTEXT), "plan-cost")
    assert [each.subject for each in found] == ["dev", "west"]


def test_a_region_on_aws_pays_for_more_than_nodes() -> None:
    """Leaving a line out makes the bill small."""
    changed = inputs()
    changed["regions"][0]["services"] = []
    said = {"usdPerHourMin": 0.9776, "usdPerHourMax": 1.9552}
    changed["regions"][0]["cost"] = said
    changed["totals"] |= said
    found = compliant_stack.refused(plan_findings(changed, CONTEXT), "plan-bill")
    assert {each.path for each in found} == {"regions[0].services"}


def test_an_unpriced_plan_is_refused_in_prod() -> None:
    """Without any bound set: prod's bill is always known."""
    found = compliant_stack.refused(plan_findings(unpriced("prod"), CONTEXT), "plan-cost")
    assert [each.subject for each in found] == ["prod"]


def test_the_minimum_counts_the_nodes_that_replicas_need() -> None:
    """A pool of minimum 0 under two replicas of two GPUs costs two nodes."""
    changed = inputs()
    changed["regions"][0]["pools"][0]["min"] = 0
    changed["models"][0] |= {"replicasMin": 2, "replicasMax": 2, "gpusPerReplica": 2}
    changed["totals"] |= {"gpusMin": 4, "usdPerHourMin": 2.1452}
    assert compliant_stack.refused(plan_findings(changed, CONTEXT), "plan-bill")
    changed["regions"][0]["cost"]["usdPerHourMin"] = 2.1452
    assert plan_findings(changed, CONTEXT) == ()
