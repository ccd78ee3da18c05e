"""The bill and the GPUs of a whole stack, added up again and held against the stack's budgets.

Nothing that is said about a sum is believed: lines are priced by the catalog where it knows the
machine, and added up by the program's own arithmetic (`models/plan/costs.py`).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from models.core.findings import Finding, Severity
from models.plan.costs import CONTROL_PLANE, NAT_GATEWAY, Bill, CostLine, added, pool_line
from models.plan.proofs import nodes_needed
from policies.core import knowledge
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.plan import PlanView

_CENT: Final = 0.01
_PRICE_DIGITS: Final = 0.0001
"""How far a sum, and a price, may be from what is found: decimals are rounded."""

_PROD: Final = "prod"


@rule(
    "plan-bill",
    "Every bill is the sum of its lines, at prices that the catalog has.",
    remedy="compute the bill from the plan (models/plan/resolve/budgets.py does), and add a "
    "missing price with its source to catalog/prices.yaml",
    tags=("plan", "cost"),
)
def bill(plan: PlanView, context: Context) -> Iterator[Finding]:
    """A price or a sum that somebody typed in proves nothing."""
    prices = knowledge.catalog().prices
    for region in plan.body["regions"].items():
        for pool in region["pools"].items():
            yield from _price(region, pool["instanceType"].text(), pool["usdPerHour"], prices)
            yield from _not_negative(pool, "usdPerHour", "min", "max")
        for service in region["services"].items():
            yield from _price(region, service["item"].text(), service["usdPerHour"], prices)
            yield from _not_negative(service, "usdPerHour", "count")
        yield from _services(region)
        yield from _same(region["cost"], _bill(plan, region).usd_min, _bill(plan, region).usd_max)
    low, high = _totals(plan)
    yield from _same(plan.body["totals"], low, high)
    if high is None:
        path = plan.body["totals"].path
        yield Finding(path, "the bill is unknown: a node has no price", Severity.WARNING)


@rule(
    "plan-cost",
    "Every bill stays within its budget at the maximum.",
    remedy="lower a pool's max, give every pool a price, or raise the bound in budgets",
    weight=RuleWeight.CRITICAL,
    tags=("plan", "cost"),
)
def cost(plan: PlanView, context: Context) -> Iterator[Finding]:
    """The program refuses the same; an unknown bill passes no bound, and never in prod."""
    limits = plan.body["limits"]
    environment = plan.body["environment"].text() or ""
    _, high = _totals(plan)
    limit = limits["usdPerHour"]
    yield from _within(high, limit, environment)
    regional = dict(limits["usdPerHourPerRegion"].pairs())
    names = [region["name"].text() or "" for region in plan.body["regions"].items()]
    for name, node in regional.items():
        if name not in names:
            yield Finding(node.path, f"region {name!r} is not among {names}", subject=name)
    for region in plan.body["regions"].items():
        name = region["name"].text() or ""
        if name in regional:
            yield from _within(_bill(plan, region).usd_max, regional[name], name)
    if environment == _PROD and high is None:
        message = "the bill of prod is unknown: a node has no price"
        yield Finding(plan.body["totals"].path, message, subject=environment)


@rule(
    "plan-gpus",
    "Every region takes the GPUs that it may have, at most.",
    remedy="lower replicas or autoscaling.max, or raise the bound in budgets",
    weight=RuleWeight.CRITICAL,
    tags=("plan", "cost"),
)
def gpus(plan: PlanView, context: Context) -> Iterator[Finding]:
    """Counted from the models at the autoscaling maximum."""
    for region, limit in plan.body["limits"]["gpusPerRegion"].pairs():
        taken = sum(
            model["replicasMax"].integer() * model["gpusPerReplica"].integer()
            for model in plan.models(region)
        )
        if taken > limit.integer():
            message = f"engines take {taken} GPUs at the maximum, the bound is {limit.text()}"
            yield Finding(limit.path, message, subject=region)


def _price(
    region: Node, item: str | None, said: Node, prices: Mapping[tuple[str, str], float]
) -> Iterator[Finding]:
    """Yield where a price of AWS's is not the catalog's."""
    place = region["awsRegion"].text()
    if place is None or item is None:
        return
    known, given = prices.get((item, place)), said.number()
    if known is None:
        yield Finding(said.path, f"the catalog has no price of {item} in {place}")
    elif given is None or abs(given - known) > _PRICE_DIGITS:
        yield Finding(said.path, f"{item} in {place} costs {known:g} USD per hour, not {given}")


def _not_negative(row: Node, *keys: str) -> Iterator[Finding]:
    for key in keys:
        value = row[key].number()
        if value is not None and value < 0:
            yield Finding(row[key].path, f"{key} is {value:g}: nothing costs or counts less than 0")


def _services(region: Node) -> Iterator[Finding]:
    """Yield what an EKS region is billed for in any case, and is not listed."""
    if region["awsRegion"].text() is None:
        return
    counts = {each["item"].text(): each["count"].integer() for each in region["services"].items()}
    for item in (CONTROL_PLANE, NAT_GATEWAY):
        if counts.get(item, 0) < 1:
            yield Finding(region["services"].path, f"{item} is not in the bill")


def _bill(plan: PlanView, region: Node) -> Bill:
    lines = [_pool(plan, region["name"].text() or "", pool) for pool in region["pools"].items()]
    for service in region["services"].items():
        count = service["count"].integer()
        lines.append(
            CostLine(
                what=service["item"].text() or "",
                usd_per_hour=service["usdPerHour"].number(),
                count_min=count,
                count_max=count,
            )
        )
    return Bill(lines=tuple(lines))


def _pool(plan: PlanView, region: str, pool: Node) -> CostLine:
    name = pool["name"].text() or ""
    replicas = [
        (model["gpusPerReplica"].integer(), model["replicasMin"].integer())
        for model in plan.models(region)
        if model["pool"].text() == name
    ]
    bounds = (pool["min"].integer(), pool["max"].integer())
    needed = nodes_needed(replicas, pool["gpusPerNode"].integer())
    return pool_line(name, pool["usdPerHour"].number(), bounds, needed)


def _totals(plan: PlanView) -> tuple[float | None, float | None]:
    bills = [_bill(plan, region) for region in plan.body["regions"].items()]
    return added(each.usd_min for each in bills), added(each.usd_max for each in bills)


def _same(said: Node, low: float | None, high: float | None) -> Iterator[Finding]:
    for key, found in (("usdPerHourMin", low), ("usdPerHourMax", high)):
        given = said[key].number()
        differ = (given is None) != (found is None)
        if given is not None and found is not None:
            differ = abs(given - found) > _CENT
        if differ:
            words = "unknown" if found is None else f"{found:g}"
            yield Finding(said[key].path, f"{key} is {said[key].text()}, the lines say {words}")


def _within(bill: float | None, limit: Node, target: str) -> Iterator[Finding]:
    bound = limit.number()
    if bound is None or (bill is not None and bill <= bound):
        return
    message = (
        "the bill at the maximum is unknown: a node has no price"
        if bill is None
        else f"the bill at the maximum is {bill:.2f} USD per hour, the bound is {bound:.2f}"
    )
    yield Finding(limit.path, message, subject=target)
