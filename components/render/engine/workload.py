"""Manifests of one model's engine: StatefulSet, Service, disruption budget."""

from typing import Final

from pulumi_kubernetes.apps.v1 import StatefulSetSpecArgsDict
from pulumi_kubernetes.core.v1 import (
    ContainerArgsDict,
    EnvVarArgsDict,
    PodSpecArgsDict,
    ProbeArgsDict,
    ServiceSpecArgsDict,
    TopologySpreadConstraintArgsDict,
    VolumeArgsDict,
    VolumeMountArgsDict,
)
from pulumi_kubernetes.policy.v1 import PodDisruptionBudgetSpecArgsDict

from components.render.common import (
    bounded,
    container_security,
    node_selector,
    pod_security,
    tolerations,
)
from models.core.names import (
    ENGINE_ACCOUNT,
    MANAGED_BY,
    MODELS_MOUNT,
    engine_labels,
)
from models.plan.plan import PlannedModel
from models.plan.sizing import PROBE_PERIOD_SEC

CONTAINER: Final = "vllm"
PORT_NAME: Final = "http"
_CACHE: Final = "/cache"
_DRAIN_SEC: Final = 15
"""Endpoints take seconds to leave the gateway; until then a terminating pod still gets requests."""

_GRACE_SEC: Final = 330
"""Streams in flight may finish: the engine's own drain (300 s), the pre-stop wait and a margin."""


def annotations(model: PlannedModel) -> dict[str, str]:
    """Return what identifies the weights and the engine that a pod runs, and its start-up time.

    Policies hold the start-up probe and the wait of an update against that time.
    """
    card = model.pool.accelerator
    return {
        **({} if card is None else {"triplane.dev/accelerator": card.name}),
        "triplane.dev/model": model.entry.repository,
        "triplane.dev/model-revision": model.entry.revision,
        "triplane.dev/engine-version": model.contract.version,
        "triplane.dev/startup-seconds": str(model.startup_sec),
    }


def stateful_set(model: PlannedModel) -> StatefulSetSpecArgsDict:
    """Return the StatefulSet's spec.

    `replicas` is absent where an autoscaler owns it: applying a count would end loaded replicas.
    All pods start together (Parallel), since each takes minutes to load and none needs another.
    """
    selector = engine_labels(model.name)
    spec: StatefulSetSpecArgsDict = {
        "service_name": model.name,
        "pod_management_policy": "Parallel",
        "update_strategy": {"type": "RollingUpdate", "rolling_update": {"partition": 0}},
        "persistent_volume_claim_retention_policy": {
            "when_deleted": "Retain",
            "when_scaled": "Retain",
        },
        "revision_history_limit": 5,
        "selector": {"match_labels": selector},
        "template": {
            "metadata": {
                "labels": {**MANAGED_BY, **selector},
                "annotations": annotations(model),
            },
            "spec": _pod(model),
        },
    }
    if not model.autoscaled:
        spec["replicas"] = model.replicas_min
    return spec


def _pod(model: PlannedModel) -> PodSpecArgsDict:
    return {
        "service_account_name": ENGINE_ACCOUNT,
        "automount_service_account_token": False,
        # A Service named like a variable of the engine would set it (VLLM_PORT=tcp://...).
        "enable_service_links": False,
        "security_context": pod_security(),
        "termination_grace_period_seconds": _GRACE_SEC,
        "node_selector": node_selector(model.pool),
        "tolerations": tolerations(model.pool),
        "topology_spread_constraints": [_spread(model)],
        "containers": [_container(model)],
        "volumes": _volumes(model),
    }


def _spread(model: PlannedModel) -> TopologySpreadConstraintArgsDict:
    """Spread replicas over nodes where possible: one node's loss shall not take all of them."""
    return {
        "max_skew": 1,
        "topology_key": "kubernetes.io/hostname",
        "when_unsatisfiable": "ScheduleAnyway",
        "label_selector": {"match_labels": engine_labels(model.name)},
    }


