"""`CachePersistence`: a shared volume on which KV caches outlive their engines (`/cache/kv`)."""

from collections.abc import Collection
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import PersistentVolumeClaim

from components.core.guard import guarded
from components.render.common import metadata
from components.render.storage import model_store as render
from models.core.names import CACHE_CLAIM, CACHE_VOLUME, MODELS_NAMESPACE
from models.plan.plan import PlannedRegion


@dataclass(frozen=True, kw_only=True, slots=True)
class CachePersistenceArgs:
    """The region, and the volume's size (GiB); `accepted` as in the settings."""

    region: PlannedRegion
    size_gib: int
    accepted: Collection[str] = ()


class CachePersistence(pulumi.ComponentResource):
    """One claim for all engines of a region; each engine mounts a directory of its own in it.

    Every claim is protected until the settings give it up; one whose content can be made again too.
    """

    claim: PersistentVolumeClaim

    def __init__(
        self, name: str, args: CachePersistenceArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the claim."""
        super().__init__("triplane:storage:CachePersistence", name, None, opts)
        self.claim = PersistentVolumeClaim(
            f"{name}-claim",
            metadata=metadata(CACHE_VOLUME, MODELS_NAMESPACE),
            spec=render.cache_claim(args.region, args.size_gib),
            opts=ResourceOptions(
                parent=self,
                protect=CACHE_CLAIM not in args.accepted,
                hooks=guarded(name, CACHE_CLAIM, args.accepted),
            ),
        )
        self.register_outputs({"claim": CACHE_VOLUME})
