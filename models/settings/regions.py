"""A region: its cluster, node pools, storage and fallback providers, as the settings give them."""

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from models.core.base import DnsLabel, Model
from models.facts.sharing import Sharing
from models.settings.certificates import CertificateSettings
from models.settings.eks import EksClusterSettings
from models.settings.gateway import FallbackProviderSettings
from models.settings.secrets import SecretSource
from models.settings.storage import Storage

GPU_TAINT_KEY: Final = "nvidia.com/gpu"
"""Taint of every GPU pool: what does not ask for a GPU is kept off. The GPU operator's own
daemons tolerate this key whatever its value."""

POOL_LABEL: Final = "triplane.dev/pool"
"""Node label that names the pool."""


class ExistingClusterSettings(Model):
    """A cluster that exists: on-premises, edge, the sandbox, any cloud."""

    kind: Literal["existing"]
    """Says which kind of cluster it is."""
    context: Annotated[str, Field(min_length=1)]
    """The context in the kubeconfig (KUBECONFIG, else the user's own file). It is required, so that
    a stack never lands in whatever cluster happens to be current. One that begins with
    `triplane-sandbox` is a control plane that `make up` starts."""


Cluster = Annotated[EksClusterSettings | ExistingClusterSettings, Field(discriminator="kind")]


NodeName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
"""The name of a Node object."""


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Model):
    """A node taint."""

    key: Annotated[str, Field(min_length=1)]
    """The taint's key."""
    value: str = ""
    """Its value."""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE
    """What it does to pods that do not tolerate it."""


class CapacityType(StrEnum):
    """How the machines are bought.

    `reserved` takes them from an on-demand capacity reservation, `capacity-block` from a Capacity
    Block for ML, which begins and ends at a date; both are named by `capacity_reservation`.
    """

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"
    CAPACITY_BLOCK = "capacity-block"


class AmiFamily(StrEnum):
    """The operating system of an AWS pool's machines; GPU pools take its NVIDIA variant."""

    AL2023 = "al2023"
    BOTTLEROCKET = "bottlerocket"


class NodeShape(Model):
    """A machine that no cloud's instance type describes (on-premises, edge)."""

    vcpus: PositiveInt
    """Processors of the host."""
    memory_gib: PositiveFloat
    """The host's memory (GiB)."""
    gpus: Annotated[int, Field(ge=0)] = 0
    """GPUs of the machine; 0 for a CPU machine."""
    usd_per_hour: Annotated[float, Field(ge=0)] | None = None
    """What one such machine costs its owner (power, depreciation); without it the machine is not
    priced."""


class GpuSoftware(StrEnum):
    """What machines of a GPU pool bring of NVIDIA's software; the GPU operator adds the rest.

    `host`: driver and container toolkit, as the NVIDIA images of EKS have them; `driver`: the
    driver alone; `none`: neither.
    """

    HOST = "host"
    DRIVER = "driver"
    NONE = "none"


