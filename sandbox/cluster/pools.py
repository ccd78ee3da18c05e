"""A stack's node pools as simulated nodes: every pool at its maximum size.

No autoscaler grows pools here, so what the stack may use at most is there from the start; the real
scheduler then says whether every pod finds its GPU.
"""

from collections.abc import Mapping
from typing import Final

from models.facts.accelerators import Accelerator
from models.facts.catalog import Catalog
from models.facts.sharing import (
    Mig,
    MigStrategy,
    TimeSlicing,
    gpu_resource,
    sharing_labels,
    slice_of,
)
from models.settings.regions import POOL_LABEL, PoolSettings, RegionSettings
from sandbox.cluster.nodes import GpuSpec, NodeSpec, NodeTaint, NodeTaintEffect
from sandbox.core.errors import SandboxError

RESERVED_CPU_MILLI: Final = 500
RESERVED_MEMORY_SHARE: Final = 0.05
"""What a kubelet keeps: less than `models/plan/sizing.py` leaves, which also counts daemons."""


def nodes_of(region: RegionSettings, catalog: Catalog) -> tuple[NodeSpec, ...]:
    """Return the nodes of a region. Raises `SandboxError` for a shape the catalog lacks."""
    return tuple(_node(pool, index, catalog) for pool in region.pools for index in range(pool.max))


def _node(pool: PoolSettings, index: int, catalog: Catalog) -> NodeSpec:
    vcpus, memory_gib, gpus = _shape(pool, catalog)
    memory_mib = int(memory_gib * 1024)
    return NodeSpec(
        name=f"{pool.name}-{index}",
        cpu=vcpus,
        memory_mib=memory_mib,
        ephemeral_gib=200,
        reserved_cpu_milli=RESERVED_CPU_MILLI,
        reserved_memory_mib=int(memory_mib * RESERVED_MEMORY_SHARE),
        gpu=_gpu(pool, gpus, catalog),
        zone="simulated-a",
        region="simulated",
        instance_type=pool.instance_type,
        labels=_labels(pool),
        taints=tuple(
            NodeTaint(key=taint.key, value=taint.value, effect=NodeTaintEffect(taint.effect.value))
            for taint in pool.all_taints
        ),
    )


def _labels(pool: PoolSettings) -> Mapping[str, str]:
    return {POOL_LABEL: pool.name, **sharing_labels(pool.sharing)}


def _shape(pool: PoolSettings, catalog: Catalog) -> tuple[int, float, int]:
    if pool.node is not None:
        return pool.node.vcpus, pool.node.memory_gib, pool.node.gpus
    instance = catalog.instance_types.get(pool.instance_type or "")
    if instance is None:
        message = f"pool {pool.name}: the catalog has no instance type {pool.instance_type!r}"
        raise SandboxError(message)
    return instance.vcpus, instance.memory_gib, instance.gpus


def _gpu(pool: PoolSettings, gpus: int, catalog: Catalog) -> GpuSpec | None:
    if pool.accelerator is None or gpus == 0:
        return None
    accelerator = catalog.accelerator_of(pool.accelerator)
    if accelerator is None:
        message = f"pool {pool.name}: the catalog has no accelerator {pool.accelerator!r}"
        raise SandboxError(message)
    return _shared(pool, accelerator, gpus)


def _shared(pool: PoolSettings, card: Accelerator, gpus: int) -> GpuSpec:
    """Return the GPUs as the GPU operator's device plugin and feature discovery would show them."""
    count, product = gpus, card.product
    match pool.sharing:
        case Mig(profile=name, strategy=strategy):
            profile = next((each for each in card.mig_profiles if each.name == name), None)
            if profile is None:
                message = f"pool {pool.name}: {card.name} has no MIG profile {name!r} with a source"
                raise SandboxError(message)
            count *= profile.instances
            if strategy is MigStrategy.SINGLE:
                card = slice_of(card, profile)
                product = card.product
        case TimeSlicing(replicas=replicas):
            count, product = count * replicas, f"{product}-SHARED"
        case None:
            pass
    return GpuSpec(
        count=count,
        product=product,
        memory_mib=round(card.memory_gib * 1024),
        compute=card.compute_capability,
        resource=gpu_resource(pool.sharing),
    )
