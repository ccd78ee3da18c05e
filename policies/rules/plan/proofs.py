"""The proofs about a whole stack, recomputed from the `Plan` component's plain inputs.

The program proves the same before it registers anything (`models/plan/resolve/stack.py`, same ids
and objects); this holds also where somebody else's program registers the component.
"""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from models.plan.proofs import Demand, Supply, capacity_problems
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.plan import PlanView

FITS: Final = "fits"
UNKNOWN: Final = "unknown"
"""Verdicts of the memory model (`models.memory.Verdict`), which takes long to import."""


def _target(model: Node) -> str:
    return f"{model['region'].text()}/{model['name'].text()}"


@rule(
    "plan-capacity",
    "Every replica finds a node at the autoscaling maximum.",
    remedy="raise the pool's max, lower replicas or autoscaling.max, or move a model",
    weight=RuleWeight.CRITICAL,
    tags=("plan",),
)
def capacity(plan: PlanView, context: Context) -> Iterator[Finding]:
    """The same first-fit as in the program, over GPUs by node."""
    for node in plan.body["regions"].items():
        region = node["name"].text() or ""
        demands = [
            Demand(
                model=model["name"].text() or "",
                pool=model["pool"].text() or "",
                gpus=model["gpusPerReplica"].integer(),
                replicas=model["replicasMax"].integer(),
            )
            for model in plan.models(region)
        ]
        supplies = [
            Supply(pool=name, nodes=pool["max"].integer(), gpus=pool["gpusPerNode"].integer())
            for name, pool in plan.pools(region).items()
        ]
        yield from capacity_problems(region, demands, supplies, node.path)


@rule(
    "plan-names",
    "Every model has one name from client to engine.",
    remedy="give Service, route and served model name the model's name",
    weight=RuleWeight.CRITICAL,
    tags=("plan", "names"),
)
def names(plan: PlanView, context: Context) -> Iterator[Finding]:
    """The field's most common failure: a name that differs, and requests that find nothing."""
    seen: set[str] = set()
    for model in plan.models():
        name = model["name"].text()
        for key in ("service", "route", "servedModelName"):
            said = model[key].text()
            if said != name:
                yield Finding(
                    model[key].path,
                    f"{key} is {said!r}, the model's name is {name!r}",
                    subject=_target(model),
                )
        if _target(model) in seen:
            yield Finding(model.path, "the model is there twice", subject=_target(model))
        seen.add(_target(model))


@rule(
    "plan-pools",
    "Every model's pool exists and can hold one replica.",
    remedy="name a pool of the region whose nodes have as many GPUs as a replica takes",
    weight=RuleWeight.CRITICAL,
    tags=("plan",),
)
def pools(plan: PlanView, context: Context) -> Iterator[Finding]:
    """A replica takes its GPUs from one node."""
    for model in plan.models():
        there = plan.pools(model["region"].text() or "")
        name = model["pool"].text() or ""
        pool = there.get(name)
        gpus = model["gpusPerReplica"].integer()
        if pool is None:
            message = f"pool {name!r} is not among {sorted(there)}"
            yield Finding(model["pool"].path, message, subject=_target(model))
        elif not 0 < gpus <= pool["gpusPerNode"].integer():
            yield Finding(
                model["gpusPerReplica"].path,
                f"a replica takes {gpus} GPUs, a node of {name!r} has {pool['gpusPerNode'].text()}",
                subject=_target(model),
            )
        if model["replicasMin"].integer() > model["replicasMax"].integer():
            message = "replicasMin is above replicasMax"
            yield Finding(model["replicasMin"].path, message, subject=_target(model))


@rule(
    "plan-memory",
    "Every model fits the memory of its GPUs.",
    remedy="lower max_model_len, choose a larger card or more GPUs, or a smaller format "
    "(triplane budget says what helps)",
    weight=RuleWeight.CRITICAL,
    tags=("plan", "vram"),
)
def memory(plan: PlanView, context: Context) -> Iterator[Finding]:
    """The verdict of the memory model; one that is not known is refused as well."""
    for model in plan.models():
        budget = model["budget"]
        verdict = budget["verdict"].text()
        if verdict == FITS:
            continue
        reasons = "; ".join(budget["reasons"].words()) or "no reason is given"
        unknown = verdict in (None, UNKNOWN)
        yield Finding(
            budget.path,
            f"the verdict is {verdict}: {reasons}",
            Severity.UNKNOWN if unknown else Severity.ERROR,
            subject=_target(model),
        )


@rule(
    "plan-totals",
    "The plan's totals are those of its models.",
    remedy="compute totals from the models (models/plan/resolve/budgets.py does)",
    tags=("plan",),
)
def totals(plan: PlanView, context: Context) -> Iterator[Finding]:
    """A GPU count that somebody typed in proves nothing; the bill is `plan-bill`'s."""
    said = plan.body["totals"]
    for key, replicas in (("gpusMin", "replicasMin"), ("gpusMax", "replicasMax")):
        found = sum(
            model[replicas].integer() * model["gpusPerReplica"].integer() for model in plan.models()
        )
        if not said[key].present or said[key].integer() != found:
            yield Finding(said[key].path, f"{key} is {said[key].text()}, the models take {found}")
