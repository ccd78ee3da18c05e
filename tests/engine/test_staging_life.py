"""The staging stack, whole, on the stand-in for AWS under the real engine and scheduler.

One region on EKS with its GPU pools, managed operators, storage, engines and gateway. The tests of
this module share one stack and run in order.
"""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from typing import Any, cast

import pytest
from stack_lab import pulumi, urns

from models.regions import POOL_LABEL
from sandbox.stack import CHECKED, UP, SandboxStack
from sandbox.workspace import Workspace

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def stack() -> Iterator[SandboxStack]:
    """Return the stack as its file says, AWS played."""
    instance = f"test-{os.getpid()}-{secrets.token_hex(3)}"
    made = SandboxStack(env="staging", instance=instance, stand_in=True)
    yield made
    made.purge()


@pytest.fixture(scope="module")
def workspace(stack: SandboxStack) -> Workspace:
    return stack.start()


def listed(stack: SandboxStack, workspace: Workspace, *what: str) -> list[dict[str, Any]]:
    """Return objects of the region's cluster."""
    assert stack.aws is not None
    (kubeconfig,) = stack.aws.contexts().values()
    command = [str(workspace.toolchain.path("kubectl")), "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(
        [*command, "get", *what, "-o", "json"],
        env=workspace.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    return cast("list[dict[str, Any]]", json.loads(done.stdout)["items"])


def test_the_first_preview_passes_the_pack_and_makes_nothing(
    stack: SandboxStack, workspace: Workspace
) -> None:
    text = pulumi(workspace, "preview", *CHECKED)
    assert "triplane@v" in text, "the pack ran"
    assert "can't run policy" not in text
    assert stack.aws is not None
    assert not stack.aws.contexts(), "no cluster exists yet"


def test_up_brings_the_region_up(workspace: Workspace) -> None:
    text = pulumi(workspace, *UP)
    assert "created" in text
    outputs = json.loads(pulumi(workspace, "stack", "output", "--json"))
    assert outputs["environment"] == "staging"
    assert outputs["totals"]["usdPerHourMax"] > outputs["totals"]["usdPerHourMin"] > 0
    (region,) = outputs["regions"].values()
    assert len(region["models"]) >= 7
    assert region["kubeconfig"] == "[secret]"


def test_every_engine_runs_on_a_node_of_its_pool(stack: SandboxStack, workspace: Workspace) -> None:
    """The real scheduler placed them; what they ask is guaranteed to them."""
    nodes = {
        each["metadata"]["name"]: each["metadata"]["labels"]
        for each in listed(stack, workspace, "nodes")
    }
    pods = listed(
        stack, workspace, "pods", "-n", "triplane-models", "-l", "app.kubernetes.io/name=vllm"
    )
    assert len(pods) >= 8
    for pod in pods:
        wanted = pod["spec"]["nodeSelector"][POOL_LABEL]
        assert nodes[pod["spec"]["nodeName"]][POOL_LABEL] == wanted
        assert pod["status"]["qosClass"] == "Guaranteed"
        assert pod["status"]["phase"] == "Running"


def test_a_second_up_changes_nothing(workspace: Workspace) -> None:
    pulumi(workspace, "up", "--yes", "--skip-preview", "--expect-no-changes")


def test_a_refresh_finds_no_drift(workspace: Workspace) -> None:
    pulumi(workspace, "refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_what_is_protected_survives_a_destroy(workspace: Workspace) -> None:
    before = urns(workspace)
    done = workspace.attempt(["destroy", "--yes"], quiet=True)
    assert done.returncode != 0
    assert "because it is protected" in done.stdout + done.stderr
    assert urns(workspace) == before, "the preview fails, and nothing is deleted"


def test_down_leaves_the_cloud_empty(stack: SandboxStack) -> None:
    """It lifts the protection first and raises where anything is left."""
    stack.down()
    assert stack.aws is not None
    assert not stack.aws.contexts()
