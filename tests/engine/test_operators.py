"""Operators from stub charts: the real provider installs, waits for and removes each release.

The tests of this module share one stack and run in order. What the charts' own pods would do is
played by one Deployment each (sandbox/operators/charts.py).
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
import yaml

from models.plan.operators import operators
from sandbox.engine.stack import CHECKED, UP, Change, SandboxStack
from sandbox.engine.workspace import Workspace
from sandbox.operators import charts
from tests.helpers.engine.events import Events, times, updated, waves_overlap
from tests.helpers.engine.stacks import kubectl, names, objects, pulumi, state, urns
from tests.helpers.plans.dev import bare, dev_plan

pytestmark = pytest.mark.engine

RELEASE: Final = "kubernetes:helm.sh/v3:Release"


def installed_by(who: str) -> Change:
    """Return settings that say who installs the operators, from the stub charts."""

    def change(settings: dict[str, Any]) -> None:
        # The sandbox has made the namespaces of the controllers that it runs itself.
        bare(settings)
        settings["operators"] = who
        settings["mirror"] = {"charts": charts.repository()}

    return change


managed = installed_by("managed")


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., SandboxStack]) -> SandboxStack:
    return make_stack(managed)


@pytest.fixture(scope="module")
def workspace(stack: SandboxStack) -> Workspace:
    """Return the workspace of a started control plane, nothing of the stack created yet."""
    return stack.start()


@pytest.fixture(scope="module")
def before(workspace: Workspace) -> list[str]:
    """Return the namespaces that were there before the stack."""
    return names(workspace, "namespaces")


@pytest.fixture(scope="module")
def events(workspace: Workspace, before: list[str]) -> Events:
    """Return the engine's events of the first update."""
    return updated(workspace)


def test_the_preview_proves_what_will_be_installed(workspace: Workspace, before: list[str]) -> None:
    text = pulumi(workspace, "preview", *CHECKED)
    assert "helm.sh/v3:Release" in text
    assert "mandatory" not in text
    assert names(workspace, "namespaces") == before


def test_up_installs_every_operator_and_waits_for_it(workspace: Workspace, events: Events) -> None:
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


def test_our_values_are_merged_into_upstreams(workspace: Workspace, events: Events) -> None:
    (found,) = objects(workspace, "configmap", "gpu-operator-values", "-n", "gpu-operator")
    values = yaml.safe_load(found["data"]["values.yaml"])
    assert values["driver"]["enabled"] is False
    assert values["driver"]["kernelModuleType"] == "auto", "a default that we do not set"
    taints = [(each["key"], each.get("value")) for each in values["daemonsets"]["tolerations"]]
    assert taints == [("nvidia.com/gpu", "present")]


def test_waves_come_one_after_the_other(events: Events) -> None:
    """An engine that starts before its operators asks for definitions nobody has made."""
    assert waves_overlap(events, {-3, -2, -1, 0, 1}) == []


def test_ai_gateway_comes_after_what_it_watches(events: Events) -> None:
    begun, done = times(events)
    start = next(at for urn, at in begun.items() if urn.endswith("-ai-gateway-release"))
    for chart in ("ai-gateway-crds", "envoy-gateway"):
        end = next(at for urn, at in done.items() if urn.endswith(f"-{chart}-release"))
        assert end < start


def test_a_second_up_changes_nothing(workspace: Workspace, events: Events) -> None:
    pulumi(workspace, *UP, "--expect-no-changes")


