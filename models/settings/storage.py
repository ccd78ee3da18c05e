"""A region's storage: what provides volumes, where weights come from, what is removed again."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from models.core.base import DnsLabel, Model
from models.settings.longhorn import LonghornSettings
from models.settings.minio import MinioSettings


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


class ObjectStoreSettings(Model):
    """The S3 store that weights are seeded from, at `s3://<bucket>/<prefix><model>/<revision>/`."""

    kind: ObjectStoreKind
    """Any S3 endpoint (SeaweedFS, Ceph, ...), AWS S3, or a MinIO tenant that the stack makes."""
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
    """The bucket with the models' weights."""
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$")] = "models/"
    """What the weights' keys begin with."""
    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/]+(:\d+)?$")] | None = None
    """The store's URL, for kind `endpoint`."""
    region: str = "us-east-1"
    """The region that requests are signed for."""
    credentials: Credentials = Credentials.POD_IDENTITY
    """Where the seeding Job gets its keys: the pod's own identity (or none); `config`, the secret
    stack setting `triplane:<region>-object-store`, JSON with `access_key_id` and
    `secret_access_key` (`pulumi config set --secret`); `secret-store`, the secret `object-store`
    with the same properties in the region's `secrets`."""
    minio: MinioSettings | None = None
    """The tenant, for kind `minio`."""
    path_style: bool | None = None
    """Puts the bucket into the path of the address instead of the host name; without it so for
    every store but AWS S3."""
    ca_secret: DnsLabel | None = None
    """A Secret in `triplane-models` whose `ca.crt` the store's certificate is checked with."""
    require_checksums: bool = False
    """Refuses files that no checksum vouches for (docs/seeding.md)."""
    create: bool | None = None
    """Kind `s3`: whether the stack makes the bucket; without it, it does in a region of kind `eks`.
    """
    key_arn: KeyArn | None = None
    """The KMS key of a bucket that exists, where it has one of its own."""

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
    """A region's storage."""

    volumes: VolumeBackend
    """What provides read-write-many volumes for weights."""
    storage_class: DnsLabel | None = None
    """The existing class, for `existing-class`; with `local-path` the name of the class that is
    made."""
    capacity_gib: PositiveInt | None = None
    """Size of the models' volume (GiB); without it, sized from the models placed."""
    objects: ObjectStoreSettings
    """The store that weights are seeded from."""
    longhorn: LonghornSettings = LonghornSettings()
    """How Longhorn keeps volumes."""
    collect: Collect = Collect.OFF
    """Removes revisions from the models' volume once every engine runs its own: `revisions` those
    of placed models that are older than the one in use, `all` also those of models that the
    region places no more."""

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
        if self.volumes is not VolumeBackend.LONGHORN and self.longhorn != LonghornSettings():
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
