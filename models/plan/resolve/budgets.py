"""Totals of a plan, and the bounds that it may not exceed.

Pure; `models/plan/resolve/stack.py` calls it. The rules `plan-cost` and `plan-gpus` of the pack
hold the same bounds again from the `Plan` component's values.
"""

from collections.abc import Iterator, Mapping, Sequence

from models.core.findings import Finding, Findings, Severity, Source
from models.core.problems import shown
from models.core.rule_ids import ProofRule
from models.engine.profiles import Environment
from models.plan.costs import (
    Bill,
    CostLine,
    added,
    basis_of,
    nat_gateways,
    pool_line,
    service_lines,
)
from models.plan.plan import PlannedModel, PlannedPool, PlannedRegion, Totals
from models.plan.proofs import nodes_needed
from models.settings.regions import CapacityType, EksClusterSettings, RegionSettings
from models.settings.settings import Settings


def region_bill(
    region: RegionSettings,
    path: str,
    pools: Sequence[PlannedPool],
    models: Sequence[PlannedModel],
    prices: Mapping[tuple[str, str], float],
    findings: Findings,
) -> Bill:
    """Return a region's bill; a service of AWS without a price is a problem, never a guess."""
    lines = [_pool_line(pool, models) for pool in pools]
    for index, pool in enumerate(pools):
        capacity = pool.settings.capacity_type
        if capacity is not CapacityType.ON_DEMAND:
            text = (
                f"pool {pool.name!r} of {region.name} is bought {capacity.value} and counts "
                "at the on-demand price, which is an upper bound"
            )
            findings.notices.append(Finding(f"{path}.pools[{index}]", text, Severity.INFO))
    if isinstance(region.cluster, EksClusterSettings):
        services = _service_lines(region.cluster, prices)
        findings.problems += [
            Finding(
                path=f"{path}.cluster.aws_region",
                rule=ProofRule.COST,
                source=Source.PLAN,
                subject=f"{region.name}/{line.what}",
                message=f"the catalog has no price of {line.what} in this region",
                value=shown(region.cluster.aws_region),
                remedy="add the price and its source to catalog/prices.yaml (catalog/generate), or "
                "take a region that has one",
            )
            for line in services
            if line.usd_per_hour is None
        ]
        lines += services
    return Bill(lines=tuple(lines))


def _service_lines(
    cluster: EksClusterSettings, prices: Mapping[tuple[str, str], float]
) -> tuple[CostLine, ...]:
    gateways = nat_gateways(cluster.zones, single=cluster.single_nat)
    return service_lines(cluster.aws_region, gateways, prices)


def _pool_line(pool: PlannedPool, models: Sequence[PlannedModel]) -> CostLine:
    here = [model for model in models if model.pool.name == pool.name]
    needed = nodes_needed(
        [(model.gpus_per_replica, model.replicas_min) for model in here], pool.shape.gpus
    )
    return pool_line(
        pool.name,
        pool.usd_per_hour,
        (pool.settings.min, pool.settings.max),
        needed,
        basis_of(pool.settings.capacity_type, own=pool.settings.node is not None),
    )


def totals(regions: tuple[PlannedRegion, ...]) -> Totals:
    """Return GPUs and USD per hour over all regions."""
    models = [model for region in regions for model in region.models]
    return Totals(
        gpus_min=sum(model.replicas_min * model.gpus_per_replica for model in models),
        gpus_max=sum(model.replicas_max * model.gpus_per_replica for model in models),
        usd_per_hour_min=added(region.bill.usd_min for region in regions),
        usd_per_hour_max=added(region.bill.usd_max for region in regions),
    )


def budget_problems(
    settings: Settings, regions: tuple[PlannedRegion, ...], whole: Totals
) -> list[Finding]:
    """Return every bound that the plan exceeds, and in prod every pool without a price."""
    budgets = settings.budgets
    found = list(_unpriced(settings.environment, regions))
    if budgets.usd_per_hour is not None:
        found += _bill_problems(
            "budgets.usd_per_hour",
            settings.environment.value,
            whole.usd_per_hour_max,
            budgets.usd_per_hour,
        )
    for region in regions:
        limit = budgets.usd_per_hour_per_region.get(region.name)
        if limit is not None:
            path = f"budgets.usd_per_hour_per_region.{region.name}"
            found += _bill_problems(path, region.name, region.bill.usd_max, limit)
        found += _gpu_problems(region, budgets.gpus_per_region.get(region.name))
    return found


def _unpriced(environment: Environment, regions: tuple[PlannedRegion, ...]) -> Iterator[Finding]:
    """Yield a problem for each pool of an existing cluster in prod that has no price.

    A pool of an EKS region without one is refused in every environment
    (`models/plan/resolve/stack.py`).
    """
    if environment is not Environment.PROD:
        return
    for index, region in enumerate(regions):
        for place, pool in enumerate(region.pools):
            if region.eks is None and pool.usd_per_hour is None:
                yield Finding(
                    path=f"regions[{index}].pools[{place}]",
                    rule=ProofRule.COST,
                    source=Source.PLAN,
                    subject=f"{region.name}/{pool.name}",
                    message="the pool has no price, so the bill of prod is unknown",
                    remedy="describe the machine with node and usd_per_hour: what one such machine "
                    "costs its owner",
                )


def _bill_problems(path: str, subject: str, bill: float | None, limit: float) -> Iterator[Finding]:
    if bill is not None and bill <= limit:
        return
    yield Finding(
        path=path,
        rule=ProofRule.COST,
        source=Source.PLAN,
        subject=subject,
        message="the bill at the maximum is unknown: a node has no price"
        if bill is None
        else "the bill at the maximum is above its bound",
        value=None if bill is None else f"{bill:.2f} USD per hour",
        allowed=f"{limit:.2f} USD per hour",
        remedy="give every pool a price (node.usd_per_hour or catalog/prices.yaml), lower a "
        "pool's max, or raise the bound",
    )


def _gpu_problems(region: PlannedRegion, limit: int | None) -> Iterator[Finding]:
    gpus = sum(model.replicas_max * model.gpus_per_replica for model in region.models)
    if limit is None or gpus <= limit:
        return
    yield Finding(
        path="budgets.gpus_per_region",
        rule=ProofRule.GPUS,
        source=Source.PLAN,
        subject=region.name,
        message="engines take more GPUs at the maximum than the region may have",
        value=str(gpus),
        allowed=str(limit),
        remedy="lower replicas or autoscaling.max, or raise the bound",
    )
