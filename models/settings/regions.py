"""A region: its cluster, node pools, storage and fallback providers, as the settings give them."""

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from models.core.base import DnsLabel, Model
from models.facts.sharing import Sharing
from models.settings.certificates import Certificates
from models.settings.eks import EksCluster
from models.settings.gateway import FallbackProvider
from models.settings.longhorn import Longhorn
from models.settings.minio import Minio
from models.settings.secrets import SecretSource

GPU_TAINT_KEY: Final = "nvidia.com/gpu"
"""Taint of every GPU pool: what does not ask for a GPU is kept off. The GPU operator's own
daemons tolerate this key whatever its value."""

POOL_LABEL: Final = "triplane.dev/pool"
"""Node label that names the pool."""


class ExistingCluster(Model):
    """A cluster that exists: on-premises, edge, the sandbox, any cloud.

    `context` names the context to use in the kubeconfig (KUBECONFIG, else the user's own file).
    It is required, so that a stack never lands in whatever cluster happens to be current.
    """

    kind: Literal["existing"]
    context: Annotated[str, Field(min_length=1)]


Cluster = Annotated[EksCluster | ExistingCluster, Field(discriminator="kind")]


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
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


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
    """A machine that no cloud's instance type describes (on-premises, edge).

    `memory_gib` is host memory; `gpus` is 0 for a CPU machine. `usd_per_hour` is what one such
    machine costs its owner (power, depreciation); None means that it is not priced.
    """

    vcpus: PositiveInt
    memory_gib: PositiveFloat
    gpus: Annotated[int, Field(ge=0)] = 0
    usd_per_hour: Annotated[float, Field(ge=0)] | None = None


class GpuSoftware(StrEnum):
    """What machines of a GPU pool bring of NVIDIA's software; the GPU operator adds the rest.

    `host`: driver and container toolkit, as the NVIDIA images of EKS have them; `driver`: the
    driver alone; `none`: neither.
    """

    HOST = "host"
    DRIVER = "driver"
    NONE = "none"


class NodePool(Model):
    """Nodes of one shape. Exactly one of `instance_type` and `node` says which shape.

    `accelerator` is a name of `catalog/accelerators.yaml`, absent for a CPU pool. GPU pools carry
    the taint `nvidia.com/gpu=present:NoSchedule` beside what `taints` adds. `sharing` lets several
    engines use one card.

    For pools of an existing cluster: `gpu_software` is what the machines bring; `nodes` names
    nodes that the stack labels and taints as the pool's (otherwise their owner does); `swap_off`
    switches swap off on them.

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
    sharing: Sharing | None = None
    gpu_software: GpuSoftware = GpuSoftware.HOST
    nodes: tuple[NodeName, ...] = ()
    swap_off: bool = False
    capacity_type: CapacityType = CapacityType.ON_DEMAND
    ami: AmiFamily = AmiFamily.AL2023
    disk_gib: Annotated[int, Field(ge=20, le=16384)] = 200
    zones: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    capacity_reservation: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = None
    efa: bool = False

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
    `secret-store`: the secret `object-store` of the region's `secrets`, with the same properties.
    """

    POD_IDENTITY = "pod-identity"
    CONFIG = "config"
    SECRET_STORE = "secret-store"  # noqa: S105 - a kind, not a secret


KeyArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/\S+$")]
"""The ARN of a KMS key."""


