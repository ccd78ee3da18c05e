"""Which machine image an EC2 instance type needs on EKS, by its card, processor and system.

An image's type is always given and never together with an image id: EKS would take the type's
image and ignore the other (EKS-01), and for GPU machines it would pick an image without a driver.
"""

import re
from enum import StrEnum
from typing import Final

from models.settings.regions import AmiFamily


class MachineArchitecture(StrEnum):
    """Processors, as EC2's describe-instance-types spells them."""

    X86 = "x86_64"
    ARM = "arm64"


class Maker(StrEnum):
    """Who makes the accelerator of an instance type."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"
    AWS = "AWS"
    """Trainium and Inferentia."""

    OTHER = "another maker"
    """Gaudi (dl1), Cloud AI 100 (dl2q), FPGAs and video cards (f1, f2, vt1)."""


_FAMILY: Final = re.compile(
    r"(?P<series>[a-z]+)(?:-\d*tb)?(?P<generation>\d+)(?P<attributes>[a-z]*)(?P<rest>-\w+)?"
)
"""EC2 user guide, instance type naming conventions: series, generation, attributes, options."""

_AMD_GPU_FAMILIES: Final = frozenset({"g4ad"})
_NVIDIA_SERIES: Final = frozenset({"g", "gr", "p"})
_NEURON_SERIES: Final = frozenset({"inf", "trn"})
_OTHER_SERIES: Final = frozenset({"dl", "f", "vt"})

_IMAGES: Final = {
    (AmiFamily.AL2023, MachineArchitecture.X86, False): "AL2023_x86_64_STANDARD",
    (AmiFamily.AL2023, MachineArchitecture.X86, True): "AL2023_x86_64_NVIDIA",
    (AmiFamily.AL2023, MachineArchitecture.ARM, False): "AL2023_ARM_64_STANDARD",
    (AmiFamily.AL2023, MachineArchitecture.ARM, True): "AL2023_ARM_64_NVIDIA",
    (AmiFamily.BOTTLEROCKET, MachineArchitecture.X86, False): "BOTTLEROCKET_x86_64",
    (AmiFamily.BOTTLEROCKET, MachineArchitecture.X86, True): "BOTTLEROCKET_x86_64_NVIDIA",
    (AmiFamily.BOTTLEROCKET, MachineArchitecture.ARM, False): "BOTTLEROCKET_ARM_64",
    (AmiFamily.BOTTLEROCKET, MachineArchitecture.ARM, True): "BOTTLEROCKET_ARM_64_NVIDIA",
}
"""By system, processor and NVIDIA GPU; the names are those of the EKS API (AMITypes)."""


def family_of(instance_type: str) -> str:
    """Return the family: what stands before the size (`g6e` of `g6e.48xlarge`)."""
    return instance_type.split(".", maxsplit=1)[0]


def architecture(instance_type: str) -> MachineArchitecture:
    """Return the processor of an instance type: ARM where the name says Graviton or Grace.

    Raises `ValueError` for a text that is no instance type.
    """
    match = _parts(instance_type)
    if match["series"] == "a":
        return MachineArchitecture.ARM
    # "g" among the attributes is Graviton (m7g, g5g, im4gn); "-gb200" is Grace Blackwell.
    graviton = "g" in match["attributes"]
    grace = (match["rest"] or "").startswith("-gb")
    return MachineArchitecture.ARM if graviton or grace else MachineArchitecture.X86


def maker(instance_type: str) -> Maker | None:
    """Return who makes the accelerator of an instance type, None where there is none.

    Raises `ValueError` for a text that is no instance type.
    """
    match = _parts(instance_type)
    series = match["series"]
    if family_of(instance_type) in _AMD_GPU_FAMILIES:
        return Maker.AMD
    if series in _NVIDIA_SERIES:
        return Maker.NVIDIA
    if series in _NEURON_SERIES:
        return Maker.AWS
    return Maker.OTHER if series in _OTHER_SERIES else None


def ami_type(family: AmiFamily, instance_type: str) -> str:
    """Return the EKS AMI type for an instance type: its NVIDIA variant where it has NVIDIA GPUs.

    Raises `ValueError` for an accelerator that CUDA does not run on.
    """
    made_by = maker(instance_type)
    if made_by not in (None, Maker.NVIDIA):
        message = (
            f"instance type {instance_type!r} carries accelerators of {made_by}, on which CUDA "
            "engines do not run; take a type with NVIDIA GPUs, or one without accelerators"
        )
        raise ValueError(message)
    return _IMAGES[family, architecture(instance_type), made_by is Maker.NVIDIA]


def suits(ami: str, instance_type: str) -> bool:
    """Whether an EKS AMI type is one that this instance type starts and works with."""
    made_by = maker(instance_type)
    if ("_ARM_64" in ami) is not (architecture(instance_type) is MachineArchitecture.ARM):
        return False
    # Amazon Linux 2 had one image for NVIDIA GPUs and Neuron devices.
    has_nvidia = "_NVIDIA" in ami or ami.endswith("_GPU")
    if made_by is Maker.AWS:
        return ami.endswith(("_NEURON", "_GPU")) or (
            ami.startswith("BOTTLEROCKET") and not has_nvidia
        )
    return has_nvidia is (made_by is Maker.NVIDIA)


def _parts(instance_type: str) -> re.Match[str]:
    match = _FAMILY.fullmatch(family_of(instance_type))
    if match is None:
        message = f"{instance_type!r} is not an EC2 instance type (such as g6.12xlarge)"
        raise ValueError(message)
    return match