def _container(model: PlannedModel) -> ContainerArgsDict:
    resources = model.resources
    return {
        "name": CONTAINER,
        "image": model.contract.image.reference,
        "image_pull_policy": "IfNotPresent",
        "command": list(model.contract.command),
        "args": list(model.command),
        "env": _environment(),
        "ports": [
            {"name": PORT_NAME, "container_port": model.contract.port, "protocol": "TCP"},
        ],
        "resources": bounded(
            {
                "cpu": str(resources.cpu),
                "memory": f"{resources.memory_gib}Gi",
                "ephemeral-storage": f"{resources.scratch_gib}Gi",
                model.pool.gpu_resource: str(resources.gpus),
            }
        ),
        "startup_probe": _probe(
            model, failures=model.startup_sec // PROBE_PERIOD_SEC, period=PROBE_PERIOD_SEC
        ),
        "readiness_probe": _probe(model, failures=3, period=10),
        # No initial delay: the start-up probe holds liveness back. Two minutes of silence, since
        # a compiling or saturated engine misses checks without being dead.
        "liveness_probe": _probe(model, failures=6, period=20),
        "lifecycle": {"pre_stop": {"sleep": {"seconds": _DRAIN_SEC}}},
        "security_context": container_security(),
        "volume_mounts": _mounts(),
    }


def _probe(model: PlannedModel, *, failures: int, period: int) -> ProbeArgsDict:
    return {
        "http_get": {"path": model.contract.endpoints.health, "port": PORT_NAME},
        "period_seconds": period,
        "timeout_seconds": 10,
        "failure_threshold": failures,
    }


def _environment() -> list[EnvVarArgsDict]:
    """Return variables that keep every cache on the writable volume and the engine offline.

    A non-root user without a home cannot compile: Triton, Inductor and the rest write below HOME.
    """
    values = {
        "HOME": _CACHE,
        "USER": "engine",
        "XDG_CACHE_HOME": f"{_CACHE}/xdg",
        "XDG_CONFIG_HOME": f"{_CACHE}/config",
        "VLLM_CACHE_ROOT": f"{_CACHE}/vllm",
        "TRITON_CACHE_DIR": f"{_CACHE}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{_CACHE}/inductor",
        "HF_HOME": f"{_CACHE}/huggingface",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def _mounts() -> list[VolumeMountArgsDict]:
    return [
        {"name": "models", "mount_path": MODELS_MOUNT, "read_only": True},
        {"name": "shm", "mount_path": "/dev/shm"},
        {"name": "cache", "mount_path": _CACHE},
        {"name": "tmp", "mount_path": "/tmp"},
    ]


def _volumes(model: PlannedModel) -> list[VolumeArgsDict]:
    resources = model.resources
    return [
        {
            "name": "models",
            "persistent_volume_claim": {"claim_name": model.claim, "read_only": True},
        },
        {
            "name": "shm",
            "empty_dir": {"medium": "Memory", "size_limit": f"{resources.shm_gib}Gi"},
        },
        {"name": "cache", "empty_dir": {"size_limit": f"{resources.scratch_gib - 4}Gi"}},
        {"name": "tmp", "empty_dir": {"size_limit": "2Gi"}},
    ]


def service(model: PlannedModel) -> ServiceSpecArgsDict:
    """Return the headless Service.

    Its name resolves to the ready pods, so that the gateway balances over replicas itself.
    """
    return {
        "cluster_ip": "None",
        "selector": engine_labels(model.name),
        "ports": [
            {
                "name": PORT_NAME,
                "port": model.contract.port,
                "target_port": PORT_NAME,
                "protocol": "TCP",
            }
        ],
    }


def disruption_budget(model: PlannedModel) -> PodDisruptionBudgetSpecArgsDict:
    """Return a budget of one pod at a time; a fixed minimum would block drains of one replica."""
    return {
        "max_unavailable": 1,
        "selector": {"match_labels": engine_labels(model.name)},
        "unhealthy_pod_eviction_policy": "AlwaysAllow",
    }
