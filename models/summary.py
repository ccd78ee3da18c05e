"""The plan in the form that others read: the `Plan` component's inputs and the stack's outputs."""

from typing import TypedDict

from models.memory import Budget
from models.plan import PlannedModel, PlannedPool, PlannedRegion, PlatformPlan


class PoolInputs(TypedDict):
    """A node pool as policies see it."""

    name: str
    accelerator: str | None
    instanceType: str | None
    gpusPerNode: int
    min: int
    max: int


class RegionInputs(TypedDict):
    """A region as policies see it."""

    name: str
    pools: list[PoolInputs]


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


def plan_inputs(plan: PlatformPlan) -> PlanInputs:
    """Return the plan as plain values in the spelling of design section 10."""
    return {
        "environment": plan.environment.value,
        "regions": [
            {"name": region.name, "pools": [_pool(pool) for pool in region.pools]}
            for region in plan.regions
        ],
        "models": [_model(model) for region in plan.regions for model in region.models],
        "totals": totals_inputs(plan),
    }


def totals_inputs(plan: PlatformPlan) -> TotalsInputs:
    """Return the totals, as the Plan component and the stack's outputs carry them."""
    return {
        "gpusMin": plan.totals.gpus_min,
        "gpusMax": plan.totals.gpus_max,
        "usdPerHourMin": plan.totals.usd_per_hour_min,
        "usdPerHourMax": plan.totals.usd_per_hour_max,
    }


def _pool(planned: PlannedPool) -> PoolInputs:
    return {
        "name": planned.pool.name,
        "accelerator": planned.pool.accelerator,
        "instanceType": planned.pool.instance_type,
        "gpusPerNode": planned.shape.gpus,
        "min": planned.pool.min,
        "max": planned.pool.max,
    }


def _model(model: PlannedModel) -> ModelInputs:
    return {
        "name": model.name,
        "id": model.entry.repository,
        "region": model.region,
        "pool": model.pool.pool.name,
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
