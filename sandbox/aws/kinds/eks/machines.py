"""What a node group's machines look like to the scheduler."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from catalog.loader import load
from models.facts.accelerators import Accelerator, InstanceType
from sandbox.aws.core import faults
from sandbox.aws.core.faults import Fault
from sandbox.aws.kinds.eks.values import IMAGES
from sandbox.cluster.nodes import GpuSpec, NodeSpec, NodeTaint, NodeTaintEffect
from sandbox.cluster.pools import RESERVED_CPU_MILLI, RESERVED_MEMORY_SHARE

EFFECTS: Final = {
    "NO_SCHEDULE": NodeTaintEffect.NO_SCHEDULE,
    "NO_EXECUTE": NodeTaintEffect.NO_EXECUTE,
    "PREFER_NO_SCHEDULE": NodeTaintEffect.PREFER_NO_SCHEDULE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Machines:
    """A node group's machines: `count` of them, spread over `zones`; the disk in GiB."""

    group: str
    region: str
    zones: tuple[str, ...]
    instance_type: str
    image: str
    capacity: str
    disk_gib: int
    count: int
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]


_catalog = cache(load)


def instance_types() -> Mapping[str, InstanceType]:
    """Return the machines of the catalog by name."""
    return _catalog().instance_types


@cache
def _cards() -> Mapping[str, Accelerator]:
    cards = _catalog().accelerators.values()
    return {machine.name: card for card in cards for machine in card.instance_types}


def nodes(machines: Machines, known_faults: tuple[Fault, ...]) -> tuple[NodeSpec, ...]:
    """Return the group's nodes at its maximum size: nothing here grows it.

    Zones in which no machine can be had get none; the others make up for them, as an Auto Scaling
    group does.
    """
    missing = set(faults.missing_zones(known_faults, machines.instance_type, list(machines.zones)))
    zones = [zone for zone in machines.zones if zone not in missing]
    if not zones:
        return ()
    return tuple(
        _node(machines, index, zones[index % len(zones)]) for index in range(machines.count)
    )


def _node(machines: Machines, index: int, zone: str) -> NodeSpec:
    shape = instance_types()[machines.instance_type]
    memory_mib = int(shape.memory_gib * 1024)
    name = re.sub(r"[^a-z0-9-]", "-", machines.group.lower())
    return NodeSpec(
        name=f"{name}-{index}",
        cpu=shape.vcpus,
        memory_mib=memory_mib,
        ephemeral_gib=machines.disk_gib,
        reserved_cpu_milli=RESERVED_CPU_MILLI,
        reserved_memory_mib=int(memory_mib * RESERVED_MEMORY_SHARE),
        gpu=_gpu(machines, shape),
        zone=zone,
        region=machines.region,
        instance_type=machines.instance_type,
        labels={
            "eks.amazonaws.com/nodegroup": machines.group,
            "eks.amazonaws.com/capacityType": machines.capacity,
            **machines.labels,
        },
        taints=tuple(
            NodeTaint(
                key=each["key"], value=each.get("value") or "", effect=EFFECTS[each["effect"]]
            )
            for each in machines.taints
        ),
    )


def _gpu(machines: Machines, shape: InstanceType) -> GpuSpec | None:
    card = _cards().get(machines.instance_type)
    if card is None or shape.gpus == 0 or not IMAGES[machines.image].nvidia:
        return None
    return GpuSpec(
        count=shape.gpus,
        product=card.product,
        memory_mib=round(card.memory_gib * 1024),
        compute=card.compute_capability,
    )