def test_a_refresh_finds_no_drift(workspace: Workspace, events: Events) -> None:
    pulumi(workspace, "refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_operators_are_not_given_up_in_one_step(stack: SandboxStack, events: Events) -> None:
    """Uninstalled, a chart takes its definitions along, and with them whatever is made of them."""
    workspace = replace(stack, change=installed_by("external")).start()
    before = _installed(workspace)
    for command in (("preview", *CHECKED), UP):
        done = workspace.attempt(command, quiet=True)
        text = done.stdout + done.stderr
        assert done.returncode != 0, text
        assert "operators go from managed to external in one step" in text
        assert "set operators to handover and update" in text
    assert _installed(workspace) == before


def test_operators_are_handed_over_as_they_are(stack: SandboxStack, events: Events) -> None:
    """Whoever takes them over finds releases that can be upgraded, and nobody's pods restart."""
    handing = replace(stack, change=installed_by("handover")).start()
    before = _installed(handing)
    assert before["releases"]
    assert "mandatory" not in pulumi(handing, "preview", *CHECKED)
    pulumi(handing, *UP)
    external = replace(stack, change=installed_by("external")).start()
    assert "mandatory" not in pulumi(external, "preview", *CHECKED)
    pulumi(external, *UP)
    assert _installed(external) == before
    assert [each for each in urns(external) if RELEASE in each or "WaveOperators" in each] == []


def test_operators_that_run_are_adopted(stack: SandboxStack, events: Events) -> None:
    """From external to managed as docs/operators.md has it: upgraded in place, nothing restarts."""
    back = replace(stack, change=managed).start()
    before = _installed(back)
    file = back.home / "adopt.json"
    pulumi(back, "preview", "--import-file", str(file))
    file.write_text(json.dumps(_adopted(json.loads(file.read_text()))))
    without = ("--generate-code=false", "--protect=false", "--skip-preview", "--yes")
    pulumi(back, "import", "--file", str(file), *without)
    assert "mandatory" not in pulumi(back, "preview", *CHECKED)
    pulumi(back, *UP)
    made = [each["outputs"] for each in state(back)["resources"] if each["type"] == RELEASE]
    plan = dev_plan(managed)
    rows = operators(plan, plan.regions[0])
    assert {each["name"] for each in made} == {row.chart for row in rows}
    assert {each["status"]["status"] for each in made} == {"deployed"}
    assert _installed(back)["pods"] == before["pods"]
    pulumi(back, *UP, "--expect-no-changes")


def _adopted(listed: dict[str, Any]) -> dict[str, Any]:
    """Return of what a preview would create the operators' part, with the ids that they have."""
    plan = dev_plan(managed)
    spaces = {f"-{row.chart}-release": row.namespace for row in operators(plan, plan.regions[0])}
    kept: list[dict[str, Any]] = []
    for each in listed["resources"]:
        if "-operators" not in each["name"]:
            continue
        if each["type"] == RELEASE:
            end = max((end for end in spaces if each["name"].endswith(end)), key=len)
            each["id"] = f"{spaces[end]}/{end[1:].removesuffix('-release')}"
        elif each["type"] == "kubernetes:core/v1:Namespace":
            names_ = [space for space in spaces.values() if each["name"].endswith(f"-{space}")]
            each["id"] = max(names_, key=len)
        kept.append(each)
    return {**listed, "resources": kept}


def _installed(workspace: Workspace) -> dict[str, list[str]]:
    """Return what of the operators is in the cluster; pods by their identities."""
    spaces = {row.namespace for row in operators(dev_plan(managed), dev_plan(managed).regions[0])}
    pods = [each["metadata"] for each in objects(workspace, "pods", "-A")]
    return {
        "releases": names(workspace, "secrets", "-A", "-l", "owner=helm"),
        "namespaces": [each for each in names(workspace, "namespaces") if each in spaces],
        "definitions": names(workspace, "crds"),
        "pods": sorted(each["uid"] for each in pods if each["namespace"] in spaces),
    }


def test_destroy_removes_every_release(
    workspace: Workspace, before: list[str], events: Events
) -> None:
    pulumi(workspace, "destroy", "--yes", "--skip-preview")
    assert urns(workspace) == []
    # The sandbox made some for its own controllers, and the stack took them over.
    spaces = {row.namespace for row in operators(dev_plan(managed), dev_plan(managed).regions[0])}
    assert names(workspace, "namespaces") == [each for each in before if each not in spaces]
    assert objects(workspace, "secrets", "-A", "-l", "owner=helm") == []


@pytest.fixture(scope="module")
def external(make_stack: Callable[..., SandboxStack]) -> Workspace:
    """Return the workspace of a control plane whose definitions somebody else keeps."""
    return make_stack(bare).start()


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
