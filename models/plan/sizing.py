"""What a replica takes of its node, how long it may take to start, how large the volume is.

Pure arithmetic; every function says its units and where its numbers come from.
"""

import math
from typing import Final

from models.core.base import GIB, Model
from models.facts.contract import EngineContract
from models.settings.regions import PoolSettings

_RESERVED_VCPUS: Final = 1.0
"""vCPUs per node left to the kubelet, the container runtime and the daemons of the pool."""

_RESERVED_MEMORY_SHARE: Final = 0.10
_RESERVED_MEMORY_MIN_GIB: Final = 2.0
"""Host memory left to the same: a tenth, and at least 2 GiB (kubelet, GPU operator, exporters)."""

_SHM_PER_GPU_GIB: Final = 2
"""NCCL and the engine's workers talk through /dev/shm; 64 MiB, the default, is too small."""

_VOLUME_HEADROOM: Final = 2.2
"""A new revision is seeded beside the old one before the switch; a tenth stays free."""

PROBE_PERIOD_SEC: Final = 10


class MachineShape(Model):
    """A node as the scheduler sees it: vCPUs, host memory (GiB) and GPUs."""

    vcpus: float
    memory_gib: float
    gpus: int


class PodResources(Model):
    """What one engine pod requests; limits are the same, so that its QoS class is Guaranteed.

    `shm_gib` (a memory-backed emptyDir) counts into `memory_gib`; `scratch_gib` is the ephemeral
    storage for compilation caches and temporary files.
    """

    cpu: int
    memory_gib: int
    gpus: int
    shm_gib: int
    scratch_gib: int = 16


def pod_resources(shape: MachineShape, gpus: int) -> PodResources:
    """Return a replica's share of its node by the GPUs it takes, after the node's reserve.

    A GPU node serves engines only, so what one replica leaves its neighbors is their own share.
    Raises `ValueError` where the node has fewer GPUs than the replica takes.
    """
    if not 0 < gpus <= shape.gpus:
        message = f"a replica takes {gpus} GPUs, a node has {shape.gpus}"
        raise ValueError(message)
    share = gpus / shape.gpus
    reserved_gib = max(_RESERVED_MEMORY_MIN_GIB, shape.memory_gib * _RESERVED_MEMORY_SHARE)
    cpu = max(1, math.floor((shape.vcpus - _RESERVED_VCPUS) * share))
    memory = max(1, math.floor((shape.memory_gib - reserved_gib) * share))
    shm = max(1, min(_SHM_PER_GPU_GIB * gpus, memory // 4))
    return PodResources(cpu=cpu, memory_gib=memory, gpus=gpus, shm_gib=shm)


def startup_seconds(weight_bytes: int, contract: EngineContract) -> int:
    """Return the seconds that a replica may take until it answers.

    Weights (bytes) over the assumed read bandwidth, doubled since replicas that start together
    share it, plus the engine's own start-up; whole probe periods.
    """
    loading = 2 * weight_bytes / GIB / contract.load_gib_per_sec
    seconds = loading + contract.startup_overhead_sec
    return math.ceil(seconds / PROBE_PERIOD_SEC) * PROBE_PERIOD_SEC


def volume_gib(weight_bytes: tuple[int, ...]) -> int:
    """Return the size (GiB) of the models' volume for the weights (bytes) placed on it."""
    return max(10, math.ceil(sum(weight_bytes) / GIB * _VOLUME_HEADROOM))


def pods_per_node(shape: MachineShape, resources: PodResources) -> int:
    """Return how many such pods one node holds, by GPU, CPU and memory after its reserve."""
    free_cpu, free_memory_gib = free_of_node(shape)
    return min(
        shape.gpus // resources.gpus,
        math.floor(free_cpu / resources.cpu),
        math.floor(free_memory_gib / resources.memory_gib),
    )


def pool_gpus(pool: PoolSettings, shape: MachineShape) -> int:
    """Return the GPUs of a pool at its maximum size."""
    return pool.max * shape.gpus


def free_of_node(shape: MachineShape) -> tuple[float, float]:
    """Return the vCPUs and the host memory (GiB) that a node has left for pods."""
    reserved_gib = max(_RESERVED_MEMORY_MIN_GIB, shape.memory_gib * _RESERVED_MEMORY_SHARE)
    return shape.vcpus - _RESERVED_VCPUS, shape.memory_gib - reserved_gib
