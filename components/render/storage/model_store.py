"""Manifests of a region's model store: claims, and the Jobs that seed and collect revisions.

What the Jobs run is the program of `catalog/programs/seed` (docs/seeding.md).
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from pulumi_kubernetes.batch.v1 import JobSpecArgsDict, PodFailurePolicyArgsDict
from pulumi_kubernetes.core.v1 import (
    ContainerArgsDict,
    EnvVarArgsDict,
    KeyToPathArgsDict,
    PersistentVolumeClaimSpecArgsDict,
    PodSpecArgsDict,
    VolumeArgsDict,
    VolumeMountArgsDict,
)

from components.render.common import (
    bounded,
    container_security,
    node_selector,
    pod_security,
    tolerations,
)
from models.core.names import (
    CACHE_MOUNT,
    CACHE_VOLUME,
    MANAGED_BY,
    MODELS_MOUNT,
    OBJECT_STORE_SECRET,
    SEED_ACCOUNT,
    SEED_PROGRAM,
    model_directory,
    models_claim,
)
from models.facts.mirroring import mirrored_image
from models.plan.object_store import S3Store, store_of
from models.plan.plan import PlannedModel, PlannedRegion
from models.plan.storage.resolved import storage_class
from models.settings.longhorn import VolumeUse
from models.settings.storage import Collect, Credentials

LOCAL_PATH_PROVISIONER: Final = "rancher.io/local-path"
PROGRAM: Final = "catalog.programs.seed"
"""The program's package; in the pod it has the same name as in this project."""

_PYTHON_PATH: Final = "/opt/triplane"
_PROGRAM_MOUNT: Final = f"{_PYTHON_PATH}/{PROGRAM.replace('.', '/')}"
_CA_MOUNT: Final = "/etc/triplane/ca"
_CA_KEY: Final = "ca.crt"
SEED_DEADLINE_SEC: Final = 6 * 3600
"""Hours for the largest checkpoints over a slow link; a Job without a deadline hangs forever."""

COLLECT_DEADLINE_SEC: Final = 1800

_CONFIGURATION_ERROR: Final = 2
"""The program's exit code for input that no retry fixes (docs/seeding.md)."""


def claim_name(region: PlannedRegion) -> str:
    """Return the name of the claim with the region's weights."""
    return models_claim(storage_class(region, VolumeUse.MODELS))


def claim(region: PlannedRegion) -> PersistentVolumeClaimSpecArgsDict:
    """Return the claim that every engine of the region reads and every seeding Job writes."""
    return _shared(storage_class(region, VolumeUse.MODELS), region.volume_gib)


def cache_claim(region: PlannedRegion, size_gib: int) -> PersistentVolumeClaimSpecArgsDict:
    """Return the claim of the region's KV caches."""
    return _shared(storage_class(region, VolumeUse.CACHE), size_gib)


def _shared(name: str, size_gib: int) -> PersistentVolumeClaimSpecArgsDict:
    return {
        "access_modes": ["ReadWriteMany"],
        "storage_class_name": name,
        "volume_mode": "Filesystem",
        "resources": {"requests": {"storage": f"{size_gib}Gi"}},
    }


def cache_volume() -> VolumeArgsDict:
    """Return the volume with the region's KV caches, for an engine's pod."""
    return {"name": CACHE_VOLUME, "persistent_volume_claim": {"claim_name": CACHE_VOLUME}}


def cache_mount(model: str) -> VolumeMountArgsDict:
    """Return an engine's mount: a directory of the model's own, since keys are no model's name."""
    return {"name": CACHE_VOLUME, "mount_path": CACHE_MOUNT, "sub_path": model}


def program_name(program: Mapping[str, str]) -> str:
    """Return the name of the ConfigMap with the seeding program: a new text has a new name."""
    return f"{SEED_PROGRAM}-{_digest(_text(program))}"


def seed_name(model: PlannedModel, program: Mapping[str, str]) -> str:
    """Return the Job's name: it changes with what the Job would do, since a Job cannot change.

    The name carries a digest of model, revision, volume and program.
    """
    text = f"{model.entry.repository}@{model.entry.revision} {model.claim}\n{_text(program)}"
    return f"seed-{model.name}-{_digest(text)}"


def collect_name(region: PlannedRegion, program: Mapping[str, str]) -> str:
    """Return the collecting Job's name: it runs again when what is kept changes."""
    kind = region.settings.storage.collect.value
    text = f"{kind} {_kept(region)} {claim_name(region)}{_text(program)}"
    return f"collect-{_digest(text)}"


