"""Longhorn in a region: what its volumes are for, how often data is kept, what is backed up.

Fields and formats: `longhorn/longhorn@v1.12.1` (chart/, enhancements/) and its documentation.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, PositiveInt

from models.core.base import DnsLabel, Model

PROVISIONER: Final = "driver.longhorn.io"

STORAGE_LABEL: Final = {"node.longhorn.io/create-default-disk": "true"}
"""Node label by which Longhorn gives a node a disk (setting createDefaultDiskLabeledNodes). Nodes
without it attach volumes and store none."""

RWX_SINCE: Final = (1, 7, 2)
"""Before it, the loss of a share manager's node restarted every pod on the volume (LH-04)."""

_REPLICAS: Final = 3
"""Copies of a block where there are nodes for them, Longhorn's own default."""

Cron = Annotated[str, Field(pattern=r"^\S+( \S+){4}$")]
"""Five fields: minute, hour, day of month, month, day of week."""


class VolumeUse(StrEnum):
    """What a volume is for; each has a class of its own."""

    MODELS = "models"
    CACHE = "cache"
    MINIO = "minio"


class DataLocality(StrEnum):
    """Whether a copy is kept on the node that uses the volume."""

    DISABLED = "disabled"
    BEST_EFFORT = "best-effort"


class Backup(Model):
    """Recurring backups to an S3 store outside the cluster."""

    secret: DnsLabel
    """A Secret in `longhorn-system` with the keys AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for
    a store that is not AWS S3, AWS_ENDPOINTS (and AWS_CERT for a private CA)."""
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] | None = None
    """The bucket; without it the region's own store."""
    region: str | None = None
    """The bucket's region; without it the store's."""
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$")] = "longhorn/"
    """What the backups' keys begin with."""
    schedule: Cron = "0 2 * * *"
    """When, in UTC."""
    retain: Annotated[int, Field(ge=1, le=100)] = 7
    """Backups of each volume that are kept."""
    concurrency: PositiveInt = 2
    """Volumes that are backed up at once."""
    volumes: Annotated[tuple[VolumeUse, ...], Field(min_length=1)] = (VolumeUse.MINIO,)
    """The uses that are backed up: weights come from the object store, so by default none of
    theirs."""


class LonghornSettings(Model):
    """How Longhorn keeps volumes (docs/storage.md)."""

    replicas: Annotated[int, Field(ge=1, le=5)] | None = None
    """Copies of each block; without it one per storage node, 3 at most."""
    data_locality: DataLocality = DataLocality.BEST_EFFORT
    """Whether a copy lies where the volume is used."""
    nfs_options: Annotated[str, Field(pattern=r"^[a-z0-9_=.]+(,[a-z0-9_=.]+)*$")] | None = None
    """Mount options of shared volumes; without it Longhorn's own."""
    fast_failover: bool = False
    """Moves a shared volume's server within seconds of its node's loss (experimental upstream in
    1.12)."""
    data_path: Annotated[str, Field(pattern=r"^/\S+$")] = "/var/lib/longhorn/"
    """Where storage nodes keep data."""
    backup: Backup | None = None
    """Recurring backups."""


def replica_count(options: LonghornSettings, storage_nodes: int) -> int:
    """Return the copies of each block: what is asked, else one a storage node, 3 at most."""
    return options.replicas or max(1, min(_REPLICAS, storage_nodes))
