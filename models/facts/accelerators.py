"""GPUs and the machines that carry them, as the catalog describes them.

Memory is what CUDA reports on the card (GiB), not what the data sheet prints: an "80 GB" H100 has
79.2 GiB, a "24 GB" L4 22.2 GiB. vLLM's budget starts from that number.
"""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from models.core.base import DnsLabel, Model

ComputeCapability = Annotated[str, Field(pattern=r"^\d{1,2}\.\d$")]


def capability(text: str) -> tuple[int, int]:
    """Return `(major, minor)` of a CUDA compute capability such as "8.9"."""
    major, minor = text.split(".")
    return int(major), int(minor)


class InstanceType(Model):
    """A machine type of a cloud: `gpus` is 0 for a CPU machine; `memory_gib` is host memory.

    `efa` is how many EFA interfaces it takes, one a network card; 0 where it has none.
    `architecture` is its processor's, by EC2's name.
    """

    name: str
    gpus: Annotated[int, Field(ge=0)]
    vcpus: PositiveInt
    memory_gib: PositiveFloat
    efa: Annotated[int, Field(ge=0)] = 0
    architecture: Literal["x86_64", "arm64"] = "x86_64"


class MigProfile(Model):
    """One MIG profile of a card: how many fit, and what each has. `memory_gib` is the driver's."""

    name: Annotated[str, Field(pattern=r"^\d+g\.\d+gb$")]
    instances: PositiveInt
    memory_gib: PositiveFloat
    sm_count: PositiveInt


class Accelerator(Model):
    """One GPU model.

    `product` is the value of GPU feature discovery's label `nvidia.com/gpu.product`; `aliases` are
    the names that people, NVML and other tools write. `memory_gib` is CUDA's total (GiB), with its
    source in `memory_source`. `shared_memory_per_block_kib`, `sm_count` and `nvlink` are facts of
    the card; `mig` tells whether it can be partitioned, `mig_profiles` into what, as far as
    `mig_source` says (`nvidia-smi mig -lgip`; of several listings the lowest memory).
    """

    name: DnsLabel
    product: str
    aliases: tuple[str, ...]
    memory_gib: PositiveFloat
    memory_source: str
    compute_capability: ComputeCapability
    sm_count: PositiveInt
    nvlink: bool
    mig: bool = False
    mig_profiles: tuple[MigProfile, ...] = ()
    mig_source: str | None = None
    instance_types: tuple[InstanceType, ...] = ()

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability as `(major, minor)`, fit for comparison."""
        return capability(self.compute_capability)