class ObjectStore(Model):
    """An S3-compatible store with the models' weights below `prefix` in `bucket`.

    `endpoint` is the URL of any S3 endpoint other than AWS's own. `credentials` says where the
    seeding Job gets its keys. `minio` is the tenant of kind `minio`, which the stack makes.
    `path_style` puts the bucket into the path instead of the host name; None does so for every
    store but AWS's. `ca_secret` names a Secret in `triplane-models` whose `ca.crt` the store's
    certificate is checked with. With `require_checksums` a file that no checksum vouches for is
    not published.

    `create` says whether the stack makes the bucket (kind `s3`); None makes it on EKS. `key_arn`
    is the KMS key of a bucket that exists already, where it has one of its own.
    """

    kind: ObjectStoreKind
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$")] = "models/"
    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/]+(:\d+)?$")] | None = None
    region: str = "us-east-1"
    credentials: Credentials = Credentials.POD_IDENTITY
    minio: Minio | None = None
    path_style: bool | None = None
    ca_secret: DnsLabel | None = None
    require_checksums: bool = False
    create: bool | None = None
    key_arn: KeyArn | None = None

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

    @model_validator(mode="after")
    def tenant_is_described_where_it_is_made(self) -> Self:
        """A tenant needs pools and keys; other kinds have no use for either part."""
        if (self.kind is ObjectStoreKind.MINIO) != (self.minio is not None):
            message = (
                f"kind {self.kind.value!r} and the key minio do not fit: kind 'minio' needs minio "
                "(pools of servers and drives), every other kind takes none"
            )
            raise ValueError(message)
        if self.kind is not ObjectStoreKind.MINIO:
            return self
        if self.endpoint is not None:
            message = "kind 'minio' has its endpoint in the cluster; leave endpoint out"
            raise ValueError(message)
        if self.credentials is Credentials.POD_IDENTITY:
            message = (
                "kind 'minio' needs credentials 'config' (the secret stack setting "
                "triplane:<region>-object-store) or 'secret-store': the tenant is started with them"
            )
            raise ValueError(message)
        return self


class Collect(StrEnum):
    """What is removed from the models' volume once every engine runs its revision.

    `revisions`: complete revisions of a placed model that are older than the one in use. `all`:
    these, and the revisions of models that the region places no more.
    """

    OFF = "off"
    REVISIONS = "revisions"
    ALL = "all"


class Storage(Model):
    """A region's storage. `storage_class` names an existing class; with `local-path` it is made.

    `capacity_gib` is the size of the models' volume; None sizes it from the models placed.
    `longhorn` says how Longhorn keeps volumes. `collect` removes revisions that no engine of the
    region names any more.
    """

    volumes: VolumeBackend
    storage_class: DnsLabel | None = None
    capacity_gib: PositiveInt | None = None
    objects: ObjectStore
    longhorn: Longhorn = Longhorn()
    collect: Collect = Collect.OFF

    @model_validator(mode="after")
    def existing_class_is_named(self) -> Self:
        """An existing class can only be used by its name."""
        if self.volumes is VolumeBackend.EXISTING_CLASS and self.storage_class is None:
            message = (
                "volumes 'existing-class' needs storage_class (kubectl get storageclass lists them)"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def longhorn_is_used_where_it_is_described(self) -> Self:
        """Longhorn's classes are made by the stack; without Longhorn its options do nothing."""
        if self.volumes is VolumeBackend.LONGHORN and self.storage_class is not None:
            message = (
                "volumes 'longhorn' makes its own classes; leave storage_class out, or use volumes "
                "'existing-class'"
            )
            raise ValueError(message)
        if self.volumes is not VolumeBackend.LONGHORN and self.longhorn != Longhorn():
            message = (
                f"the key longhorn does nothing with volumes {self.volumes.value!r}; remove it"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def backups_leave_the_cluster(self) -> Self:
        """A backup kept on the volumes that it is a backup of is none."""
        backup = self.longhorn.backup
        if backup is None or backup.bucket is not None:
            return self
        if self.objects.kind is ObjectStoreKind.MINIO:
            message = (
                "longhorn.backup would go to the tenant whose drives lie on Longhorn; name a "
                "bucket outside the cluster (backup.bucket, backup.region)"
            )
            raise ValueError(message)
        return self


class Region(Model):
    """One region: a worker cluster with its pools and storage.

    `suspended`: what exists of the region stays as it is (docs/environments.md).
    """

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$")]
    cluster: Cluster
    pools: Annotated[tuple[NodePool, ...], Field(min_length=1)]
    storage: Storage
    secrets: SecretSource = SecretSource()
    certificates: Certificates = Certificates()
    fallback_providers: tuple[FallbackProvider, ...] = ()
    suspended: bool = False

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