def _text(program: Mapping[str, str]) -> str:
    return json.dumps(program, sort_keys=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def seed_job(
    region: PlannedRegion, model: PlannedModel, program: Mapping[str, str], registry: str | None
) -> JobSpecArgsDict:
    """Return the Job's spec. Bad configuration fails at once, everything else is retried."""
    store = store_of(region.settings.storage.objects)
    container: ContainerArgsDict = {
        **_container(region, registry, store.ca_secret),
        "command": ["python3", "-m", PROGRAM],
        "env": _variables(_seeding(store, model)) + _keys(store),
        "resources": bounded({"cpu": "2", "memory": "4Gi", "ephemeral-storage": "2Gi"}),
    }
    pod = _pod(region, program, container, store.ca_secret)
    return _job(pod, deadline_sec=SEED_DEADLINE_SEC, retries=6)


def collect_job(
    region: PlannedRegion, program: Mapping[str, str], registry: str | None
) -> JobSpecArgsDict | None:
    """Return the Job that removes what no engine names; None where nothing is to be removed."""
    kind = region.settings.storage.collect
    if kind is Collect.OFF:
        return None
    named = {
        "TRIPLANE_ROOT": MODELS_MOUNT,
        "TRIPLANE_COLLECT": kind.value,
        "TRIPLANE_KEEP": _kept(region),
    }
    container: ContainerArgsDict = {
        **_container(region, registry, None),
        "command": ["python3", "-m", PROGRAM, "collect"],
        "env": _variables(named),
        "resources": bounded({"cpu": "500m", "memory": "512Mi", "ephemeral-storage": "1Gi"}),
    }
    pod = _pod(region, program, container, None)
    return _job(pod, deadline_sec=COLLECT_DEADLINE_SEC, retries=3)


def _kept(region: PlannedRegion) -> str:
    """Return the revisions that the region's engines name, as the program reads them."""
    kept: dict[str, list[str]] = {}
    for model in region.models:
        kept.setdefault(model.name, []).append(model.entry.revision)
    return json.dumps(kept, sort_keys=True)


def _job(pod: PodSpecArgsDict, *, deadline_sec: int, retries: int) -> JobSpecArgsDict:
    failures: PodFailurePolicyArgsDict = {
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
    }
    return {
        "backoff_limit": retries,
        "active_deadline_seconds": deadline_sec,
        "completions": 1,
        "parallelism": 1,
        "pod_failure_policy": failures,
        "template": {
            "metadata": {"labels": {**MANAGED_BY, "app.kubernetes.io/name": SEED_PROGRAM}},
            "spec": pod,
        },
    }


def _pod(
    region: PlannedRegion,
    program: Mapping[str, str],
    container: ContainerArgsDict,
    ca_secret: str | None,
) -> PodSpecArgsDict:
    authority: list[VolumeArgsDict] = []
    if ca_secret is not None:
        items: list[KeyToPathArgsDict] = [{"key": _CA_KEY, "path": _CA_KEY}]
        authority = [{"name": "ca", "secret": {"secret_name": ca_secret, "items": items}}]
    return {
        "restart_policy": "Never",
        "service_account_name": SEED_ACCOUNT,
        "automount_service_account_token": False,
        "enable_service_links": False,
        "security_context": pod_security(),
        "node_selector": node_selector(region.seed_pool),
        "tolerations": tolerations(region.seed_pool),
        "containers": [container],
        "volumes": [
            {"name": "models", "persistent_volume_claim": {"claim_name": claim_name(region)}},
            {
                "name": "program",
                "config_map": {"name": program_name(program), "default_mode": 0o444},
            },
            {"name": "tmp", "empty_dir": {"size_limit": "1Gi"}},
            *authority,
        ],
    }


def _container(
    region: PlannedRegion, registry: str | None, ca_secret: str | None
) -> ContainerArgsDict:
    authority: list[VolumeMountArgsDict] = []
    if ca_secret is not None:
        authority = [{"name": "ca", "mount_path": _CA_MOUNT, "read_only": True}]
    return {
        "name": SEED_PROGRAM,
        "image": mirrored_image(region.seed_image, registry).reference,
        "image_pull_policy": "IfNotPresent",
        "security_context": container_security(),
        "volume_mounts": [
            {"name": "models", "mount_path": MODELS_MOUNT},
            {"name": "program", "mount_path": _PROGRAM_MOUNT, "read_only": True},
            {"name": "tmp", "mount_path": "/tmp"},
            *authority,
        ],
    }


def _variables(values: Mapping[str, str]) -> list[EnvVarArgsDict]:
    common = {"HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": _PYTHON_PATH}
    return [{"name": name, "value": value} for name, value in (common | dict(values)).items()]


def _seeding(store: S3Store, model: PlannedModel) -> dict[str, str]:
    values = {
        "TRIPLANE_MODEL": model.name,
        "TRIPLANE_REVISION": model.entry.revision,
        "TRIPLANE_SOURCE": store.source(model.name, model.entry.revision),
        "TRIPLANE_TARGET": model_directory(model.name),
        "AWS_REGION": store.region,
        "S3_ADDRESSING_STYLE": "path" if store.path_style else "auto",
    }
    if store.endpoint is not None:
        values["S3_ENDPOINT_URL"] = store.endpoint
    if store.require_checksums:
        values["TRIPLANE_REQUIRE"] = "checksum"
    if store.ca_secret is not None:
        values["AWS_CA_BUNDLE"] = f"{_CA_MOUNT}/{_CA_KEY}"
    return values


def _keys(store: S3Store) -> list[EnvVarArgsDict]:
    if store.credentials is Credentials.POD_IDENTITY:
        return []
    return [_secret(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]


def _secret(name: str) -> EnvVarArgsDict:
    return {
        "name": name,
        "value_from": {"secret_key_ref": {"name": OBJECT_STORE_SECRET, "key": name}},
    }
