"""`ModelStore`: the volume that every engine of a region reads, and the Jobs that seed it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pulumi
from pulumi import CustomTimeouts, Input, ResourceOptions
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap, PersistentVolumeClaim, Secret
from pulumi_kubernetes.storage.v1 import StorageClass

from components.core.guard import guarded
from components.render.common import metadata
from components.render.storage import model_store as render
from models.core.names import MODELS_NAMESPACE, OBJECT_STORE_SECRET, claim_label
from models.plan.plan import PlannedRegion
from models.plan.storage.resolved import LOCAL_PATH_CLASS
from models.settings.storage import VolumeBackend


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelStoreArgs:
    """What to seed, with what.

    `program` is the seeding program's files by name; `credentials` the object store's keys
    (secret), None where the pod's identity is enough or where manifests are only rendered.
    `accepted` are the objects whose data may be lost in this change; `registry` is the image
    mirror.
    """

    region: PlannedRegion
    program: Mapping[str, str]
    credentials: Mapping[str, Input[str]] | None
    accepted: Collection[str] = ()
    registry: str | None = None


class ModelStore(pulumi.ComponentResource):
    """A read-write-many claim and one seeding Job per model and revision."""

    claim: PersistentVolumeClaim
    seeds: Mapping[str, Job]

    def __init__(
        self, name: str, args: ModelStoreArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register class, claim, program, credentials and Jobs."""
        super().__init__("triplane:storage:ModelStore", name, None, opts)
        self.claim = self._claim(name, args)
        program = ConfigMap(
            f"{name}-program",
            metadata=metadata(render.program_name(args.program), MODELS_NAMESPACE),
            data=dict(args.program),
            immutable=True,
            opts=ResourceOptions(parent=self),
        )
        needed: list[pulumi.Resource] = [self.claim, program]
        if args.credentials is not None:
            needed.append(
                Secret(
                    f"{name}-object-store",
                    metadata=metadata(OBJECT_STORE_SECRET, MODELS_NAMESPACE),
                    string_data=dict(args.credentials),
                    opts=ResourceOptions(parent=self),
                )
            )
        deadline = CustomTimeouts(create=f"{render.SEED_DEADLINE_SEC}s")
        self.seeds = {
            model.name: Job(
                f"{name}-seed-{model.name}",
                metadata=metadata(render.seed_name(model, args.program), MODELS_NAMESPACE),
                spec=render.seed_job(args.region, model, args.program, args.registry),
                opts=ResourceOptions(
                    parent=self,
                    depends_on=needed,
                    custom_timeouts=deadline,
                ),
            )
            for model in args.region.models
        }
        seeds = {model.name: render.seed_name(model, args.program) for model in args.region.models}
        self.register_outputs({"claim": render.claim_name(args.region), "seeds": seeds})

    def _claim(self, name: str, args: ModelStoreArgs) -> PersistentVolumeClaim:
        needed: list[pulumi.Resource] = []
        storage = args.region.settings.storage
        if storage.volumes is VolumeBackend.LOCAL_PATH and storage.storage_class is None:
            needed.append(
                StorageClass(
                    f"{name}-class",
                    metadata=metadata(LOCAL_PATH_CLASS),
                    provisioner=render.LOCAL_PATH_PROVISIONER,
                    reclaim_policy="Delete",
                    volume_binding_mode="Immediate",
                    opts=ResourceOptions(parent=self),
                )
            )
        label = claim_label(render.claim_name(args.region))
        return PersistentVolumeClaim(
            f"{name}-models",
            metadata=metadata(render.claim_name(args.region), MODELS_NAMESPACE),
            spec=render.claim(args.region),
            # Replacing it loses every seeded revision; the approval stands in the settings.
            opts=ResourceOptions(
                parent=self,
                depends_on=needed,
                protect=label not in args.accepted,
                hooks=guarded(name, label, args.accepted),
            ),
        )
