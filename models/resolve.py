"""Resolving settings and catalogue into a plan, and proving it before anything is registered.

`resolve` is pure. It decides everything that components and manifests need and reports every
problem at once; a problem that a recorded exception excuses becomes a warning.
"""

import datetime

from models.catalogue import Catalogue
from models.exceptions import excused, expired
from models.findings import Findings
from models.notices import Notice
from models.plan import PlannedPool, PlannedRegion, PlatformPlan, Totals
from models.problems import Problem, ProblemsError, shown
from models.proofs import Demand, Supply, capacity_problems
from models.regions import EksCluster, NodePool, Region
from models.resolve_model import Deployment, resolve_model
from models.settings import ModelSettings, Settings
from models.sizing import Shape, volume_gib

SEED_IMAGE = "seeding-job"
"""The name in `catalog/images.yaml` of the image that seeding Jobs run."""


def resolve(settings: Settings, catalogue: Catalogue, today: datetime.date) -> PlatformPlan:
    """Return the plan of a stack.

    Raises `ProblemsError` with everything that stands against it: unknown names, models that may
    not serve here, arguments that the engine refuses, memory that does not suffice, replicas that
    find no node, a bill above its bound, expired exceptions.
    """
    found = Findings()
    regions = [
        _region(region, f"regions[{index}]", settings, catalogue, found)
        for index, region in enumerate(settings.regions)
    ]
    whole = tuple(region for region in regions if region is not None)
    totals = _totals(whole)
    found.problems += _budget_problems(settings, whole, totals)
    standing, waived = excused(found.problems, settings.exceptions, today)
    standing += expired(settings.exceptions, today, "exceptions")
    if standing:
        raise ProblemsError(f"plan of {settings.environment.value}", standing)
    found.notices += [
        Notice(path=problem.path, message=f"excused: {problem}", level="warning")
        for problem in waived
    ]
    return PlatformPlan(
        environment=settings.environment,
        catalogue_revision=catalogue.revision,
        regions=whole,
        gateway=settings.gateway,
        autoscaling=settings.autoscaling,
        observability=settings.observability,
        totals=totals,
        notices=tuple(found.notices),
        accept_data_loss=settings.accept_data_loss,
    )


def _region(
    region: Region, path: str, settings: Settings, catalogue: Catalogue, found: Findings
) -> PlannedRegion | None:
    """Return a region's plan, or None where it cannot be made (the problems say why)."""
    pools: dict[str, PlannedPool] = {}
    for index, pool in enumerate(region.pools):
        planned = _pool(pool, f"{path}.pools[{index}]", region, catalogue, found)
        if planned is not None:
            pools[pool.name] = planned
    deployments = [
        Deployment(
            settings=model,
            path=f"models[{index}]",
            region=region.name,
            environment=settings.environment,
            pool=pools[model.pool],
            rollout_max_sec=settings.rollout.wait_max_sec,
        )
        for index, model in enumerate(settings.models)
        if _is_here(model, region) and model.pool in pools
    ]
    models = [resolve_model(deployment, catalogue, found) for deployment in deployments]
    planned_models = tuple(model for model in models if model is not None)
    found.problems += _capacity(region, deployments, pools, path)
    seed_pool = _seed_pool(region, pools, path, found)
    image = catalogue.images.get(SEED_IMAGE)
    if image is None:
        found.problems.append(
            Problem(path="catalog/images.yaml", message=f"has no image named {SEED_IMAGE!r}")
        )
    if seed_pool is None or image is None:
        return None
    ports = sorted({model.contract.port for model in planned_models})
    size = region.storage.capacity_gib or volume_gib(
        tuple(model.weight_bytes for model in planned_models)
    )
    return PlannedRegion(
        settings=region,
        pools=tuple(pools.values()),
        models=planned_models,
        seed_pool=seed_pool,
        seed_image=image,
        volume_gib=size,
        engine_port=ports[0] if ports else 8000,
    )


def _is_here(model: ModelSettings, region: Region) -> bool:
    return model.regions is None or region.name in model.regions


def _pool(
    pool: NodePool, path: str, region: Region, catalogue: Catalogue, found: Findings
) -> PlannedPool | None:
    accelerator = None
    if pool.accelerator is not None:
        accelerator = catalogue.accelerator_of(pool.accelerator)
        if accelerator is None:
            found.problems.append(
                Problem(
                    path=f"{path}.accelerator",
                    message="no such accelerator in catalog/accelerators.yaml",
                    value=shown(pool.accelerator),
                    allowed=", ".join(catalogue.accelerators),
                )
            )
            return None
    shape = _shape(pool, path, catalogue, found)
    if shape is None:
        return None
    if (accelerator is None) != (shape.gpus == 0):
        found.problems.append(
            Problem(
                path=path,
                message=f"pool {pool.name!r} has {shape.gpus} GPUs a node, but accelerator "
                + ("is not given" if accelerator is None else f"is {accelerator.name}"),
                mend="give accelerator and GPUs together, or neither",
            )
        )
        return None
    price = _price(pool, region, catalogue)
    if price is None and isinstance(region.cluster, EksCluster):
        found.problems.append(
            Problem(
                path=f"{path}.instance_type",
                rule="plan-cost",
                object=f"{region.name}/{pool.name}",
                message=f"the catalogue has no price for this type in {region.cluster.aws_region}",
                value=shown(pool.instance_type),
                mend="add the price and its source to catalog/prices.yaml (catalog/generate), or "
                "take a type that has one",
            )
        )
    return PlannedPool(pool=pool, shape=shape, accelerator=accelerator, usd_per_hour=price)


