"""A region's storage as the `Plan` component carries it, for policies to prove it again."""

from typing import TypedDict

from models.plan.plan import PlannedRegion
from models.plan.storage.resolved import pool_facts, replicas, storage_class, storage_pool
from models.settings.longhorn import VolumeUse
from models.settings.storage import VolumeBackend


class StoragePoolInputs(TypedDict):
    """A pool as storage sees it; `ami` is null where the stack does not make its nodes."""

    name: str
    capacityType: str
    ami: str | None


class TenantPoolInputs(TypedDict):
    """A MinIO pool; `volumeGib` is one drive's size (GiB)."""

    servers: int
    volumesPerServer: int
    volumeGib: int


class StorageInputs(TypedDict):
    """Volumes and object store of a region.

    `replicas` is what Longhorn keeps of each block, null without Longhorn; `pool` carries the
    volumes. `tenant` is empty where no tenant is made, and `tenantClass` null.
    """

    volumes: str
    volumeClass: str
    volumeGib: int
    pool: str
    pools: list[StoragePoolInputs]
    replicas: int | None
    objects: str
    tenant: list[TenantPoolInputs]
    tenantClass: str | None


def storage_inputs(region: PlannedRegion) -> StorageInputs:
    """Return a region's storage as policies see it."""
    storage = region.settings.storage
    minio = storage.objects.minio
    facts = [pool_facts(pool, made=region.eks is not None) for pool in region.pools]
    longhorn = storage.volumes is VolumeBackend.LONGHORN
    return {
        "volumes": storage.volumes.value,
        "volumeClass": storage_class(region, VolumeUse.MODELS),
        "volumeGib": region.volume_gib,
        "pool": storage_pool(region).name,
        "pools": [
            {"name": pool.name, "capacityType": pool.capacity, "ami": pool.ami} for pool in facts
        ],
        "replicas": replicas(region) if longhorn else None,
        "objects": storage.objects.kind.value,
        "tenant": [
            {
                "servers": pool.servers,
                "volumesPerServer": pool.volumes_per_server,
                "volumeGib": pool.volume_gib,
            }
            for pool in (() if minio is None else minio.pools)
        ],
        "tenantClass": None if minio is None else storage_class(region, VolumeUse.MINIO),
    }
