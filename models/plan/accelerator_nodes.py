"""What GPU nodes bring of NVIDIA's software, and the labels by which the GPU operator knows it.

EKS: the AL2023 NVIDIA image has driver and container toolkit; the Bottlerocket one has the device
plugin as well, and the operator must install none of them (Amazon EKS user guide, "Use
EKS-optimized accelerated AMIs"). The operator deploys an operand on a node unless the node's label
`nvidia.com/gpu.deploy.<operand>` has another value than "true" (NVIDIA/gpu-operator v26.7.0,
controllers/state_manager.go and nodelabeling_controller.go: a label that is set stays).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from models.facts.sharing import sharing_labels
from models.plan.plan import PlannedPool, PlannedRegion
from models.settings.regions import POOL_LABEL, AmiFamily, GpuSoftware

_DEPLOY: Final = "nvidia.com/gpu.deploy"


class Operand(StrEnum):
    """What the GPU operator may have to add, in the words of its node labels."""

    DRIVER = "driver"
    TOOLKIT = "container-toolkit"
    DEVICE_PLUGIN = "device-plugin"


def brought(pool: PlannedPool) -> frozenset[Operand]:
    """Return what a pool's machines bring. Bottlerocket runs on EKS only."""
    if pool.settings.ami is AmiFamily.BOTTLEROCKET:
        return frozenset(Operand)
    return {
        GpuSoftware.HOST: frozenset({Operand.DRIVER, Operand.TOOLKIT}),
        GpuSoftware.DRIVER: frozenset({Operand.DRIVER}),
        GpuSoftware.NONE: frozenset[Operand](),
    }[pool.settings.gpu_software]


def wanted(operand: Operand, pools: Sequence[PlannedPool]) -> bool:
    """Return whether any GPU pool lacks the operand."""
    return any(operand not in brought(pool) for pool in pools)


def node_labels(region: PlannedRegion, pool: PlannedPool) -> dict[str, str]:
    """Return every label of ours that a pool's nodes need, beside what a cloud adds.

    Where pools differ in what they bring, the operand is installed for those that lack it, and
    the others' nodes say that it is not for them.
    """
    labels = {POOL_LABEL: pool.name}
    if pool.accelerator is None:
        return labels
    gpu_pools = [each for each in region.pools if each.accelerator is not None]
    for operand in sorted(brought(pool)):
        if wanted(operand, gpu_pools):
            labels[f"{_DEPLOY}.{operand.value}"] = "false"
    return labels | sharing_labels(pool.settings.sharing)
