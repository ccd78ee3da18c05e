"""`Longhorn`: a class for each use of a volume, and recurring backups.

The chart itself is an operator (`models/plan/operators.py`), or somebody else's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.storage.v1 import StorageClass

from components.core.custom import CustomObject
from components.render.common import metadata
from components.render.storage import longhorn as render
from models.plan.plan import PlannedRegion
from models.plan.storage.resolved import storage_class
from models.settings.longhorn import PROVISIONER, VolumeUse


@dataclass(frozen=True, kw_only=True, slots=True)
class LonghornArgs:
    """The region whose volumes Longhorn keeps."""

    region: PlannedRegion


class Longhorn(pulumi.ComponentResource):
    """Classes by use, the backup target and the job that backs volumes up."""

    classes: Mapping[VolumeUse, StorageClass]

    def __init__(self, name: str, args: LonghornArgs, opts: ResourceOptions | None = None) -> None:
        """Register classes, and the backup where one is set."""
        super().__init__("triplane:storage:Longhorn", name, None, opts)
        child = ResourceOptions(parent=self)
        self.classes = {
            use: StorageClass(
                f"{name}-class-{use.value}",
                metadata=metadata(storage_class(args.region, use)),
                provisioner=PROVISIONER,
                opts=child,
                **render.storage_class(args.region, use),
            )
            for use in render.uses(args.region)
        }
        self._backup(name, args)
        classes = {use.value: storage_class(args.region, use) for use in self.classes}
        self.register_outputs({"classes": classes})

    def _backup(self, name: str, args: LonghornArgs) -> None:
        target, job = render.backup_target(args.region), render.recurring_job(args.region)
        if target is None or job is None:
            return
        made = CustomObject(
            f"{name}-backup-target",
            api_version=render.API,
            kind="BackupTarget",
            metadata=metadata(render.BACKUP, render.NAMESPACE),
            spec=target,
            opts=ResourceOptions(parent=self),
        )
        CustomObject(
            f"{name}-backup-job",
            api_version=render.API,
            kind="RecurringJob",
            metadata=metadata(render.BACKUP, render.NAMESPACE),
            spec=job,
            # Volumes of its group are backed up to the target from the first run on.
            opts=ResourceOptions(parent=self, depends_on=[made]),
        )
