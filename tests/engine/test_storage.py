"""Storage under the real engine: swapped by one setting each, changed, and refused where it loses.

The tests of this module share one stack and run in order.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from stack_lab import kubectl, names, objects, pulumi, urns

from sandbox.stack import CHECKED, UP, Change, SandboxStack
from sandbox.workspace import Workspace

pytestmark = pytest.mark.engine

MODELS = ("-n", "triplane-models")
TENANT = "Tenant/triplane-objects/objects"
LONGHORN_CLAIM = "models-triplane-longhorn-models"
CLAIM = f"PersistentVolumeClaim/triplane-models/{LONGHORN_CLAIM}"
OTHER_CLAIM = "models-shared-nfs"
KEYS = {"access_key_id": "objects-root", "secret_access_key": "planted-5d1c0f7a"}
Settings = dict[str, Any]


def storage(settings: Settings) -> Settings:
    return settings["regions"][0]["storage"]


def with_both(settings: Settings) -> None:
    """Longhorn with a backup, a MinIO tenant on it, unused revisions removed."""
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


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., SandboxStack]) -> SandboxStack:
    return make_stack(changed(as_before))


def given(stack: SandboxStack, change: Change) -> Workspace:
    """Return the stack's workspace with other settings."""
    workspace = replace(stack, change=change).start()
    name = "triplane:local-object-store"
    pulumi(workspace, "config", "set", "--secret", name, json.dumps(KEYS))
    return workspace


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


def test_longhorn_and_a_tenant_come_up(stack: SandboxStack) -> None:
    workspace = given(stack, changed(sized(60)))
    # Operators are somebody else's here, and so is the namespace that Longhorn lives in.
    kubectl(workspace, "create", "namespace", "longhorn-system")
    text = pulumi(workspace, "preview", *CHECKED)
    assert "mandatory" not in text
    pulumi(workspace, *UP)
    (tenant,) = objects(workspace, "tenants.minio.min.io", "-n", "triplane-objects")
    assert tenant["status"]["currentState"] == "Initialized"
    assert claim(workspace)["storageClassName"] == "triplane-longhorn-models"
    assert set(seeds(workspace).values()) == {"http://minio.triplane-objects.svc.cluster.local"}
    assert [name for name in names(workspace, "jobs", *MODELS) if name.startswith("collect-")]
    assert names(workspace, "recurringjobs.longhorn.io", "-n", "longhorn-system") == ["triplane"]
    pulumi(workspace, *UP, "--expect-no-changes")


def test_the_tenants_keys_stand_in_its_secret_only(stack: SandboxStack) -> None:
    workspace = given(stack, changed(sized(60)))
    held = json.loads(
        kubectl(
            *(workspace, "get", "secret", "objects-config", "-n", "triplane-objects", "-o", "json")
        )
    )
    assert set(held["data"]) == {"config.env"}
    shown = pulumi(workspace, "stack", "export") + pulumi(workspace, "stack", "output", "--json")
    shown += kubectl(workspace, "get", "tenants.minio.min.io,jobs,pods", "-A", "-o", "json")
    assert KEYS["secret_access_key"] not in shown


def test_a_volume_grows_in_place_and_does_not_shrink(stack: SandboxStack) -> None:
    grown = given(stack, changed(sized(80)))
    assert "2 to update" in pulumi(grown, "preview", *CHECKED), "the claim, and the plan"
    pulumi(grown, *UP)
    assert claim(grown)["resources"]["requests"]["storage"] == "80Gi"
    shrunk = given(stack, changed(sized(40)))
    for command in (("preview", *CHECKED), UP):
        text = pulumi(shrunk, *command, code=1)
        assert f"{CLAIM}: the volume shrinks from 80 to 40 GiB" in text
    assert claim(shrunk)["resources"]["requests"]["storage"] == "80Gi"


def test_a_pool_is_added_and_never_changed(stack: SandboxStack) -> None:
    """MINIO-01: the preview says what happens, and the update does not go half-way."""
    wider = given(stack, changed(servers(8)))
    text = pulumi(wider, "preview", *CHECKED, code=1)
    assert "servers of pool 'pool-0' changes from 4 to 8" in text
    assert "add a further pool" in text
    more = given(stack, changed(servers(4, 4)))
    pulumi(more, *UP)
    (tenant,) = objects(more, "tenants.minio.min.io", "-n", "triplane-objects")
    assert [pool["servers"] for pool in tenant["spec"]["pools"]] == [4, 4]
    fewer = given(stack, changed(servers(4)))
    text = pulumi(fewer, "preview", *CHECKED, code=1)
    assert "decommission" in text
    assert f'"accept_data_loss": ["{TENANT}"]' in text


def test_another_store_is_one_setting_and_the_tenant_is_given_up_knowingly(
    stack: SandboxStack,
) -> None:
    assert "protect" in failing(given(stack, changed(elsewhere)), "preview", *CHECKED)
    pulumi(given(stack, changed(servers(4, 4), TENANT)), *UP)
    approved = given(stack, changed(elsewhere, TENANT))
    assert "mandatory" not in pulumi(approved, "preview", *CHECKED)
    pulumi(approved, *UP)
    assert set(seeds(approved).values()) == {"http://seaweed.objects.svc:8333"}
    assert "triplane-objects" not in names(approved, "namespaces")
    on_s3 = given(stack, changed(on_aws))
    pulumi(on_s3, *UP)
    assert set(seeds(on_s3).values()) == {"AWS"}
    assert claim(on_s3)["storageClassName"] == "triplane-longhorn-models", "the volume stays"


def test_another_class_is_one_setting_and_the_volume_is_given_up_knowingly(
    stack: SandboxStack,
) -> None:
    assert "protect" in failing(given(stack, changed(another_class)), "preview", *CHECKED)
    pulumi(given(stack, changed(on_aws, CLAIM)), *UP)
    approved = given(stack, changed(another_class, CLAIM))
    assert "mandatory" not in pulumi(approved, "preview", *CHECKED)
    pulumi(approved, *UP)
    assert claim(approved, OTHER_CLAIM)["storageClassName"] == "shared-nfs"
    ready = {
        each["metadata"]["name"]: each["status"].get("readyReplicas")
        for each in objects(approved, "statefulsets", *MODELS)
    }
    assert set(ready.values()) == {1, 2}
    assert len(seeds(approved)) == 2
    pulumi(approved, *UP, "--expect-no-changes")


def test_destroy_leaves_nothing(stack: SandboxStack) -> None:
    label = f"PersistentVolumeClaim/triplane-models/{OTHER_CLAIM}"
    workspace = given(stack, changed(another_class, label))
    pulumi(workspace, *UP)
    pulumi(workspace, "destroy", "--yes", "--skip-preview")
    assert urns(workspace) == []
    assert objects(workspace, "persistentvolumes") == []
