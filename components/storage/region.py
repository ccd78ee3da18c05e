"""The storage of a region, in wave -2: classes, the tenant, the models' volume, seeded.

And, once the engines run, what removes revisions that none of them names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import Input

from components.core.waves import Wave, Waves
from components.storage.longhorn import Longhorn, LonghornArgs
from components.storage.minio import Minio, MinioArgs
from components.storage.model_collection import ModelCollection, ModelCollectionArgs
from components.storage.model_store import ModelStore, ModelStoreArgs
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.storage import Collect, ObjectStoreKind, VolumeBackend


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageArgs:
    """A region, the seeding program's files by name, and the object store's keys (secret)."""

    plan: PlatformPlan
    region: PlannedRegion
    program: Mapping[str, str]
    credentials: Mapping[str, Input[str]] | None


def register_storage(name: str, args: StorageArgs, waves: Waves) -> None:
    """Register wave -2: classes, then the tenant on them, then the volume seeded from it."""
    accepted, registry = args.plan.accept_data_loss, args.plan.mirror.registry
    storage = args.region.settings.storage
    before: list[pulumi.Resource] = []
    if storage.volumes is VolumeBackend.LONGHORN:
        before.append(
            Longhorn(
                f"{name}-longhorn",
                LonghornArgs(region=args.region),
                waves.options(Wave.STORAGE),
            )
        )
    if storage.objects.kind is ObjectStoreKind.MINIO:
        tenant = MinioArgs(
            region=args.region,
            credentials=args.credentials,
            accepted=accepted,
            registry=registry,
        )
        before.append(Minio(f"{name}-minio", tenant, waves.options(Wave.STORAGE, after=before)))
    store = ModelStore(
        f"{name}-store",
        ModelStoreArgs(
            region=args.region,
            program=args.program,
            credentials=args.credentials,
            accepted=accepted,
            registry=registry,
        ),
        waves.options(Wave.STORAGE, after=before),
    )
    waves.add(Wave.STORAGE, *before, store)


def register_collection(name: str, args: StorageArgs, waves: Waves) -> None:
    """Register what removes unused revisions; it waits for every engine, and nothing for it."""
    if args.region.settings.storage.collect is Collect.OFF:
        return
    ModelCollection(
        f"{name}-collection",
        ModelCollectionArgs(
            region=args.region, program=args.program, registry=args.plan.mirror.registry
        ),
        waves.options(Wave.EXPOSURE),
    )
