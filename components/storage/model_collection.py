"""`ModelCollection`: removes revisions from the models' volume that no engine names any more."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import CustomTimeouts, ResourceOptions
from pulumi_kubernetes.batch.v1 import Job

from components.render.common import metadata
from components.render.storage import model_store as render
from models.core.names import MODELS_NAMESPACE
from models.plan.plan import PlannedRegion


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCollectionArgs:
    """The region, the program's files by name, and the image mirror."""

    region: PlannedRegion
    program: Mapping[str, str]
    registry: str | None = None


class ModelCollection(pulumi.ComponentResource):
    """A Job for each set of revisions in use; none where the settings keep everything.

    Registered after the engines: only when all of them run their revision is another one unused.
    """

    job: Job | None

    def __init__(
        self, name: str, args: ModelCollectionArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the Job, if there is anything to remove."""
        super().__init__("triplane:storage:ModelCollection", name, None, opts)
        spec = render.collect_job(args.region, args.program, args.registry)
        self.job = None
        if spec is not None:
            deadline = CustomTimeouts(create=f"{render.COLLECT_DEADLINE_SEC}s")
            self.job = Job(
                f"{name}-job",
                metadata=metadata(render.collect_name(args.region, args.program), MODELS_NAMESPACE),
                spec=spec,
                opts=ResourceOptions(parent=self, custom_timeouts=deadline),
            )
        job = None if self.job is None else render.collect_name(args.region, args.program)
        self.register_outputs({"job": job})
