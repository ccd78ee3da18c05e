"""Simulated nodes: what a stack's node pools look like to the real scheduler.

A node has the capacity, labels and taints that a kubelet and the GPU operator's feature discovery
would give it; KWOK plays the kubelet. What a node cannot do here is run anything.
"""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from sandbox.core.errors import SandboxError
from sandbox.core.kube import Object

SIMULATED_LABEL: Final = "triplane.dev/simulated"
SPEC_ANNOTATION: Final = "triplane.dev/node-spec"


class NodeTaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class NodeTaint(BaseModel):
    """A node's taint."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    key: str
    value: str = ""
    effect: NodeTaintEffect


class GpuSpec(BaseModel):
    """The GPUs of one node, as feature discovery describes them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    count: PositiveInt
    product: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")
    """The value of the label nvidia.com/gpu.product, for example NVIDIA-L4."""
    memory_mib: PositiveInt
    compute: str = Field(pattern=r"^\d+\.\d+$")
    """Compute capability, for example 8.9."""
    resource: str = "nvidia.com/gpu"


class NodeSpec(BaseModel):
    """One node to simulate."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$")
    cpu: PositiveInt
    memory_mib: PositiveInt
    ephemeral_gib: PositiveInt = 100
    pods: PositiveInt = 110
    reserved_cpu_milli: NonNegativeInt = 0
    reserved_memory_mib: NonNegativeInt = 0
    """What a kubelet keeps for itself: capacity minus this is allocatable."""
    gpu: GpuSpec | None = None
    zone: str | None = None
    region: str | None = None
    instance_type: str | None = None
    labels: Mapping[str, str] = Field(default_factory=dict[str, str])
    taints: tuple[NodeTaint, ...] = ()

    @model_validator(mode="after")
    def reserved_fits(self) -> Self:
        """A node that keeps all of itself could never take a pod."""
        if self.reserved_cpu_milli >= self.cpu * 1000:
            raise ValueError(
                f"node {self.name}: reserved_cpu_milli {self.reserved_cpu_milli} must be below "
                f"{self.cpu * 1000} (cpu {self.cpu})"
            )
        if self.reserved_memory_mib >= self.memory_mib:
            raise ValueError(
                f"node {self.name}: reserved_memory_mib {self.reserved_memory_mib} must be below "
                f"memory_mib {self.memory_mib}"
            )
        return self


def read_file(path: Path) -> tuple[NodeSpec, ...]:
    """Read a JSON list of `NodeSpec`; raises `SandboxError` naming every field that is wrong."""
    try:
        return TypeAdapter(tuple[NodeSpec, ...]).validate_json(path.read_bytes())
    except OSError as error:
        raise SandboxError(f"nodes file {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise SandboxError(f"nodes file {path} is not a list of node specs: {error}") from error


def labels(spec: NodeSpec) -> dict[str, str]:
    """Return all labels of a node: the kubelet's, feature discovery's, ours, then the spec's."""
    found = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": spec.name,
        SIMULATED_LABEL: "true",
    }
    optional = {
        "topology.kubernetes.io/zone": spec.zone,
        "topology.kubernetes.io/region": spec.region,
        "node.kubernetes.io/instance-type": spec.instance_type,
    }
    found |= {key: value for key, value in optional.items() if value is not None}
    if spec.gpu is not None:
        major, minor = spec.gpu.compute.split(".")
        found |= {
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": spec.gpu.product,
            "nvidia.com/gpu.count": str(spec.gpu.count),
            "nvidia.com/gpu.memory": str(spec.gpu.memory_mib),
            "nvidia.com/gpu.compute.major": major,
            "nvidia.com/gpu.compute.minor": minor,
        }
    return found | dict(spec.labels)


def manifest(spec: NodeSpec) -> Object:
    """Return the Node to apply: metadata and spec, without status."""
    body: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": spec.name,
            "labels": labels(spec),
            "annotations": {"kwok.x-k8s.io/node": "fake", SPEC_ANNOTATION: digest(spec)},
        },
    }
    taints = [taint.model_dump(mode="json") for taint in spec.taints]
    body["spec"] = {"taints": taints} if taints else {}
    return body


def status(spec: NodeSpec) -> Object:
    """Return capacity and allocatable, the part of the status that is ours and not KWOK's."""
    gpus = {} if spec.gpu is None else {spec.gpu.resource: str(spec.gpu.count)}
    shared = {
        "ephemeral-storage": f"{spec.ephemeral_gib}Gi",
        "pods": str(spec.pods),
        **gpus,
    }
    capacity = {"cpu": str(spec.cpu), "memory": f"{spec.memory_mib}Mi", **shared}
    allocatable = {
        "cpu": f"{spec.cpu * 1000 - spec.reserved_cpu_milli}m",
        "memory": f"{spec.memory_mib - spec.reserved_memory_mib}Mi",
        **shared,
    }
    return {"status": {"capacity": capacity, "allocatable": allocatable}}


def digest(spec: NodeSpec) -> str:
    """Return the hash that tells whether a node was made from this spec."""
    text = json.dumps([labels(spec), status(spec), spec.model_dump(mode="json")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
