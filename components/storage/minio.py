"""`Minio`: a tenant of the MinIO operator that keeps the region's weights.

The operator's chart is in `models/plan/operators.py`, or somebody else's.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pulumi
from pulumi import CustomTimeouts, Input, Output, ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace, Secret
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget
from pulumi_kubernetes.storage.v1 import StorageClass

from components.core.custom import CustomObject
from components.core.guard import guarded
from components.render.cluster.namespaces import labels
from components.render.common import WAIT_FOR, metadata
from components.render.storage import minio as render
from components.render.storage.model_store import LOCAL_PATH_PROVISIONER
from components.secrets.store import SecretStore, SecretStoreArgs
from models.core.names import OBJECTS_NAMESPACE, TENANT, TENANT_CONFIG_SECRET, TENANT_LABEL
from models.plan.plan import PlannedRegion
from models.plan.storage.resolved import LOCAL_DRIVES_CLASS, storage_class
from models.settings.longhorn import VolumeUse


@dataclass(frozen=True, kw_only=True, slots=True)
class MinioArgs:
    """The region with a tenant, and the store's keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.

    `credentials` is None where manifests are only rendered. `accepted` are the objects whose data
    may be lost in this change; `registry` is the image mirror.
    """

    region: PlannedRegion
    credentials: Mapping[str, Input[str]] | None
    accepted: Collection[str] = ()
    registry: str | None = None


class Minio(pulumi.ComponentResource):
    """Namespace, keys, tenant, disruption budget and who may talk to it."""

    tenant: CustomObject

    def __init__(self, name: str, args: MinioArgs, opts: ResourceOptions | None = None) -> None:
        """Register the tenant; it is done when its servers are healthy and its bucket exists."""
        super().__init__("triplane:storage:Minio", name, None, opts)
        space = Namespace(
            f"{name}-namespace",
            metadata=metadata(OBJECTS_NAMESPACE, labels=labels()),
            opts=ResourceOptions(parent=self),
        )
        inside = ResourceOptions(parent=self, depends_on=[space])
        NetworkPolicy(
            f"{name}-allow-clients",
            metadata=metadata("allow-clients", OBJECTS_NAMESPACE),
            spec=render.allow_clients(),
            opts=inside,
        )
        PodDisruptionBudget(
            f"{name}-budget",
            metadata=metadata(TENANT, OBJECTS_NAMESPACE),
            spec=render.disruption_budget(),
            opts=inside,
        )
        self.tenant = self._tenant(name, args, [space, *self._class(name, args)])
        self.register_outputs({"tenant": TENANT, "namespace": OBJECTS_NAMESPACE})

    def _class(self, name: str, args: MinioArgs) -> list[pulumi.Resource]:
        if storage_class(args.region, VolumeUse.MINIO) != LOCAL_DRIVES_CLASS:
            return []
        made = StorageClass(
            f"{name}-class",
            metadata=metadata(LOCAL_DRIVES_CLASS),
            provisioner=LOCAL_PATH_PROVISIONER,
            reclaim_policy="Retain",
            volume_binding_mode="Immediate",
            opts=ResourceOptions(parent=self),
        )
        return [made]

    def _tenant(self, name: str, args: MinioArgs, needed: list[pulumi.Resource]) -> CustomObject:
        if args.credentials is not None:
            keys = Output.all(
                args.credentials["AWS_ACCESS_KEY_ID"], args.credentials["AWS_SECRET_ACCESS_KEY"]
            )
            content = Output.secret(keys.apply(lambda both: render.config_env(both[0], both[1])))
            secret = Secret(
                f"{name}-config",
                metadata=metadata(TENANT_CONFIG_SECRET, OBJECTS_NAMESPACE),
                string_data={render.CONFIG_KEY: content},
                opts=ResourceOptions(parent=self, depends_on=needed),
            )
            needed = [*needed, secret]
        elif args.region.secrets_in(OBJECTS_NAMESPACE):
            store = SecretStore(
                f"{name}-secrets",
                SecretStoreArgs(region=args.region, namespace=OBJECTS_NAMESPACE),
                ResourceOptions(parent=self, depends_on=needed),
            )
            needed = [*needed, store]
        wait = f"{render.READY_TIMEOUT_SEC}s"
        return CustomObject(
            f"{name}-tenant",
            api_version=render.API,
            kind="Tenant",
            metadata=metadata(TENANT, OBJECTS_NAMESPACE, annotations={WAIT_FOR: render.READY}),
            spec=render.tenant(args.region, args.registry),
            opts=ResourceOptions(
                parent=self,
                depends_on=needed,
                # Its drives hold the weights, and nothing else does.
                protect=TENANT_LABEL not in args.accepted,
                custom_timeouts=CustomTimeouts(create=wait, update=wait),
                hooks=guarded(name, TENANT_LABEL, args.accepted),
            ),
        )
