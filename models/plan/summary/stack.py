"""The plan in the form that others read: the `Plan` component's inputs and the stack's outputs."""

from typing import TypedDict

from models.memory import Budget
from models.plan.costs import COVERS, EXCLUDES, CostLine
from models.plan.plan import PlannedModel, PlannedPool, PlannedRegion, PlatformPlan
from models.plan.summary.storage import StorageInputs, storage_inputs


class PoolInputs(TypedDict):
    """A node pool as policies see it.

    `usdPerHour` is one node's price, null where it has none; `priceBasis` says what kind it is.
    """

    name: str
    accelerator: str | None
    instanceType: str | None
    gpusPerNode: int
    min: int
    max: int
    usdPerHour: float | None
    priceBasis: str


class ServiceInputs(TypedDict):
    """What a region is billed for beside its nodes: `count` of an item of catalog/prices.yaml."""

    item: str
    count: int
    usdPerHour: float | None


class CostInputs(TypedDict):
    """A region's bill in USD per hour; null where a node that may be there has no price."""

    usdPerHourMin: float | None
    usdPerHourMax: float | None


class RegionInputs(TypedDict):
    """A region as policies see it; `awsRegion` is null where the cluster exists already."""

    name: str
    awsRegion: str | None
    pools: list[PoolInputs]
    services: list[ServiceInputs]
    cost: CostInputs
    storage: StorageInputs


class LimitsInputs(TypedDict):
    """The stack's budgets: bounds at the maximum; null and absent keys bound nothing."""

    usdPerHour: float | None
    usdPerHourPerRegion: dict[str, float]
    gpusPerRegion: dict[str, int]


class BillInputs(TypedDict):
    """What the figures of a bill have in them, and what not."""

    covers: list[str]
    excludes: list[str]


class BudgetInputs(TypedDict):
    """GPU memory of one replica's GPU, GiB where the name says so."""

    verdict: str
    weightsGib: float | None
    kvCacheGib: float | None
    kvCacheTokens: int | None
    maxConcurrency: float | None
    marginGib: float | None
    reasons: list[str]


class ModelInputs(TypedDict):
    """A model in a region as policies see it."""

    name: str
    id: str
    region: str
    pool: str
    serving: str
    replicasMin: int
    replicasMax: int
    gpusPerReplica: int
    engine: str
    budget: BudgetInputs
    service: str
    route: str
    servedModelName: str


class TotalsInputs(TypedDict):
    """GPUs and USD per hour over all regions; USD is null where a node in use has no price."""

    gpusMin: int
    gpusMax: int
    usdPerHourMin: float | None
    usdPerHourMax: float | None


class PlanInputs(TypedDict):
    """The inputs of `triplane:plan:Plan`."""

    environment: str
    regions: list[RegionInputs]
    models: list[ModelInputs]
    totals: TotalsInputs
    limits: LimitsInputs
    bill: BillInputs


def plan_inputs(plan: PlatformPlan) -> PlanInputs:
    """Return the plan as plain values in the spelling of docs/outputs.md."""
    return {
        "environment": plan.environment.value,
        "regions": [_region(region) for region in plan.regions],
        "models": [_model(model) for region in plan.regions for model in region.models],
        "totals": totals_inputs(plan),
        "limits": {
            "usdPerHour": plan.budgets.usd_per_hour,
            "usdPerHourPerRegion": dict(plan.budgets.usd_per_hour_per_region),
            "gpusPerRegion": dict(plan.budgets.gpus_per_region),
        },
        "bill": bill_inputs(),
    }


def bill_inputs() -> BillInputs:
    """Return what bills cover, as the Plan component and the stack's outputs carry it."""
    return {"covers": list(COVERS), "excludes": list(EXCLUDES)}


def totals_inputs(plan: PlatformPlan) -> TotalsInputs:
    """Return the totals, as the Plan component and the stack's outputs carry them."""
    return {
        "gpusMin": plan.totals.gpus_min,
        "gpusMax": plan.totals.gpus_max,
        "usdPerHourMin": plan.totals.usd_per_hour_min,
        "usdPerHourMax": plan.totals.usd_per_hour_max,
    }