class PoolSettings(Model):
    """Nodes of one shape. Exactly one of `instance_type` and `node` says which shape."""

    name: DnsLabel
    """Models name it; nodes carry the label `triplane.dev/pool`."""
    accelerator: str | None = None
    """A name of `catalog/accelerators.yaml`; none for a CPU pool. A region needs one CPU pool for
    seeding."""
    instance_type: str | None = None
    """A cloud's machine type."""
    node: NodeShape | None = None
    """A machine of your own, instead of `instance_type`."""
    min: Annotated[int, Field(ge=0)]
    """The fewest nodes that the pool's autoscaler keeps."""
    max: PositiveInt
    """The most nodes."""
    taints: tuple[Taint, ...] = ()
    """Taints beside `nvidia.com/gpu=present:NoSchedule`, which GPU pools carry."""
    sharing: Sharing | None = None
    """Several engines on one card (docs/operators.md); GPUs of the pool are then counted in slices,
    or in turns."""
    gpu_software: GpuSoftware = GpuSoftware.HOST
    """Nodes of an existing cluster: what their machines bring of NVIDIA's driver and container
    toolkit."""
    nodes: tuple[NodeName, ...] = ()
    """Nodes of an existing cluster that the stack labels and taints as the pool's; otherwise their
    owner does."""
    swap_off: bool = False
    """Nodes of an existing cluster: swap is switched off by a DaemonSet."""
    capacity_type: CapacityType = CapacityType.ON_DEMAND
    """On AWS, how the machines are bought: `reserved` takes them from an on-demand capacity
    reservation, `capacity-block` from a Capacity Block for ML; both name it and the one zone
    that it lies in."""
    ami: AmiFamily = AmiFamily.AL2023
    """On AWS: the operating system, in its NVIDIA variant where there are GPUs."""
    disk_gib: Annotated[int, Field(ge=20, le=16384)] = 200
    """On AWS: the root volume (GiB)."""
    zones: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """On AWS: the zones used; without it all of the cluster's."""
    capacity_reservation: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = None
    """On AWS: the reservation's id, where machines are taken from one."""
    efa: bool = False
    """On AWS: the fast network between nodes; it takes one zone, and a type that has it."""

    @model_validator(mode="after")
    def reservation_goes_with_reserved(self) -> Self:
        """A reservation that is not named is not used, and one that is named must be meant."""
        reserving = (CapacityType.RESERVED, CapacityType.CAPACITY_BLOCK)
        if (self.capacity_reservation is not None) != (self.capacity_type in reserving):
            message = (
                f"pool {self.name!r}: capacity_type 'reserved' or 'capacity-block' and "
                "capacity_reservation (cr-...) go together; give both or neither"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def shape_is_given_once(self) -> Self:
        """The machine's shape has one source."""
        if (self.instance_type is None) == (self.node is None):
            message = (
                f"pool {self.name!r} needs exactly one of instance_type (a cloud's) and node "
                "(a shape of your own)"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def minimum_is_not_above_maximum(self) -> Self:
        """An autoscaler cannot satisfy min > max."""
        if self.min > self.max:
            message = (
                f"pool {self.name!r} has min {self.min} above max {self.max}; "
                "lower min or raise max"
            )
            raise ValueError(message)
        return self

    @property
    def all_taints(self) -> tuple[Taint, ...]:
        """The taints on the nodes: the GPU taint where there are GPUs, then the pool's own."""
        if self.accelerator is None:
            return self.taints
        return (Taint(key=GPU_TAINT_KEY, value="present"), *self.taints)


class RegionSettings(Model):
    """One region: a worker cluster with its pools and storage."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$")]
    """Key of the outputs, and part of resource names."""
    cluster: Cluster
    """The worker cluster: one that exists, or an EKS cluster that the stack makes."""
    pools: Annotated[tuple[PoolSettings, ...], Field(min_length=1)]
    """Its node pools."""
    storage: Storage
    """Volumes and the object store."""
    secrets: SecretSource = SecretSource()
    """What keeps the region's secrets."""
    certificates: CertificateSettings = CertificateSettings()
    """How the gateway gets its certificate."""
    fallback_providers: tuple[FallbackProviderSettings, ...] = ()
    """Who answers when no replica can, in this order (docs/gateway.md)."""
    suspended: bool = False
    """What exists of the region stays as it is, while the others go on (docs/environments.md)."""

    @model_validator(mode="after")
    def pool_names_are_unique(self) -> Self:
        """Models refer to pools by name."""
        names = [pool.name for pool in self.pools]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = (
                f"region {self.name!r} names pools twice: {twice}; give each pool its own name"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def provider_names_are_unique(self) -> Self:
        """Objects are called after providers, and secrets are kept under one name each."""
        names = [provider.name for provider in self.fallback_providers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"region {self.name!r} names fallback providers twice: {', '.join(twice)}"
            raise ValueError(message)
        return self