def _shape(pool: NodePool, path: str, catalogue: Catalogue, found: Findings) -> Shape | None:
    if pool.node is not None:
        node = pool.node
        return Shape(vcpus=node.vcpus, memory_gib=node.memory_gib, gpus=node.gpus)
    instance = catalogue.instance_types.get(pool.instance_type or "")
    if instance is None:
        found.problems.append(
            Problem(
                path=f"{path}.instance_type",
                message="no such instance type in the catalogue",
                value=shown(pool.instance_type),
                allowed=", ".join(sorted(catalogue.instance_types)),
                mend="add it to catalog/accelerators.yaml or catalog/instances.yaml",
            )
        )
        return None
    return Shape(vcpus=instance.vcpus, memory_gib=instance.memory_gib, gpus=instance.gpus)


def _price(pool: NodePool, region: Region, catalogue: Catalogue) -> float | None:
    if pool.node is not None:
        return pool.node.usd_per_hour
    if pool.instance_type is None or not isinstance(region.cluster, EksCluster):
        return None
    return catalogue.prices.get((pool.instance_type, region.cluster.aws_region))


def _seed_pool(
    region: Region, pools: dict[str, PlannedPool], path: str, found: Findings
) -> PlannedPool | None:
    """Return the pool that seeding Jobs run on: one without GPUs, which they do not need."""
    for pool in pools.values():
        if pool.accelerator is None:
            return pool
    if len(pools) == len(region.pools):
        found.problems.append(
            Problem(
                path=f"{path}.pools",
                message=f"region {region.name!r} has no pool without GPUs; seeding Jobs need one",
                mend="add a pool without accelerator, such as cpu-pool",
            )
        )
    return None


def _capacity(
    region: Region, deployments: list[Deployment], pools: dict[str, PlannedPool], path: str
) -> list[Problem]:
    demands = [
        Demand(
            model=deployment.settings.model,
            pool=deployment.settings.pool,
            gpus=deployment.settings.parallelism.gpus,
            replicas=deployment.replicas_max,
        )
        for deployment in deployments
        if deployment.settings.parallelism.gpus <= deployment.pool.shape.gpus
    ]
    supplies = [
        Supply(pool=name, nodes=planned.pool.max, gpus=planned.shape.gpus)
        for name, planned in pools.items()
        if planned.shape.gpus > 0
    ]
    return capacity_problems(region.name, demands, supplies, path)


def _totals(regions: tuple[PlannedRegion, ...]) -> Totals:
    models = [model for region in regions for model in region.models]
    pools = [pool for region in regions for pool in region.pools]
    low = [(pool.usd_per_hour, pool.pool.min) for pool in pools]
    high = [(pool.usd_per_hour, pool.pool.max) for pool in pools]
    return Totals(
        gpus_min=sum(model.replicas_min * model.gpus_per_replica for model in models),
        gpus_max=sum(model.replicas_max * model.gpus_per_replica for model in models),
        usd_per_hour_min=_bill(low),
        usd_per_hour_max=_bill(high),
    )


def _bill(nodes: list[tuple[float | None, int]]) -> float | None:
    """Return USD per hour of priced nodes, or None where any node in use has no price."""
    total = 0.0
    for price, count in nodes:
        if count and price is None:
            return None
        total += (price or 0.0) * count
    return round(total, 4)


def _budget_problems(
    settings: Settings, regions: tuple[PlannedRegion, ...], totals: Totals
) -> list[Problem]:
    problems: list[Problem] = []
    limit = settings.budgets.usd_per_hour
    bill = totals.usd_per_hour_max
    if limit is not None and (bill is None or bill > limit):
        problems.append(
            Problem(
                path="budgets.usd_per_hour",
                rule="plan-cost",
                object=settings.environment.value,
                message="the bill at the maximum is unknown: a node has no price"
                if bill is None
                else "the bill at the maximum is above its bound",
                value=None if bill is None else f"{bill:.2f} USD per hour",
                allowed=f"{limit:.2f} USD per hour",
                mend="give every pool a price (node.usd_per_hour or catalog/prices.yaml), lower a "
                "pool's max, or raise the bound",
            )
        )
    for region in regions:
        gpus_limit = settings.budgets.gpus_per_region.get(region.name)
        gpus = sum(model.replicas_max * model.gpus_per_replica for model in region.models)
        if gpus_limit is not None and gpus > gpus_limit:
            problems.append(
                Problem(
                    path="budgets.gpus_per_region",
                    rule="plan-gpus",
                    object=region.name,
                    message="engines take more GPUs at the maximum than the region may have",
                    value=str(gpus),
                    allowed=str(gpus_limit),
                    mend="lower replicas or autoscaling.max, or raise the bound",
                )
            )
    return problems
