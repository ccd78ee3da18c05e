"""A region: its cluster, node pools, storage and fallback providers, as the settings give them."""

import ipaddress
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from models.base import DnsLabel, Model

GPU_TAINT_KEY: Final = "nvidia.com/gpu"
"""Taint of every GPU pool: what does not ask for a GPU is kept off. The GPU operator's own
daemons tolerate this key whatever its value."""

POOL_LABEL: Final = "triplane.dev/pool"
"""Node label that names the pool."""


Cidr = Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$")]
"""An IPv4 network such as 203.0.113.0/24."""


class EksCluster(Model):
    """An EKS cluster that the stack creates. `cidr` is the VPC's; `zones` are zone names.

    The API is reachable from inside the VPC (`private_endpoint`) and from the networks of
    `public_cidrs`, which is empty unless somebody says so. `admins` are ARNs of IAM roles that
    administer the cluster; `log_retention_days` is how long control plane logs are kept.
    `single_nat` trades a zone's independence for the price of one NAT gateway a zone.
    """

    kind: Literal["eks"]
    aws_region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    version: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    cidr: str
    zones: Annotated[tuple[str, ...], Field(min_length=2)]
    private_endpoint: bool = True
    public_cidrs: tuple[Cidr, ...] = ()
    admins: tuple[Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/\S+$")], ...] = ()
    log_retention_days: PositiveInt = 90
    single_nat: bool = False
    domain: Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$")] | None = None
    """Route 53 hosted zone in which the gateway's hostname is registered; None registers none."""

    @model_validator(mode="after")
    def api_is_reachable(self) -> Self:
        """A cluster whose API nobody can reach cannot even be given nodes."""
        if not self.private_endpoint and not self.public_cidrs:
            message = (
                "private_endpoint is false and public_cidrs is empty, so nothing reaches the API; "
                "set private_endpoint to true, or name the networks that may reach it"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def cidr_is_a_private_network(self) -> Self:
        """The VPC needs room for subnets by zone and role: a private /16 to /20."""
        try:
            network = ipaddress.IPv4Network(self.cidr)
        except ValueError as error:
            message = f"cidr {self.cidr!r} is not an IPv4 network ({error}); try 10.20.0.0/16"
            raise ValueError(message) from None
        if not network.is_private or not 16 <= network.prefixlen <= 20:
            message = f"cidr {self.cidr!r} must be a private network of size /16 to /20"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def zones_lie_in_the_region(self) -> Self:
        """Zones are named after their region (us-east-1a)."""
        foreign = [zone for zone in self.zones if not zone.startswith(self.aws_region)]
        if foreign:
            message = (
                f"zones {foreign} are not in {self.aws_region}; zone names begin with the region"
            )
            raise ValueError(message)
        return self


class ExistingCluster(Model):
    """A cluster that exists: on-premises, edge, the sandbox, any cloud.

    `context` names the context to use in the kubeconfig (KUBECONFIG, else the user's own file).
    It is required, so that a stack never lands in whatever cluster happens to be current.
    """

    kind: Literal["existing"]
    context: Annotated[str, Field(min_length=1)]


Cluster = Annotated[EksCluster | ExistingCluster, Field(discriminator="kind")]


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Model):
    """A node taint."""

    key: Annotated[str, Field(min_length=1)]
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


class CapacityType(StrEnum):
    """How the machines are bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"


class AmiFamily(StrEnum):
    """The operating system of an AWS pool's machines; GPU pools take its NVIDIA variant."""

    AL2023 = "al2023"
    BOTTLEROCKET = "bottlerocket"


class NodeShape(Model):
    """A machine that no cloud's instance type describes (on-premises, edge).

    `memory_gib` is host memory; `gpus` is 0 for a CPU machine. `usd_per_hour` is what one such
    machine costs its owner (power, depreciation); None means that it is not priced.
    """

    vcpus: PositiveInt
    memory_gib: PositiveFloat
    gpus: Annotated[int, Field(ge=0)] = 0
    usd_per_hour: Annotated[float, Field(ge=0)] | None = None


class NodePool(Model):
    """Nodes of one shape. Exactly one of `instance_type` and `node` says which shape.

    `accelerator` is a name of `catalog/accelerators.yaml`, absent for a CPU pool. GPU pools carry
    the taint `nvidia.com/gpu=present:NoSchedule` beside what `taints` adds.

    The rest is for pools that the stack makes on AWS: `ami` is the operating system, `disk_gib`
    the root volume, `zones` the zones used (None: all of the cluster's), `capacity_reservation` the
    reservation's id (with capacity type `reserved`), `efa` the fast network between nodes.
    """

    name: DnsLabel
    accelerator: str | None = None
    instance_type: str | None = None
    node: NodeShape | None = None
    min: Annotated[int, Field(ge=0)]
    max: PositiveInt
    taints: tuple[Taint, ...] = ()
    capacity_type: CapacityType = CapacityType.ON_DEMAND
    ami: AmiFamily = AmiFamily.AL2023
    disk_gib: Annotated[int, Field(ge=20, le=16384)] = 200
    zones: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    capacity_reservation: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = None
    efa: bool = False

    @model_validator(mode="after")
    def reservation_goes_with_reserved(self) -> Self:
        """A reservation that is not named is not used, and one that is named must be meant."""
        if (self.capacity_reservation is not None) != (self.capacity_type is CapacityType.RESERVED):
            message = (
                f"pool {self.name!r}: capacity_type 'reserved' and capacity_reservation (cr-...) "
                "go together; give both or neither"
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


class VolumeBackend(StrEnum):
    """What provides read-write-many volumes for weights."""

    LONGHORN = "longhorn"
    LOCAL_PATH = "local-path"
    EXISTING_CLASS = "existing-class"


class ObjectStoreKind(StrEnum):
    """Where weights are kept before they are seeded."""

    MINIO = "minio"
    S3 = "s3"
    ENDPOINT = "endpoint"


class Credentials(StrEnum):
    """Where keys of an object store come from.

    `pod-identity`: the pod's own identity (or a store that asks for none). `config`: the secret
    stack setting `triplane:<region>-object-store`, JSON with access_key_id and secret_access_key.
    """

    POD_IDENTITY = "pod-identity"
    CONFIG = "config"


class ObjectStore(Model):
    """An S3-compatible store with the models' weights below `prefix` in `bucket`.

    `endpoint` is the URL of any S3 endpoint other than AWS's own. `credentials` says where the
    seeding Job gets its keys.
    """

    kind: ObjectStoreKind
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$")] = "models/"
    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/]+(:\d+)?$")] | None = None
    region: str = "us-east-1"
    credentials: Credentials = Credentials.POD_IDENTITY

    @model_validator(mode="after")
    def endpoint_is_given_where_it_is_needed(self) -> Self:
        """AWS S3 has its own endpoints; every other store needs one."""
        if self.kind is ObjectStoreKind.ENDPOINT and self.endpoint is None:
            message = "kind 'endpoint' needs endpoint, for example http://s3.storage.svc:8333"
            raise ValueError(message)
        if self.kind is ObjectStoreKind.S3 and self.endpoint is not None:
            message = "kind 's3' is AWS S3 and takes no endpoint; use kind 'endpoint'"
            raise ValueError(message)
        return self


class Storage(Model):
    """A region's storage. `storage_class` names an existing class; with `local-path` it is made.

    `capacity_gib` is the size of the models' volume; None sizes it from the models placed.
    """

    volumes: VolumeBackend
    storage_class: DnsLabel | None = None
    capacity_gib: PositiveInt | None = None
    objects: ObjectStore

    @model_validator(mode="after")
    def existing_class_is_named(self) -> Self:
        """An existing class can only be used by its name."""
        if self.volumes is VolumeBackend.EXISTING_CLASS and self.storage_class is None:
            message = (
                "volumes 'existing-class' needs storage_class (kubectl get storageclass lists them)"
            )
            raise ValueError(message)
        return self


class FallbackProvider(Model):
    """A SaaS provider that takes over when a region's engines cannot."""

    name: DnsLabel
    schema_name: Literal["OpenAI", "Anthropic", "AWSBedrock", "AzureOpenAI", "Cohere"]
    hostname: str
    model: str
    api_key_secret: DnsLabel


class Region(Model):
    """One region: a worker cluster with its pools and storage."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$")]
    cluster: Cluster
    pools: Annotated[tuple[NodePool, ...], Field(min_length=1)]
    storage: Storage
    fallback_providers: tuple[FallbackProvider, ...] = ()

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
