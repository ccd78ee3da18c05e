"""The life of the dev stack under the real engine, provider, API server and scheduler.

The tests of this module share one stack and run in order: up, again, drift, kill, destroy.
"""

import re
import signal
import subprocess
import time
from collections.abc import Callable

import psutil
import pytest

from sandbox.engine.recovery import recover
from sandbox.engine.stack import CHECKED, UP, SandboxStack
from sandbox.engine.workspace import Workspace
from tests.helpers.engine.stacks import kubectl, names, objects, pulumi, state, urns

pytestmark = pytest.mark.engine

KILLS = True
"""An update is killed here: its state is written after each step."""

MODELS = ("-n", "triplane-models")
AWQ, QWEN = "qwen25-7b-instruct-awq", "qwen3-8b"


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., SandboxStack]) -> SandboxStack:
    return make_stack()


@pytest.fixture(scope="module")
def workspace(stack: SandboxStack) -> Workspace:
    """Return the workspace of the started control plane, nothing of the stack created yet."""
    return stack.start()


@pytest.fixture(scope="module")
def namespaces(workspace: Workspace) -> list[str]:
    """Return the namespaces that were there before the stack."""
    return names(workspace, "namespaces")


def test_the_preview_proves_the_plan_and_creates_nothing(
    workspace: Workspace, namespaces: list[str]
) -> None:
    text = pulumi(workspace, "preview", *CHECKED)
    assert re.search(r"\+ \d+ to create", text)
    assert "triplane@v" in text, "the pack ran"
    assert "mandatory" not in text
    assert "can't run policy" not in text
    assert "since fp8 needs 8.9" in text, "what departs from the profile is said"
    assert names(workspace, "namespaces") == namespaces


def test_up_ends_with_everything_ready(workspace: Workspace) -> None:
    text = pulumi(workspace, *UP)
    assert "created" in text
    ready = {
        each["metadata"]["name"]: each["status"].get("readyReplicas")
        for each in objects(workspace, "statefulsets", *MODELS)
    }
    assert ready == {AWQ: 2, QWEN: 1}
    assert all(each["status"].get("succeeded") == 1 for each in objects(workspace, "jobs", *MODELS))


def test_every_pod_is_guaranteed_and_on_its_pool(workspace: Workspace) -> None:
    pods = objects(workspace, "pods", *MODELS)
    assert len(pods) == 5
    for pod in pods:
        assert pod["status"]["qosClass"] == "Guaranteed", pod["metadata"]["name"]
    where = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods}
    assert where[f"{QWEN}-0"].startswith("gpu-l4-pool")
    assert where[f"{AWQ}-0"].startswith("gpu-edge-pool")
    assert where[f"{AWQ}-0"] != where[f"{AWQ}-1"], "an edge node has one card"
    seeds = [node for name, node in where.items() if name.startswith("seed-")]
    assert all(node.startswith("cpu-pool") for node in seeds)


def test_a_second_up_changes_nothing(workspace: Workspace) -> None:
    text = pulumi(workspace, *UP, "--expect-no-changes")
    assert re.search(r"\d+ unchanged", text)


def test_a_refresh_finds_no_drift(workspace: Workspace) -> None:
    pulumi(workspace, "refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_drift_is_found_and_repaired(workspace: Workspace) -> None:
    """Somebody labels, edits and deletes with kubectl; the next up restores all three."""
    kubectl(workspace, "delete", "service", QWEN, *MODELS)
    kubectl(workspace, "label", "statefulset", QWEN, *MODELS, "--overwrite", "x=y")
    patch = '[{"op":"replace","path":"/spec/template/spec/containers/0/args/4","value":"--x=1"}]'
    kubectl(workspace, "patch", "statefulset", AWQ, *MODELS, "--type=json", "-p", patch)
    before = kubectl(workspace, "get", "statefulset", AWQ, *MODELS, "-o", "jsonpath={..args}")
    assert "--x=1" in before
    seen = pulumi(workspace, "refresh", "--yes", "--skip-preview")
    assert "1 deleted" in seen
    assert "updated" in seen
    pulumi(workspace, *UP)
    assert QWEN in names(workspace, "services", *MODELS)
    after = kubectl(workspace, "get", "statefulset", AWQ, *MODELS, "-o", "jsonpath={..args}")
    assert "--x=1" not in after
    pulumi(workspace, *UP, "--expect-no-changes")


def test_destroy_leaves_the_namespaces_as_they_were(
    workspace: Workspace, namespaces: list[str]
) -> None:
    pulumi(workspace, "destroy", "--yes", "--skip-preview")
    assert names(workspace, "namespaces") == namespaces
    assert objects(workspace, "persistentvolumes") == []
    assert urns(workspace) == []


def test_an_up_after_a_kill_in_the_middle_converges(
    stack: SandboxStack, workspace: Workspace
) -> None:
    """The engine dies while operations are in flight; nothing is orphaned, nothing made twice."""
    killer = _Killer(workspace)
    done = workspace.attempt(UP, quiet=True, on_start=killer)
    assert killer.killed, done.stdout + done.stderr
    assert list((workspace.home / "backend" / ".pulumi" / "locks").rglob("*.json"))
    recover(stack.start())
    assert _processes_of(workspace) == []
    assert not state(workspace).get("pending_operations")
    pulumi(workspace, *UP)
    pulumi(workspace, *UP, "--expect-no-changes")
    pulumi(workspace, "refresh", "--yes", "--skip-preview", "--expect-no-changes")
    assert len(set(urns(workspace))) == len(urns(workspace))
    assert len(objects(workspace, "jobs", *MODELS)) == 2
    found = objects(workspace, "statefulsets,pvc,jobs,services", *MODELS, "--show-managed-fields")
    for each in found:
        managers = {field["manager"] for field in each["metadata"]["managedFields"]}
        ours = [manager for manager in managers if manager.startswith("pulumi-kubernetes-")]
        assert len(ours) == 1, f"{each['metadata']['name']} has the owners {managers}"


class _Killer:
    """Kills the engine as soon as the cluster has the first object of the storage wave."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.killed = False

    def __call__(self, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if names(self.workspace, "pvc", *MODELS):
                process.send_signal(signal.SIGKILL)
                self.killed = True
                return
            time.sleep(0.05)


def _processes_of(workspace: Workspace) -> list[str]:
    mine = workspace.env()["PULUMI_BACKEND_URL"]
    found: list[str] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PULUMI_BACKEND_URL") == mine:
                found.append(process.name())
        except psutil.Error:
            continue
    return found
