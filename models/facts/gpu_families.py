"""The compute capability that a GPU's name tells where the very card is in no table.

The families are data (`catalog/gpu_families.yaml`, by NVIDIA's published tables). A card's memory
is not told by its name: without a stated size it stays unknown.
"""

import re
from collections.abc import Sequence

from models.facts.accelerators import ComputeCapability, capability
from models.facts.sourced import SourcedFile, SourcedRow


class GpuFamily(SourcedRow):
    """GPUs of one compute capability, by what their names have in common (`pattern`)."""

    pattern: re.Pattern[str]
    compute_capability: ComputeCapability
    notes: str = ""


class GpuFamilies(SourcedFile):
    """`gpu_families.yaml`: the first family that a name matches is its own."""

    families: tuple[GpuFamily, ...]


def capability_of_name(text: str, families: Sequence[GpuFamily]) -> tuple[int, int] | None:
    """Return the compute capability of the family that a name belongs to, or None."""
    plain = re.sub(r"[-_]+", " ", text.lower())
    plain = re.sub(r"\b(rtx|gtx)(\d)", r"\1 \2", plain)
    found = next((family for family in families if family.pattern.search(plain)), None)
    return None if found is None else capability(found.compute_capability)
