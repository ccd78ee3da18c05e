"""Sharing one card among several engines: MIG slices, or turns in time.

A MIG slice is a card of its own to everything that reads the plan: less memory, fewer SMs, no
NVLink. Time slicing divides nothing but time: every engine sees the whole memory, so what they take
together is bounded by their utilizations.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from models.core.base import Model
from models.facts.accelerators import Accelerator, MigProfile

GPU_RESOURCE: Final = "nvidia.com/gpu"
MIG_CONFIG_LABEL: Final = "nvidia.com/mig.config"
"""Node label by which the MIG manager knows how to cut the node's cards."""

PLUGIN_CONFIG_LABEL: Final = "nvidia.com/device-plugin.config"
"""Node label that chooses a key of the device plugin's configuration."""

WHOLE_CONFIG: Final = "whole"
"""The device plugin's configuration for nodes whose cards are not shared."""

UTILIZATION_SUM_MAX: Final = 0.95
"""What engines that take turns may claim of a card together; the rest is their CUDA contexts,
about half a GiB each, which no engine counts as its own (docs/memory-model.md)."""


class MigStrategy(StrEnum):
    """How the device plugin names slices: as whole GPUs, or by their profile."""

    SINGLE = "single"
    MIXED = "mixed"


class Mig(Model):
    """Every card of the pool cut into slices of one profile, such as 3g.40gb.

    With strategy `single` a slice is asked for as `nvidia.com/gpu`, with `mixed` as
    `nvidia.com/mig-<profile>`.
    """

    kind: Literal["mig"]
    """Says which way of sharing it is."""
    profile: Annotated[str, Field(pattern=r"^\d+g\.\d+gb$")]
    """The slices' profile, such as 3g.40gb."""
    strategy: MigStrategy = MigStrategy.SINGLE
    """How slices are asked for."""


class TimeSlicing(Model):
    """Every card of the pool offered to `replicas` engines, which take turns.

    More than 16 leave each less than what an engine needs to start.
    """

    kind: Literal["time-slicing"]
    """Says which way of sharing it is."""
    replicas: Annotated[int, Field(ge=2, le=16)]
    """Engines that take turns on one card."""


Sharing = Annotated[Mig | TimeSlicing, Field(discriminator="kind")]


def gpu_resource(sharing: Mig | TimeSlicing | None) -> str:
    """Return the resource by which a pod asks for one card, or one share of a card."""
    if isinstance(sharing, Mig) and sharing.strategy is MigStrategy.MIXED:
        return f"nvidia.com/mig-{sharing.profile}"
    return GPU_RESOURCE


def plugin_config(sharing: Mig | TimeSlicing | None) -> str:
    """Return the key of the device plugin's configuration for such nodes."""
    if isinstance(sharing, TimeSlicing):
        return f"time-slicing-{sharing.replicas}"
    if isinstance(sharing, Mig):
        return f"mig-{sharing.strategy.value}"
    return WHOLE_CONFIG


def sharing_labels(sharing: Mig | TimeSlicing | None) -> dict[str, str]:
    """Return the labels that nodes need so that the GPU operator cuts or shares their cards."""
    if sharing is None:
        return {}
    labels = {PLUGIN_CONFIG_LABEL: plugin_config(sharing)}
    if isinstance(sharing, Mig):
        labels[MIG_CONFIG_LABEL] = f"all-{sharing.profile}"
    return labels


def slice_of(card: Accelerator, profile: MigProfile) -> Accelerator:
    """Return one MIG slice as a card of its own.

    The product is what GPU feature discovery writes on such nodes with strategy `single`.
    """
    return card.model_copy(
        update={
            "name": f"{card.name}-mig-{profile.name.replace('.', '-')}",
            "product": f"{card.product}-MIG-{profile.name}",
            "aliases": (),
            "memory_gib": profile.memory_gib,
            "memory_source": card.mig_source or "",
            "sm_count": profile.sm_count,
            "nvlink": False,
            "mig": False,
            "mig_profiles": (),
            "instance_types": (),
        }
    )


def slices_of(card: Accelerator) -> tuple[Accelerator, ...]:
    """Return every slice of a card that a source describes."""
    return tuple(slice_of(card, profile) for profile in card.mig_profiles)
