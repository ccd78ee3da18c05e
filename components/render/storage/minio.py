"""MinIO: the operator's chart values, and the tenant with what surrounds it.

Fields: minio/operator@v7.1.1, helm/operator/values.yaml, pkg/apis/minio.min.io/v2 and
pkg/resources/statefulsets.
"""

import re
from typing import Any, Final, NotRequired, TypedDict

from pulumi_kubernetes.core.v1 import ResourceRequirementsArgsDict, TolerationArgsDict
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicyIngressRuleArgsDict,
    NetworkPolicySpecArgsDict,
)
from pulumi_kubernetes.policy.v1 import PodDisruptionBudgetSpecArgsDict

from components.render.common import USER_ID, bounded, tolerations
from models.core.names import MODELS_NAMESPACE, TENANT, TENANT_CONFIG_SECRET
from models.facts.mirroring import mirrored, mirrored_image
from models.plan.plan import PlannedPool, PlannedRegion, PlatformPlan
from models.plan.storage.resolved import storage_class, storage_pool
from models.settings.longhorn import VolumeUse
from models.settings.minio import SIDECAR_CPU, SIDECAR_MEMORY_GIB, MinioPool, MinioSettings
from models.settings.regions import POOL_LABEL

API: Final = "minio.min.io/v2"
OPERATOR_NAMESPACE: Final = "minio-operator"
CONFIG_KEY: Final = "config.env"
PORT: Final = 9000
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
_TENANT_LABEL: Final = "v1.min.io/tenant"
_POOL_LABEL: Final = "v1.min.io/pool"
_OPERATORS: Final = 2
"""Copies of the operator, which the chart keeps on nodes of their own."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9+/=_.~!@%^*()-]+")
"""What a key may consist of: config.env is read as shell assignments, by two readers."""


def operator_values(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return the operator chart's values: it runs beside the tenant, off GPU nodes."""
    pool = storage_pool(region)
    operator: dict[str, Any] = {
        "replicaCount": max(1, min(_OPERATORS, pool.settings.min)),
        "nodeSelector": {POOL_LABEL: pool.name},
        "tolerations": tolerations(pool),
    }
    registry = plan.mirror.registry
    if registry is not None:
        operator["image"] = {"repository": mirrored("quay.io/minio/operator", registry)}
        sidecar = mirrored("quay.io/minio/operator-sidecar", registry)
        # The chart reads a tag here only where a repository is given, and has no default for it.
        tag = plan.charts["minio-operator"].version
        operator["sidecarImage"] = {"repository": sidecar, "tag": f"v{tag.removeprefix('v')}"}
    return {"operator": operator}


def config_env(access_key: str, secret_key: str) -> str:
    """Return the content of the tenant's Secret.

    Raises `ValueError`, without any value, where MinIO would not take the keys or its readers
    would read something else.
    """
    for what, key, least in (
        ("access_key_id", access_key, 3),
        ("secret_access_key", secret_key, 8),
    ):
        if len(key) < least or not _PLAIN.fullmatch(key):
            message = (
                f"{what} of the object store must have at least {least} characters of "
                "A-Z a-z 0-9 + / = _ . ~ ! @ % ^ * ( ) - (it is not shown); set the stack setting "
                "<region>-object-store again"
            )
            raise ValueError(message)
    return f'export MINIO_ROOT_USER="{access_key}"\nexport MINIO_ROOT_PASSWORD="{secret_key}"\n'


class TenantPool(TypedDict):
    """One pool of a tenant."""

    name: str
    servers: int
    volumesPerServer: int
    volumeClaimTemplate: dict[str, Any]
    nodeSelector: dict[str, str]
    tolerations: list[TolerationArgsDict]
    affinity: dict[str, Any]
    resources: ResourceRequirementsArgsDict
    securityContext: dict[str, Any]
    containerSecurityContext: dict[str, Any]


class TenantSpec(TypedDict):
    """A tenant's spec, as far as we set it."""

    image: str
    imagePullPolicy: str
    configuration: dict[str, str]
    requestAutoCert: bool
    externalCertSecret: NotRequired[list[dict[str, str]]]
    podManagementPolicy: str
    features: dict[str, bool]
    buckets: list[dict[str, str]]
    sideCars: dict[str, Any]
    pools: list[TenantPool]


