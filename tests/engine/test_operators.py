"""Operators from stub charts: the real provider installs, waits for and removes each release.

The tests of this module share one stack and run in order. What the charts' own pods would do is
played by one Deployment each (sandbox/charts.py).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

import pytest
import yaml
from plans import dev_plan
from stack_lab import kubectl, names, objects, pulumi, state, urns

from models.operators import operators
from sandbox import charts
from sandbox.stack import CHECKED, UP, SandboxStack
from sandbox.workspace import Workspace

pytestmark = pytest.mark.engine

RELEASE: Final = "kubernetes:helm.sh/v3:Release"


def managed(settings: dict[str, Any]) -> None:
    """Let the stack install its operators, from the stub charts."""
    settings["operators"] = "managed"
    settings["mirror"] = {"charts": charts.repository()}


@pytest.fixture(scope="module")
def workspace(make_stack: Callable[..., SandboxStack]) -> Workspace:
    """Return the workspace of a started control plane, nothing of the stack created yet."""
    return make_stack(managed).start()


@pytest.fixture(scope="module")
def before(workspace: Workspace) -> list[str]:
    """Return the namespaces that were there before the stack."""
    return names(workspace, "namespaces")


@pytest.fixture(scope="module")
def events(workspace: Workspace, before: list[str]) -> list[dict[str, Any]]:
    """Return the engine's events of the first update."""
    log = workspace.home / "events.json"
    logging = {**workspace.variables, "PULUMI_DEBUG_COMMANDS": "true"}
    pulumi(replace(workspace, variables=logging), *UP, "--event-log", str(log))
    return [cast("dict[str, Any]", json.loads(line)) for line in log.read_text().splitlines()]


def test_the_preview_proves_what_will_be_installed(workspace: Workspace, before: list[str]) -> None:
    text = pulumi(workspace, "preview", *CHECKED)
    assert "helm.sh/v3:Release" in text
    assert "mandatory" not in text
    assert names(workspace, "namespaces") == before


def test_up_installs_every_operator_and_waits_for_it(
    workspace: Workspace, events: list[dict[str, Any]]
) -> None:
    """A release that is not waited for is there before its pods are."""
    plan = dev_plan(managed)
    rows = operators(plan, plan.regions[0])
    assert len(rows) >= 5
    for row in rows:
        (made,) = objects(workspace, "deployments", row.chart, "-n", row.namespace)
        assert made["status"]["readyReplicas"] == 1
    releases = [each for each in state(workspace)["resources"] if each["type"] == RELEASE]
    assert {each["outputs"]["name"] for each in releases} == {row.chart for row in rows}
    assert {each["outputs"]["status"]["status"] for each in releases} == {"deployed"}


def test_our_values_are_merged_into_upstreams(
    workspace: Workspace, events: list[dict[str, Any]]
) -> None:
    (found,) = objects(workspace, "configmap", "gpu-operator-values", "-n", "gpu-operator")
    values = yaml.safe_load(found["data"]["values.yaml"])
    assert values["driver"]["enabled"] is False
    assert values["driver"]["kernelModuleType"] == "auto", "a default that we do not set"
    taints = [(each["key"], each.get("value")) for each in values["daemonsets"]["tolerations"]]
    assert taints == [("nvidia.com/gpu", "present")]


def test_waves_come_one_after_the_other(events: list[dict[str, Any]]) -> None:
    """An engine that starts before its operators asks for definitions nobody has made."""
    begun, done = _times(events)
    waves = {
        -3: "Release::triplane-local-operators-3",
        -2: "triplane:storage:ModelStore$",
        -1: "Release::triplane-local-operators-1",
        0: "triplane:engine:VllmService$",
        1: "triplane:gateway:AiGateway$",
    }
    spans = {
        wave: (
            min(at for urn, at in begun.items() if part in urn),
            max(at for urn, at in done.items() if part in urn),
        )
        for wave, part in waves.items()
    }
    for wave in (-3, -2, -1, 0):
        assert spans[wave][1] < spans[wave + 1][0], f"wave {wave} ended after {wave + 1} began"


def test_ai_gateway_comes_after_what_it_watches(events: list[dict[str, Any]]) -> None:
    begun, done = _times(events)
    start = next(at for urn, at in begun.items() if urn.endswith("-ai-gateway-release"))
    for chart in ("ai-gateway-crds", "envoy-gateway"):
        end = next(at for urn, at in done.items() if urn.endswith(f"-{chart}-release"))
        assert end < start


def test_a_second_up_changes_nothing(workspace: Workspace, events: list[dict[str, Any]]) -> None:
    pulumi(workspace, *UP, "--expect-no-changes")


def test_a_refresh_finds_no_drift(workspace: Workspace, events: list[dict[str, Any]]) -> None:
    pulumi(workspace, "refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_destroy_removes_every_release(
    workspace: Workspace, before: list[str], events: list[dict[str, Any]]
) -> None:
    pulumi(workspace, "destroy", "--yes", "--skip-preview")
    assert urns(workspace) == []
    assert names(workspace, "namespaces") == before
    assert objects(workspace, "secrets", "-A", "-l", "owner=helm") == []


@pytest.fixture(scope="module")
def external(make_stack: Callable[..., SandboxStack]) -> Workspace:
    """Return the workspace of a control plane whose definitions somebody else keeps."""
    return make_stack().start()


def refused(workspace: Workspace) -> str:
    """Return what a preview says that ends with an error."""
    done = workspace.attempt(["preview", *CHECKED], quiet=True)
    assert done.returncode != 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_version_that_is_not_served_ends_the_preview(external: Workspace) -> None:
    """Installed is not enough: the message says what is served instead."""
    crd = "scaledobjects.keda.sh"
    off = '[{"op":"replace","path":"/spec/versions/0/served","value":false}]'
    kubectl(external, "patch", "crd", crd, "--type=json", "-p", off)
    text = refused(external)
    assert "does not serve ScaledObject as keda.sh/v1alpha1" in text
    assert "Traceback" not in text


def test_a_definition_that_is_missing_ends_the_preview(external: Workspace) -> None:
    kubectl(external, "delete", "crd", "scaledobjects.keda.sh")
    text = refused(external)
    assert "needs-ScaledObject-v1alpha1" in text
    assert "scaledobjects.keda.sh" in text
    assert "does not exist" in text


def _times(events: list[dict[str, Any]]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the positions of the events at which each resource began and was done."""
    begun: dict[str, int] = {}
    done: dict[str, int] = {}
    for position, event in enumerate(events):
        for key, found in (("resourcePreEvent", begun), ("resOutputsEvent", done)):
            metadata = event.get(key, {}).get("metadata")
            if metadata is not None and metadata["op"] == "create":
                found[metadata["urn"]] = position
    return begun, done
