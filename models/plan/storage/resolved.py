"""A region's storage, resolved: which nodes carry volumes, how many copies, which classes."""

from collections.abc import Sequence
from typing import Final

from models.engine.profiles import Environment
from models.plan.plan import PlannedPool, PlannedRegion
from models.plan.storage.proofs import PoolFacts, StorageFacts, storage_index
from models.settings.longhorn import STORAGE_LABEL, VolumeUse, replica_count
from models.settings.regions import RegionSettings
from models.settings.storage import Storage, VolumeBackend

LOCAL_PATH_CLASS: Final = "triplane-local-path"
LOCAL_DRIVES_CLASS: Final = "triplane-local-drives"
_LONGHORN_CLASS: Final = "triplane-longhorn"
_PARITY: Final = ((8, 4), (6, 3), (4, 2))
"""Parity drives of a set by its size, MinIO's defaults: 4 from 8 drives on, 3 from 6, 2 from 4."""


def storage_facts(
    region: RegionSettings, pools: Sequence[PlannedPool], environment: Environment
) -> StorageFacts:
    """Return what `storage_problems` judges."""
    storage = region.storage
    minio = storage.objects.minio
    made = region.cluster.kind == "eks"
    return StorageFacts(
        region=region.name,
        environment=environment.value,
        volumes=storage.volumes.value,
        pools=tuple(pool_facts(pool, made=made) for pool in pools),
        replicas=storage.longhorn.replicas,
        tenant=()
        if minio is None
        else tuple((pool.servers, pool.volumes_per_server) for pool in minio.pools),
        tenant_class=None if minio is None else minio.storage_class,
    )


def pool_facts(pool: PlannedPool, *, made: bool) -> PoolFacts:
    """Return what storage needs to know of a pool; `made`: the stack makes its nodes."""
    return PoolFacts(
        name=pool.name,
        gpus=pool.shape.gpus,
        min=pool.settings.min,
        capacity=pool.settings.capacity_type.value,
        ami=pool.settings.ami.value if made else None,
    )


def storage_pool(region: PlannedRegion) -> PlannedPool:
    """Return the pool whose nodes carry volumes and the tenant's servers."""
    made = region.eks is not None
    index = storage_index([pool_facts(pool, made=made) for pool in region.pools])
    return region.seed_pool if index is None else region.pools[index]


def replicas(region: PlannedRegion) -> int:
    """Return the copies that Longhorn keeps of each block, never more than there are nodes."""
    return replica_count(region.settings.storage.longhorn, storage_pool(region).settings.min)


def storage_class(region: PlannedRegion, use: VolumeUse) -> str:
    """Return the class of a volume by what it is for."""
    return class_of(region.settings.storage, use)


def class_of(storage: Storage, use: VolumeUse) -> str:
    """Return the class that settings give a volume by what it is for."""
    if use is VolumeUse.MINIO and storage.objects.minio is not None:
        named = storage.objects.minio.storage_class
        if named is not None:
            return named
    if storage.volumes is VolumeBackend.LONGHORN:
        return f"{_LONGHORN_CLASS}-{use.value}"
    if storage.volumes is VolumeBackend.LOCAL_PATH and use is VolumeUse.MINIO:
        return LOCAL_DRIVES_CLASS
    return storage.storage_class or LOCAL_PATH_CLASS


def usable_gib(servers: int, volumes_per_server: int, volume_gib: int, set_size: int | None) -> int:
    """Return what a pool holds beside its parity (GiB); all of it without erasure sets."""
    drives = servers * volumes_per_server
    if set_size is None:
        return drives * volume_gib
    parity = next(parity for size, parity in _PARITY if set_size >= size)
    return drives * volume_gib * (set_size - parity) // set_size


def storage_labels(region: PlannedRegion, pool: PlannedPool) -> dict[str, str]:
    """Return the labels by which a pool's nodes carry Longhorn's disks; none on other pools."""
    if region.settings.storage.volumes is not VolumeBackend.LONGHORN:
        return {}
    return dict(STORAGE_LABEL) if storage_pool(region).name == pool.name else {}
