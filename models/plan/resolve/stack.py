"""Resolving settings and catalog into a plan, and proving it before anything is registered.

`resolve` is pure. It decides everything that components and manifests need and reports every
problem at once; a problem that a recorded exception excuses becomes a warning.
"""

import datetime

from models.aws.buckets import bucket_problems
from models.core.findings import Finding, Findings, Severity, Source
from models.core.names import models_claim
from models.core.problems import ProblemsError, shown
from models.core.rule_ids import ProofRule
from models.facts.catalog import Catalog
from models.plan.aws.checks import region_problems
from models.plan.aws.pools import pool_notices, pool_problems
from models.plan.plan import PlannedPool, PlannedRegion, PlatformPlan
from models.plan.proofs import Demand, Supply, capacity_problems
from models.plan.resolve.budgets import budget_problems, region_bill, totals
from models.plan.resolve.model import Deployment, resolve_model
from models.plan.resolve.operators import resolve_operators
from models.plan.resolve.sharing import node_problems, shared
from models.plan.resolve.storage import resolve_storage
from models.plan.secret_uses import region_gateway, secret_problems, secret_uses
from models.plan.sizing import MachineShape, volume_gib
from models.plan.storage.resolved import class_of
from models.settings.exceptions import excused, expired
from models.settings.longhorn import VolumeUse
from models.settings.regions import EksClusterSettings, PoolSettings, RegionSettings
from models.settings.settings import ModelSettings, Settings

SHELL_IMAGE = "busybox"
SEED_IMAGE = "seeding-job"
"""The name in `catalog/images.yaml` of the image that seeding Jobs run."""


def resolve(settings: Settings, catalog: Catalog, today: datetime.date) -> PlatformPlan:
    """Return the plan of a stack.

    Raises `ProblemsError` with everything that stands against it: unknown names, models that may
    not serve here, arguments that the engine refuses, memory that does not suffice, replicas that
    find no node, a bill above its bound, expired exceptions.
    """
    found = Findings()
    regions = [
        _region(region, f"regions[{index}]", settings, catalog, found)
        for index, region in enumerate(settings.regions)
    ]
    whole = tuple(region for region in regions if region is not None)
    sums = totals(whole)
    found.problems += budget_problems(settings, whole, sums)
    found.problems += bucket_problems(settings.regions)
    plan = PlatformPlan(
        environment=settings.environment,
        catalog_revision=catalog.revision,
        regions=whole,
        gateway=settings.gateway,
        autoscaling=settings.autoscaling,
        observability=settings.observability,
        operators=settings.operators,
        mirror=settings.mirror,
        charts=dict(catalog.charts),
        shell_image=catalog.images.get(SHELL_IMAGE),
        totals=sums,
        notices=(),
        accept_data_loss=settings.accept_data_loss,
        budgets=settings.budgets,
    )
    resolve_operators(plan, found)
    standing, waived = excused(found.problems, settings.exceptions, today)
    standing += expired(settings.exceptions, today, "exceptions")
    if standing:
        raise ProblemsError(f"plan of {settings.environment.value}", standing)
    found.notices += [
        Finding(path=problem.path, message=f"excused: {problem.ruled}", severity=Severity.WARNING)
        for problem in waived
    ]
    return plan.model_copy(update={"notices": tuple(found.notices)})


def _region(
    region: RegionSettings, path: str, settings: Settings, catalog: Catalog, findings: Findings
) -> PlannedRegion | None:
    """Return a region's plan, or None where it cannot be made (the problems say why)."""
    pools: dict[str, PlannedPool] = {}
    for index, pool in enumerate(region.pools):
        planned = _pool(pool, f"{path}.pools[{index}]", region, catalog, findings)
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
            registry=settings.mirror.registry,
        )
        for index, model in enumerate(settings.models)
        if _is_here(model, region) and model.pool in pools
    ]
    models = [resolve_model(deployment, catalog, findings) for deployment in deployments]
    claim = models_claim(class_of(region.storage, VolumeUse.MODELS))
    planned_models = tuple(
        model.model_copy(update={"claim": claim}) for model in models if model is not None
    )
    findings.problems += _capacity(region, deployments, pools, path)
    findings.problems += region_problems(region, settings.gateway, path)
    findings.problems += secret_problems(region, path, settings.gateway)
    if region.suspended:
        text = f"region {region.name!r} is suspended: what exists of it stays as it is"
        findings.notices.append(
            Finding(path=f"{path}.suspended", message=text, severity=Severity.WARNING)
        )
    bill = region_bill(
        region, path, tuple(pools.values()), planned_models, catalog.prices, findings
    )
    seed_pool = _seed_pool(region, pools, path, findings)
    image = catalog.images.get(SEED_IMAGE)
    if image is None:
        findings.problems.append(
            Finding(path="catalog/images.yaml", message=f"has no image named {SEED_IMAGE!r}")
        )
    if seed_pool is None or image is None:
        return None
    weights = tuple(model.weight_bytes for model in planned_models)
    tenant_image = resolve_storage(
        region, path, tuple(pools.values()), weights, settings.environment, catalog, findings
    )
    ports = sorted({model.contract.port for model in planned_models})
    size = region.storage.capacity_gib or volume_gib(weights)
    return PlannedRegion(
        settings=region,
        pools=tuple(pools.values()),
        models=planned_models,
        seed_pool=seed_pool,
        seed_image=image,
        tenant_image=tenant_image,
        volume_gib=size,
        engine_port=ports[0] if ports else 8000,
        bill=bill,
        gateway=region_gateway(region, settings.gateway),
        secrets=secret_uses(region, settings.gateway, settings.environment.value),
    )


