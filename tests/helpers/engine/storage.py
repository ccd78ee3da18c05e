"""A stack with Longhorn and a MinIO tenant: its settings, changed one at a time."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.core.paths import PROJECT_ROOT
from sandbox.engine.stack import Change, SandboxStack
from sandbox.engine.workspace import Workspace
from sandbox.operators import charts
from tests.helpers.engine.stacks import objects, pulumi
from tests.helpers.plans.dev import bare, catalog

MODELS = ("-n", "triplane-models")
TENANT = "Tenant/triplane-objects/objects"
LONGHORN_CLAIM = "models-triplane-longhorn-models"
CLAIM = f"PersistentVolumeClaim/triplane-models/{LONGHORN_CLAIM}"
OTHER_CLAIM = "models-shared-nfs"
OTHER = f"PersistentVolumeClaim/triplane-models/{OTHER_CLAIM}"
LONGHORN = "Release/longhorn"
PINNED = catalog().charts["longhorn"].version
_MAJOR, _MINOR, _ = map(int, PINNED.split("."))
BEFORE = f"{_MAJOR}.{_MINOR - 1}.2"
AFTER = f"{_MAJOR}.{_MINOR + 1}.0"
"""One minor release before the pinned one, and one after: two after the former."""
KEYS = {"access_key_id": "objects-root", "secret_access_key": "planted-5d1c0f7a"}
Settings = dict[str, Any]


def storage(settings: Settings) -> Settings:
    return settings["regions"][0]["storage"]


def with_both(settings: Settings) -> None:
    """Longhorn with a backup, a MinIO tenant on it, unused revisions removed; all installed."""
    bare(settings)
    settings["operators"] = "managed"
    pools = [{"servers": 4, "volumes_per_server": 1, "volume_gib": 50}]
    storage(settings).update(
        volumes="longhorn",
        longhorn={"backup": {"secret": "backup-keys", "bucket": "backups"}},
        collect="revisions",
        capacity_gib=80,
        objects={
            "kind": "minio",
            "bucket": "models",
            "credentials": "config",
            "minio": {"pools": pools, "cpu": 1},
        },
    )


def changed(change: Callable[[Settings], None], *accepted: str) -> Change:
    """Return the settings with both, then changed, giving up what is named."""

    def both(settings: Settings) -> None:
        with_both(settings)
        settings["accept_data_loss"] = list(accepted)
        change(settings)

    return both


def as_before(settings: Settings) -> None:
    """Change nothing more."""


def sized(gib: int) -> Callable[[Settings], None]:
    def change(settings: Settings) -> None:
        storage(settings)["capacity_gib"] = gib

    return change


def servers(*counts: int) -> Callable[[Settings], None]:
    def change(settings: Settings) -> None:
        shape = {"volumes_per_server": 1, "volume_gib": 50}
        minio = storage(settings)["objects"]["minio"]
        minio["pools"] = [{"servers": count, **shape} for count in counts]

    return change


def elsewhere(settings: Settings) -> None:
    """Take the weights from another S3 store."""
    store = {"kind": "endpoint", "bucket": "models", "endpoint": "http://seaweed.objects.svc:8333"}
    storage(settings)["objects"] = store


def on_aws(settings: Settings) -> None:
    """Take the weights from AWS S3."""
    storage(settings)["objects"] = {"kind": "s3", "bucket": "models", "region": "eu-west-1"}


def another_class(settings: Settings) -> None:
    """Keep the weights on volumes of a class that exists, and take them from elsewhere."""
    elsewhere(settings)
    del storage(settings)["longhorn"]
    storage(settings).update(volumes="existing-class", storage_class="shared-nfs")


def given(stack: SandboxStack, change: Change, longhorn: str = PINNED) -> Workspace:
    """Return the stack's workspace with other settings, or with another Longhorn pinned."""
    workspace = replace(stack, change=change).start()
    name = "triplane:local-object-store"
    pulumi(workspace, "config", "set", "--secret", name, json.dumps(KEYS))
    if longhorn != PINNED:
        _pin(workspace, longhorn)
    return workspace


def _pin(workspace: Workspace, version: str) -> None:
    """Run a copy of the program whose catalog has another release of Longhorn's chart."""
    row = catalog().charts["longhorn"].model_copy(update={"version": version})
    charts.repository(charts={row.name: row})
    copy = workspace.home / f"longhorn-{version}"
    if not copy.exists():
        for part in ("models", "components", "catalog"):
            shutil.copytree(PROJECT_ROOT / part, copy / part)
        shutil.copy(PROJECT_ROOT / "__main__.py", copy)
        _edit(copy / "catalog" / "charts.yaml", f"version: {PINNED}", f"version: {version}")
    link = workspace.project / "program"
    link.unlink()
    link.symlink_to(copy, target_is_directory=True)


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))


def failing(workspace: Workspace, *arguments: str) -> str:
    """Run pulumi, which must fail; return all that it printed."""
    done = workspace.attempt(arguments, quiet=True)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def seeds(workspace: Workspace) -> dict[str, str]:
    """Return the endpoint that each finished seeding Job was told, by the Job's name."""
    found: dict[str, str] = {}
    for job in objects(workspace, "jobs", *MODELS):
        (container,) = job["spec"]["template"]["spec"]["containers"]
        told = {each["name"]: each.get("value", "") for each in container["env"]}
        if "TRIPLANE_SOURCE" in told:
            assert job["status"]["succeeded"] == 1
            found[job["metadata"]["name"]] = told.get("S3_ENDPOINT_URL", "AWS")
    return found


def claim(workspace: Workspace, name: str = LONGHORN_CLAIM) -> dict[str, Any]:
    """Return the only claim, which must be bound and have this name."""
    (found,) = objects(workspace, "pvc", *MODELS)
    assert found["metadata"]["name"] == name
    assert found["status"]["phase"] == "Bound"
    return found["spec"]


def longhorn_values(workspace: Workspace) -> str:
    """Return the values of Longhorn's chart, as Helm merged them."""
    space = ("-n", "longhorn-system")
    (found,) = objects(workspace, "configmap", "longhorn-values", *space)
    return str(found["data"]["values.yaml"])
