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
    """Recurring backups to an S3 store outside the cluster.

    `secret` names a Secret in `longhorn-system` with the keys AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY and, for a store that is not AWS S3, AWS_ENDPOINTS (and AWS_CERT for a
    private CA). `bucket` and `region` are the region's own store where they are None. `schedule`
    is in UTC; `retain` backups of each volume are kept, `concurrency` volumes at once. `volumes`
    are the uses that are backed up: weights come from the object store, so by default none of
    theirs.
    """

    secret: DnsLabel
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] | None = None
    region: str | None = None
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$")] = "longhorn/"
    schedule: Cron = "0 2 * * *"
    retain: Annotated[int, Field(ge=1, le=100)] = 7
    concurrency: PositiveInt = 2
    volumes: Annotated[tuple[VolumeUse, ...], Field(min_length=1)] = (VolumeUse.MINIO,)


class Longhorn(Model):
    """How Longhorn keeps volumes.

    `replicas`: copies of each block, None as many as there are storage nodes, 3 at most.
    `nfs_options`: mount options of shared volumes, None Longhorn's own. `fast_failover`: move a
    shared volume's server within seconds of its node's loss (experimental upstream in 1.12).
    `data_path`: where storage nodes keep data.
    """

    replicas: Annotated[int, Field(ge=1, le=5)] | None = None
    data_locality: DataLocality = DataLocality.BEST_EFFORT
    nfs_options: Annotated[str, Field(pattern=r"^[a-z0-9_=.]+(,[a-z0-9_=.]+)*$")] | None = None
    fast_failover: bool = False
    data_path: Annotated[str, Field(pattern=r"^/\S+$")] = "/var/lib/longhorn/"
    backup: Backup | None = None


def replica_count(options: Longhorn, storage_nodes: int) -> int:
    """Return the copies of each block: what is asked, else one a storage node, 3 at most."""
    return options.replicas or max(1, min(_REPLICAS, storage_nodes))