def _is_here(model: ModelSettings, region: RegionSettings) -> bool:
    return model.regions is None or region.name in model.regions


def _pool(
    pool: PoolSettings, path: str, region: RegionSettings, catalog: Catalog, findings: Findings
) -> PlannedPool | None:
    accelerator = None
    if pool.accelerator is not None:
        accelerator = catalog.accelerator_of(pool.accelerator)
        if accelerator is None:
            findings.problems.append(
                Finding(
                    path=f"{path}.accelerator",
                    message="no such accelerator in catalog/accelerators.yaml",
                    value=shown(pool.accelerator),
                    allowed=", ".join(catalog.accelerators),
                )
            )
            return None
    shape = _shape(pool, path, catalog, findings)
    if shape is None:
        return None
    if (accelerator is None) != (shape.gpus == 0):
        findings.problems.append(
            Finding(
                path=path,
                message=f"pool {pool.name!r} has {shape.gpus} GPUs a node, but accelerator "
                + ("is not given" if accelerator is None else f"is {accelerator.name}"),
                remedy="give accelerator and GPUs together, or neither",
            )
        )
        return None
    card, seen = shared(pool, path, accelerator, shape, findings)
    findings.problems += node_problems(region, pool, path)
    price = _price(pool, region, catalog)
    if price is None and isinstance(region.cluster, EksClusterSettings):
        findings.problems.append(
            Finding(
                path=f"{path}.instance_type",
                rule=ProofRule.COST,
                source=Source.PLAN,
                subject=f"{region.name}/{pool.name}",
                message=f"the catalog has no price for this type in {region.cluster.aws_region}",
                value=shown(pool.instance_type),
                remedy="add the price and its source to catalog/prices.yaml (catalog/generate), or "
                "take a type that has one",
            )
        )
    machine = catalog.instance_types.get(pool.instance_type or "")
    findings.problems += pool_problems(region, pool, path, machine, accelerator)
    findings.notices += pool_notices(region, pool, path)
    return PlannedPool(
        settings=pool,
        shape=seen,
        accelerator=card,
        usd_per_hour=price,
        efa_interfaces=0 if machine is None else machine.efa,
    )


def _shape(
    pool: PoolSettings, path: str, catalog: Catalog, findings: Findings
) -> MachineShape | None:
    if pool.node is not None:
        node = pool.node
        return MachineShape(vcpus=node.vcpus, memory_gib=node.memory_gib, gpus=node.gpus)
    instance = catalog.instance_types.get(pool.instance_type or "")
    if instance is None:
        findings.problems.append(
            Finding(
                path=f"{path}.instance_type",
                message="no such instance type in the catalog",
                value=shown(pool.instance_type),
                allowed=", ".join(sorted(catalog.instance_types)),
                remedy="add it to catalog/accelerators.yaml or catalog/instances.yaml",
            )
        )
        return None
    return MachineShape(vcpus=instance.vcpus, memory_gib=instance.memory_gib, gpus=instance.gpus)


def _price(pool: PoolSettings, region: RegionSettings, catalog: Catalog) -> float | None:
    if pool.node is not None:
        return pool.node.usd_per_hour
    if pool.instance_type is None or not isinstance(region.cluster, EksClusterSettings):
        return None
    return catalog.prices.get((pool.instance_type, region.cluster.aws_region))


def _seed_pool(
    region: RegionSettings, pools: dict[str, PlannedPool], path: str, findings: Findings
) -> PlannedPool | None:
    """Return the pool that seeding Jobs run on: one without GPUs, which they do not need."""
    for pool in pools.values():
        if pool.accelerator is None:
            return pool
    if len(pools) == len(region.pools):
        findings.problems.append(
            Finding(
                path=f"{path}.pools",
                message=f"region {region.name!r} has no pool without GPUs; seeding Jobs need one",
                remedy="add a pool without accelerator, such as cpu-pool",
            )
        )
    return None


def _capacity(
    region: RegionSettings, deployments: list[Deployment], pools: dict[str, PlannedPool], path: str
) -> list[Finding]:
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
        Supply(pool=name, nodes=planned.settings.max, gpus=planned.shape.gpus)
        for name, planned in pools.items()
        if planned.shape.gpus > 0
    ]
    return capacity_problems(region.name, demands, supplies, path)
