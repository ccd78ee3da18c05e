"""Longhorn: the chart's values, a class for each use, and recurring backups.

Fields: longhorn/longhorn@v1.12.1, chart/values.yaml, chart/templates/storageclass.yaml and
enhancements/20240402-share-manager-scheduling.md.
"""

from collections.abc import Iterable
from typing import Any, Final, TypedDict

from pulumi_kubernetes.core.v1 import TolerationArgsDict

from components.render.common import tolerations
from models.core.names import LONGHORN_RELEASE
from models.plan.plan import PlannedRegion, PlatformPlan
from models.plan.storage.resolved import replicas, storage_pool
from models.settings.longhorn import LonghornSettings, VolumeUse
from models.settings.regions import POOL_LABEL, Taint

NAMESPACE: Final = "longhorn-system"
API: Final = "longhorn.io/v1beta2"
BACKUP: Final = "triplane"
"""Name of the backup target, of the recurring job and of its group of volumes. Not `default`:
that target is the chart's, and the group of that name takes every volume without a job."""

_POLL_INTERVAL: Final = "5m0s"
_STALE_REPLICA_MIN: Final = "30"
"""Minutes after which a copy in error is removed; what the chart's own class has."""


def values(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return the chart's values.

    LH-01: taints are tolerated in both forms, since the structured ones reach only the manager and
    the deployer, and the setting only what these start (engine images, CSI, instance managers).
    """
    taints = _taints(region)
    pods = {"tolerations": _structured(region)}
    found: dict[str, Any] = {
        # The classes are ours, one a use: the chart's would be everybody's default.
        "persistence": {"createStorageClass": False, "defaultClass": False},
        # A hook Job that Helm runs before an upgrade; the manager checks the path itself.
        "preUpgradeChecker": {"jobEnabled": False},
        "defaultSettings": _settings(plan, region, taints),
        "longhornManager": dict(pods),
        "longhornDriver": dict(pods),
        # Whoever reaches the user interface may delete volumes: it asks nobody who they are.
        "longhornUI": {"replicas": 0},
    }
    if plan.mirror.registry is not None:
        found["global"] = {"imageRegistry": plan.mirror.registry}
    return found


def _settings(plan: PlatformPlan, region: PlannedRegion, taints: list[Taint]) -> dict[str, Any]:
    options = region.settings.storage.longhorn
    return {
        "createDefaultDiskLabeledNodes": True,
        "defaultDataPath": options.data_path,
        "defaultReplicaCount": replicas(region),
        "defaultDataLocality": options.data_locality.value,
        "taintToleration": toleration_text(taints),
        # A lost node keeps an engine's pod, and with it the name of a StatefulSet's pod, forever.
        "nodeDownPodDeletionPolicy": "delete-both-statefulset-and-deployment-pod",
        # The default blocks a drain forever where a volume has one copy, as MinIO's drives have.
        "nodeDrainPolicy": "block-for-eviction-if-contains-last-replica",
        "rwxVolumeFastFailover": options.fast_failover,
        **_given_up(plan),
    }


def _given_up(plan: PlatformPlan) -> dict[str, bool]:
    """Return the setting without which Longhorn refuses to be uninstalled (longhorn#5187)."""
    return {"deletingConfirmationFlag": True} if LONGHORN_RELEASE in plan.accept_data_loss else {}


def _taints(region: PlannedRegion) -> list[Taint]:
    """Return the taints of all pools, each once: volumes are attached wherever engines run."""
    return list(dict.fromkeys(taint for pool in region.pools for taint in pool.settings.all_taints))


def _structured(region: PlannedRegion) -> list[TolerationArgsDict]:
    found: list[TolerationArgsDict] = []
    for pool in region.pools:
        found += [each for each in tolerations(pool) if each not in found]
    return found


def toleration_text(taints: Iterable[Taint]) -> str:
    """Return tolerations as Longhorn's settings write them: `key=value:effect`, by semicolons."""
    return ";".join(
        f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect.value}"
        for taint in taints
    )


class ClassSpec(TypedDict):
    """A StorageClass beside its name and provisioner; parameters are text throughout."""

    parameters: dict[str, str]
    reclaim_policy: str
    volume_binding_mode: str
    allow_volume_expansion: bool


def storage_class(region: PlannedRegion, use: VolumeUse) -> ClassSpec:
    """Return the class of one use.

    Weights and caches can be made again, so their volumes go with their claims. A tenant's drives
    stay (Retain): they are the only copy.
    """
    parameters = {
        "numberOfReplicas": str(replicas(region)),
        "staleReplicaTimeout": _STALE_REPLICA_MIN,
        "fsType": "ext4",
        "dataLocality": region.settings.storage.longhorn.data_locality.value,
    }
    if use is VolumeUse.MINIO:
        parameters |= _drives(region)
    else:
        parameters |= _shared(region)
    parameters |= _backed_up(region.settings.storage.longhorn, use)
    return {
        "parameters": parameters,
        "reclaim_policy": "Retain" if use is VolumeUse.MINIO else "Delete",
        # A drive lies where its server runs; a shared volume is asked for by no pod in particular.
        "volume_binding_mode": "WaitForFirstConsumer" if use is VolumeUse.MINIO else "Immediate",
        "allow_volume_expansion": True,
    }


def _drives(region: PlannedRegion) -> dict[str, str]:
    """Return what a drive has of its own: one local copy where MinIO keeps several itself."""
    minio = region.settings.storage.objects.minio
    alone = minio is None or sum(pool.drives for pool in minio.pools) == 1
    if alone:
        return {}
    return {"numberOfReplicas": "1", "dataLocality": "strict-local", "fsType": "xfs"}


def _shared(region: PlannedRegion) -> dict[str, str]:
    """Return where the NFS server of a shared volume runs: with the volumes, off GPUs and spot.

    LH-04: when its node goes, every pod on the volume hangs until it is back.
    """
    pool = storage_pool(region)
    found = {"shareManagerNodeSelector": f"{POOL_LABEL}:{pool.name}"}
    if pool.settings.all_taints:
        found["shareManagerTolerations"] = toleration_text(pool.settings.all_taints)
    options = region.settings.storage.longhorn.nfs_options
    if options is not None:
        found["nfsOptions"] = options
    return found


def _backed_up(options: LonghornSettings, use: VolumeUse) -> dict[str, str]:
    if options.backup is None or use not in options.backup.volumes:
        return {}
    return {
        "backupTargetName": BACKUP,
        "recurringJobSelector": f'[{{"name":"{BACKUP}","isGroup":true}}]',
    }


class BackupTargetSpec(TypedDict):
    """Where backups go."""

    backupTargetURL: str
    credentialSecret: str
    pollInterval: str


def backup_target(region: PlannedRegion) -> BackupTargetSpec | None:
    """Return the backup target; None where nothing is backed up."""
    storage = region.settings.storage
    backup = storage.longhorn.backup
    if backup is None:
        return None
    bucket = backup.bucket or storage.objects.bucket
    where = backup.region or storage.objects.region
    return {
        "backupTargetURL": f"s3://{bucket}@{where}/{backup.prefix}",
        "credentialSecret": backup.secret,
        "pollInterval": _POLL_INTERVAL,
    }


class RecurringJobSpec(TypedDict):
    """A job that Longhorn runs over a group of volumes."""

    name: str
    task: str
    cron: str
    retain: int
    concurrency: int
    groups: list[str]
    labels: dict[str, str]


def recurring_job(region: PlannedRegion) -> RecurringJobSpec | None:
    """Return the job that backs volumes up; None where nothing is backed up."""
    backup = region.settings.storage.longhorn.backup
    if backup is None:
        return None
    return {
        "name": BACKUP,
        "task": "backup",
        "cron": backup.schedule,
        "retain": backup.retain,
        "concurrency": backup.concurrency,
        "groups": [BACKUP],
        "labels": {},
    }


def uses(region: PlannedRegion) -> tuple[VolumeUse, ...]:
    """Return the uses that a region has a class for."""
    tenant = region.settings.storage.objects.minio is not None
    return (VolumeUse.MODELS, VolumeUse.CACHE, *((VolumeUse.MINIO,) if tenant else ()))