def tenant(region: PlannedRegion, registry: str | None) -> TenantSpec:
    """Return the tenant. Pools keep their names by their place: they only grow at the end."""
    objects = region.settings.storage.objects
    minio, image = objects.minio, region.tenant_image
    assert minio is not None, "a tenant is registered only where one is planned"
    assert image is not None, "resolved with the tenant"
    pool = storage_pool(region)
    spec: TenantSpec = {
        "image": mirrored_image(image, registry).reference,
        "imagePullPolicy": "IfNotPresent",
        "configuration": {"name": TENANT_CONFIG_SECRET},
        "requestAutoCert": False,
        "podManagementPolicy": "Parallel",
        "features": {"bucketDNS": False},
        "buckets": [{"name": objects.bucket}],
        # Also of the init container. With the server's own, the pod is Guaranteed.
        "sideCars": {"resources": _sidecar()},
        "pools": [
            _pool(region, minio, index, each, pool) for index, each in enumerate(minio.pools)
        ],
    }
    if minio.tls_secret is not None:
        spec["externalCertSecret"] = [{"name": minio.tls_secret, "type": "kubernetes.io/tls"}]
    return spec


def _pool(
    region: PlannedRegion, minio: MinioSettings, index: int, pool: MinioPool, nodes: PlannedPool
) -> TenantPool:
    name = f"pool-{index}"
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class(region, VolumeUse.MINIO),
        "resources": {"requests": {"storage": f"{pool.volume_gib}Gi"}},
    }
    return {
        "name": name,
        "servers": pool.servers,
        "volumesPerServer": pool.volumes_per_server,
        "volumeClaimTemplate": {"metadata": {"name": "data"}, "spec": claim},
        "nodeSelector": {POOL_LABEL: nodes.name},
        "tolerations": tolerations(nodes),
        "affinity": _apart(name, required=pool.servers <= nodes.settings.min),
        "resources": _resources(minio),
        "securityContext": {
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsNonRoot": True,
        },
        "containerSecurityContext": {
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _sidecar() -> ResourceRequirementsArgsDict:
    cpu, memory = round(SIDECAR_CPU * 1000), round(SIDECAR_MEMORY_GIB * 1024)
    return bounded({"cpu": f"{cpu}m", "memory": f"{memory}Mi"})


def _resources(minio: MinioSettings) -> ResourceRequirementsArgsDict:
    return bounded({"cpu": str(minio.cpu), "memory": f"{minio.memory_gib}Gi"})


def _apart(pool: str, *, required: bool) -> dict[str, Any]:
    """Return anti-affinity by node: a must where every server has a node for sure."""
    term = {
        "labelSelector": {"matchLabels": {_TENANT_LABEL: TENANT, _POOL_LABEL: pool}},
        "topologyKey": "kubernetes.io/hostname",
    }
    if required:
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def disruption_budget() -> PodDisruptionBudgetSpecArgsDict:
    """Return a budget by which one server at a time may be drained: a set bears the loss of two."""
    return {"max_unavailable": 1, "selector": {"match_labels": {_TENANT_LABEL: TENANT}}}


def allow_clients() -> NetworkPolicySpecArgsDict:
    """Return a policy by which seeding Jobs and the operator reach the API, and servers each other.

    The console (port 9090) is reached by nobody: it takes the root keys.
    """
    rules: list[NetworkPolicyIngressRuleArgsDict] = [
        {"from_": [{"pod_selector": {}}]},
        {
            "from_": [
                {"namespace_selector": {"match_labels": {_NAMESPACE_NAME: name}}}
                for name in (MODELS_NAMESPACE, OPERATOR_NAMESPACE)
            ],
            "ports": [{"protocol": "TCP", "port": PORT}],
        },
    ]
    return {"pod_selector": {}, "policy_types": ["Ingress"], "ingress": rules}


READY_TIMEOUT_SEC: Final = 900
"""How long servers may take to be pulled, to bind their drives and to form their sets."""

READY: Final = "jsonpath={.status.currentState}=Initialized"
"""What the operator says when servers are healthy and buckets exist (pkg/controller)."""
