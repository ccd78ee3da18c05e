"""Manifests of a region's model store: class, claim, and the Job that seeds one revision."""

import hashlib
from typing import Final

from pulumi_kubernetes.batch.v1 import JobSpecArgsDict
from pulumi_kubernetes.core.v1 import (
    ContainerArgsDict,
    EnvVarArgsDict,
    PersistentVolumeClaimSpecArgsDict,
    PodSpecArgsDict,
)

from components.render.common import bounded, container_security, pod_security
from components.render.engine import node_selector, tolerations
from models.names import (
    MANAGED_BY,
    MODELS_MOUNT,
    MODELS_VOLUME,
    OBJECT_STORE_SECRET,
    SEED_ACCOUNT,
    SEED_PROGRAM,
    model_directory,
)
from models.plan import PlannedModel, PlannedRegion
from models.regions import Credentials, VolumeBackend

LOCAL_PATH_CLASS: Final = "triplane-local-path"
LOCAL_PATH_PROVISIONER: Final = "rancher.io/local-path"
SEED_FILE: Final = "seed.py"
_PROGRAM_MOUNT: Final = "/opt/triplane"
SEED_DEADLINE_SEC: Final = 6 * 3600
"""Hours for the largest checkpoints over a slow link; a Job without a deadline hangs for ever."""

_CONFIGURATION_ERROR: Final = 2
"""The program's exit code for input that no retry mends (docs/seeding.md)."""


def storage_class(region: PlannedRegion) -> str:
    """Return the class of the models' volume."""
    storage = region.settings.storage
    if storage.storage_class is not None:
        return storage.storage_class
    names = {VolumeBackend.LOCAL_PATH: LOCAL_PATH_CLASS, VolumeBackend.LONGHORN: "longhorn"}
    return names[storage.volumes]


def claim(region: PlannedRegion) -> PersistentVolumeClaimSpecArgsDict:
    """Return the claim that every engine of the region reads and every seeding Job writes."""
    return {
        "access_modes": ["ReadWriteMany"],
        "storage_class_name": storage_class(region),
        "volume_mode": "Filesystem",
        "resources": {"requests": {"storage": f"{region.volume_gib}Gi"}},
    }


def program_name(program: str) -> str:
    """Return the name of the ConfigMap with the seeding program: a new text has a new name."""
    return f"{SEED_PROGRAM}-{_digest(program)}"


def seed_name(model: PlannedModel, program: str) -> str:
    """Return the Job's name: it changes with what the Job would do, since a Job cannot change.

    The name carries a digest of model, revision and program.
    """
    text = f"{model.entry.repository}@{model.entry.revision}\n{program}"
    return f"seed-{model.name}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def seed_job(region: PlannedRegion, model: PlannedModel, program: str) -> JobSpecArgsDict:
    """Return the Job's spec. Bad configuration fails at once, everything else is retried."""
    return {
        "backoff_limit": 6,
        "active_deadline_seconds": SEED_DEADLINE_SEC,
        "completions": 1,
        "parallelism": 1,
        "pod_failure_policy": {
            "rules": [
                {
                    "action": "FailJob",
                    "on_exit_codes": {"operator": "In", "values": [_CONFIGURATION_ERROR]},
                },
                {
                    "action": "Ignore",
                    "on_pod_conditions": [{"type": "DisruptionTarget", "status": "True"}],
                },
            ]
        },
        "template": {
            "metadata": {
                "labels": {**MANAGED_BY, "app.kubernetes.io/name": SEED_PROGRAM},
            },
            "spec": _pod(region, model, program),
        },
    }


def _pod(region: PlannedRegion, model: PlannedModel, program: str) -> PodSpecArgsDict:
    return {
        "restart_policy": "Never",
        "service_account_name": SEED_ACCOUNT,
        "automount_service_account_token": False,
        "enable_service_links": False,
        "security_context": pod_security(),
        "node_selector": node_selector(region.seed_pool),
        "tolerations": tolerations(region.seed_pool),
        "containers": [_container(region, model)],
        "volumes": [
            {"name": "models", "persistent_volume_claim": {"claim_name": MODELS_VOLUME}},
            {
                "name": "program",
                "config_map": {"name": program_name(program), "default_mode": 0o444},
            },
            {"name": "tmp", "empty_dir": {"size_limit": "1Gi"}},
        ],
    }


def _container(region: PlannedRegion, model: PlannedModel) -> ContainerArgsDict:
    return {
        "name": SEED_PROGRAM,
        "image": region.seed_image.reference,
        "image_pull_policy": "IfNotPresent",
        "command": ["python3", f"{_PROGRAM_MOUNT}/{SEED_FILE}"],
        "env": _environment(region, model),
        "resources": bounded({"cpu": "2", "memory": "4Gi", "ephemeral-storage": "2Gi"}),
        "security_context": container_security(),
        "volume_mounts": [
            {"name": "models", "mount_path": MODELS_MOUNT},
            {"name": "program", "mount_path": _PROGRAM_MOUNT, "read_only": True},
            {"name": "tmp", "mount_path": "/tmp"},
        ],
    }


def _environment(region: PlannedRegion, model: PlannedModel) -> list[EnvVarArgsDict]:
    objects = region.settings.storage.objects
    source = f"s3://{objects.bucket}/{objects.prefix}{model.name}/{model.entry.revision}/"
    values = {
        "HOME": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRIPLANE_MODEL": model.name,
        "TRIPLANE_REVISION": model.entry.revision,
        "TRIPLANE_SOURCE": source,
        "TRIPLANE_TARGET": model_directory(model.name),
        "AWS_REGION": objects.region,
    }
    if objects.endpoint is not None:
        values["S3_ENDPOINT_URL"] = objects.endpoint
    environment: list[EnvVarArgsDict] = [
        {"name": name, "value": value} for name, value in values.items()
    ]
    if objects.credentials is Credentials.CONFIG:
        environment += [_secret(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    return environment


def _secret(name: str) -> EnvVarArgsDict:
    return {
        "name": name,
        "value_from": {"secret_key_ref": {"name": OBJECT_STORE_SECRET, "key": name}},
    }