def _region(region: PlannedRegion) -> RegionInputs:
    lines = {line.what: line for line in region.bill.lines}
    pools = {pool.name for pool in region.pools}
    return {
        "name": region.name,
        "awsRegion": None if region.eks is None else region.eks.aws_region,
        "pools": [_pool(pool, lines[pool.name]) for pool in region.pools],
        "services": [
            {"item": line.what, "count": line.count_max, "usdPerHour": line.usd_per_hour}
            for line in region.bill.lines
            if line.what not in pools
        ],
        "cost": cost_inputs(region),
        "storage": storage_inputs(region),
    }


def cost_inputs(region: PlannedRegion) -> CostInputs:
    """Return a region's bill, as the Plan component and the stack's outputs carry it."""
    return {"usdPerHourMin": region.bill.usd_min, "usdPerHourMax": region.bill.usd_max}


class CapacityOutputs(TypedDict):
    """GPUs of one kind in a region: what engines take, and what the pools have at the maximum."""

    gpusMin: int
    gpusMax: int
    gpusAvailable: int


def capacity_outputs(region: PlannedRegion) -> dict[str, CapacityOutputs]:
    """Return the region's GPUs by accelerator, over all pools that have it."""
    found: dict[str, CapacityOutputs] = {}
    for pool in region.pools:
        if pool.accelerator is None:
            continue
        here = [model for model in region.models if model.pool.name == pool.name]
        row = found.setdefault(
            pool.accelerator.name, {"gpusMin": 0, "gpusMax": 0, "gpusAvailable": 0}
        )
        row["gpusMin"] += sum(model.replicas_min * model.gpus_per_replica for model in here)
        row["gpusMax"] += sum(model.replicas_max * model.gpus_per_replica for model in here)
        row["gpusAvailable"] += pool.gpus_max
    return found


def _pool(planned: PlannedPool, line: CostLine) -> PoolInputs:
    return {
        "name": planned.name,
        "accelerator": planned.settings.accelerator
        if planned.accelerator is None or planned.settings.sharing is None
        else planned.accelerator.name,
        "instanceType": planned.settings.instance_type,
        "gpusPerNode": planned.shape.gpus,
        "min": planned.settings.min,
        "max": planned.settings.max,
        "usdPerHour": planned.usd_per_hour,
        "priceBasis": line.basis,
    }


def _model(model: PlannedModel) -> ModelInputs:
    return {
        "name": model.name,
        "id": model.entry.repository,
        "region": model.region,
        "pool": model.pool.name,
        "serving": model.serving.value,
        "replicasMin": model.replicas_min,
        "replicasMax": model.replicas_max,
        "gpusPerReplica": model.gpus_per_replica,
        "engine": model.contract.version,
        "budget": _budget(model.budget),
        "service": model.name,
        "route": model.name,
        "servedModelName": model.arguments.served_model_name,
    }


def _budget(budget: Budget) -> BudgetInputs:
    return {
        "verdict": budget.verdict.value,
        "weightsGib": budget.weights_gib,
        "kvCacheGib": budget.kv_cache_gib,
        "kvCacheTokens": budget.kv_cache_tokens,
        "maxConcurrency": budget.max_concurrency,
        "marginGib": budget.margin_gib,
        "reasons": list(budget.reasons),
    }


class ModelOutputs(TypedDict):
    """A model as clients see it; `endpoint` is added where the gateway's URL is known.

    `kvTokens` are tokens of KV cache of one replica as the engine reports them.
    """

    id: str
    servedModelName: str
    maxModelLen: int
    kvTokens: int | None
    maxConcurrency: float | None


def model_outputs(region: PlannedRegion) -> list[ModelOutputs]:
    """Return what clients may know of a region's models."""
    return [
        {
            "id": model.name,
            "servedModelName": model.arguments.served_model_name,
            "maxModelLen": model.arguments.max_model_len,
            "kvTokens": model.budget.kv_cache_tokens,
            "maxConcurrency": model.budget.max_concurrency,
        }
        for model in region.models
    ]
