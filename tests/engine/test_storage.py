"""Storage under the real engine: swapped by one setting each, changed, and refused where it loses.

The stack installs its operators (from stub charts). The tests of this module share it and run in
order.
"""

import json
from collections.abc import Callable

import pytest

from sandbox.engine.stack import CHECKED, UP, SandboxStack
from tests.helpers.engine.stacks import kubectl, names, objects, pulumi, release, urns
from tests.helpers.engine.storage import (
    AFTER,
    BEFORE,
    CLAIM,
    KEYS,
    LONGHORN,
    MODELS,
    OTHER,
    OTHER_CLAIM,
    PINNED,
    TENANT,
    another_class,
    as_before,
    changed,
    claim,
    elsewhere,
    failing,
    given,
    longhorn_values,
    on_aws,
    seeds,
    servers,
    sized,
)

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., SandboxStack]) -> SandboxStack:
    return make_stack(changed(as_before))


def test_longhorn_and_a_tenant_come_up(stack: SandboxStack) -> None:
    """With their operators in the same update, at the release before the pinned one."""
    workspace = given(stack, changed(sized(60)), BEFORE)
    text = pulumi(workspace, "preview", *CHECKED)
    assert "mandatory" not in text
    pulumi(workspace, *UP)
    (tenant,) = objects(workspace, "tenants.minio.min.io", "-n", "triplane-objects")
    assert tenant["status"]["currentState"] == "Initialized"
    assert claim(workspace)["storageClassName"] == "triplane-longhorn-models"
    assert set(seeds(workspace).values()) == {"http://minio.triplane-objects.svc.cluster.local"}
    assert [name for name in names(workspace, "jobs", *MODELS) if name.startswith("collect-")]
    assert names(workspace, "recurringjobs.longhorn.io", "-n", "longhorn-system") == ["triplane"]
    assert release(workspace, "minio-operator")["outputs"]["status"]["status"] == "deployed"
    pulumi(workspace, *UP, "--expect-no-changes")


def test_a_chart_goes_forward_by_one_minor_release(stack: SandboxStack) -> None:
    """Longhorn's manager does not start after a jump, nor on what a newer one wrote."""
    jumped = given(stack, changed(sized(60)), AFTER)
    for command in (("preview", *CHECKED), UP):
        text = pulumi(jumped, *command, code=1)
        assert f"Release/longhorn: chart 'longhorn-{AFTER}.tgz' jumps from {BEFORE}" in text
        assert "go over each minor release between" in text
    workspace = given(stack, changed(sized(60)))
    text = pulumi(workspace, "preview", *CHECKED)
    (line,) = [line for line in text.splitlines() if "operators-2-longhorn-release" in line]
    assert "update" in line
    assert "version" in line
    pulumi(workspace, *UP)
    found = release(workspace, "longhorn")
    assert (found["outputs"]["version"], found["outputs"]["status"]["revision"]) == (PINNED, 2)
    back = given(stack, changed(sized(60)), BEFORE)
    text = pulumi(back, "preview", *CHECKED, code=1)
    assert f"goes back from {PINNED} to {BEFORE}" in text
    assert "restore from a backup" in text


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
    assert not {"triplane-objects", "minio-operator"} & set(names(approved, "namespaces"))
    on_s3 = given(stack, changed(on_aws))
    assert "mandatory" not in pulumi(on_s3, "preview", *CHECKED)
    pulumi(on_s3, *UP)
    assert set(seeds(on_s3).values()) == {"AWS"}
    assert claim(on_s3)["storageClassName"] == "triplane-longhorn-models", "the volume stays"


def test_another_class_is_one_setting_and_the_volume_is_given_up_knowingly(
    stack: SandboxStack,
) -> None:
    """Longhorn goes with its class, and it lets nobody uninstall it by accident."""
    text = failing(given(stack, changed(another_class)), "preview", *CHECKED)
    assert "protect" in text
    approving = given(stack, changed(on_aws, CLAIM, OTHER, LONGHORN))
    assert "deletingConfirmationFlag: true" not in longhorn_values(approving)
    pulumi(approving, *UP)
    assert "deletingConfirmationFlag: true" in longhorn_values(approving)
    approved = given(stack, changed(another_class, CLAIM, OTHER, LONGHORN))
    assert "mandatory" not in pulumi(approved, "preview", *CHECKED)
    pulumi(approved, *UP)
    assert claim(approved, OTHER_CLAIM)["storageClassName"] == "shared-nfs"
    assert "longhorn-system" not in names(approved, "namespaces")
    ready = {
        each["metadata"]["name"]: each["status"].get("readyReplicas")
        for each in objects(approved, "statefulsets", *MODELS)
    }
    assert set(ready.values()) == {1, 2}
    assert len(seeds(approved)) == 2
    pulumi(approved, *UP, "--expect-no-changes")


def test_longhorn_can_be_taken_up_again(stack: SandboxStack) -> None:
    """The way back is the same setting: operator, class, claim, seeded anew."""
    back = given(stack, changed(on_aws, CLAIM, OTHER, LONGHORN))
    assert "mandatory" not in pulumi(back, "preview", *CHECKED)
    pulumi(back, *UP)
    assert claim(back)["storageClassName"] == "triplane-longhorn-models"
    assert release(back, "longhorn")["outputs"]["status"]["status"] == "deployed"
    assert set(seeds(back).values()) == {"AWS"}


def test_destroy_leaves_nothing(stack: SandboxStack) -> None:
    workspace = given(stack, changed(on_aws, CLAIM, OTHER, LONGHORN))
    pulumi(workspace, "destroy", "--yes", "--skip-preview")
    assert urns(workspace) == []
    assert objects(workspace, "persistentvolumes") == []
