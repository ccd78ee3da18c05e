"""The component graph under mocks: what is registered, by whom, in what order.

Mocks prove shape and absence, not that the API server takes anything: that is the engine tier.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import pulumi
import pytest

from components.platform import Platform, PlatformArgs, RegionSecrets
from tests.helpers.plans.dev import ROOT, dev_plan
from tests.helpers.plans.secrets import secret_read

pytestmark = pytest.mark.mocks

_SERVED: Final = ("v1", "v2", "v1alpha1", "v1beta1", "v1beta2")
"""What the definitions that are looked at serve: every version that we write."""

GOLDEN: Final = Path(__file__).with_name("dev.urns")


class Recorder(pulumi.runtime.Mocks):
    """Keeps what was registered."""

    def __init__(self) -> None:
        self.inputs: dict[str, dict[str, Any]] = {}
        self.types: dict[str, str] = {}

    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[Any, Any]]:
        inputs = cast("dict[str, Any]", cast("Any", args).inputs)
        self.inputs[args.name] = inputs
        self.types[args.name] = args.typ
        found: dict[str, Any] = {"status": {"addresses": [{"value": "192.0.2.7"}]}}
        if args.typ.endswith(":CustomResourceDefinition"):
            found["spec"] = {"versions": [{"name": name, "served": True} for name in _SERVED]}
        return f"{args.name}-id", {**inputs, **found, **secret_read(args)}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], None]:
        message = f"the program calls {args.token}, and it should call nothing"
        raise AssertionError(message)


def build(
    change: Callable[[dict[str, Any]], None] | None = None,
    secrets: RegionSecrets | None = None,
) -> tuple[Recorder, Platform]:
    """Register the dev platform under fresh mocks; return what was recorded, and the platform."""
    recorder = Recorder()
    pulumi.runtime.set_mocks(recorder, project="triplane", stack="dev")
    plan = dev_plan(change)
    given = secrets or RegionSecrets(kubeconfig="{}")
    made: list[Platform] = []

    def program() -> None:
        args = PlatformArgs(
            plan=plan, secrets={"local": given}, seed_program={"__main__.py": "pass"}
        )
        made.append(Platform("triplane", args))

    # Untyped in the SDK; without it a failing assertion inside an apply would pass silently.
    cast("Any", pulumi.runtime).test(program)()
    return recorder, made[0]


def test_the_golden_list_of_resources() -> None:
    """A logical name is state: changing one replaces a resource, so it must be meant."""
    recorder, _ = build()
    lines = sorted(f"{typ} {name}" for name, typ in recorder.types.items())
    assert lines == GOLDEN.read_text().splitlines(), "write the new list if the change is meant"


def test_an_autoscaled_model_has_no_replicas_and_exactly_one_autoscaler() -> None:
    recorder, _ = build()
    autoscaled = recorder.inputs["triplane-local-qwen3-8b-engine"]["spec"]
    fixed = recorder.inputs["triplane-local-qwen25-7b-instruct-awq-engine"]["spec"]
    assert "replicas" not in autoscaled
    assert fixed["replicas"] == 2
    scaled = [name for name, typ in recorder.types.items() if typ.endswith(":ScaledObject")]
    assert scaled == ["triplane-local-qwen3-8b-autoscaling-scaled-object"]


def test_the_plan_is_registered_with_plain_values() -> None:
    recorder, _ = build()
    plan = recorder.inputs["triplane-plan"]
    assert plan["environment"] == "dev"
    assert [model["name"] for model in plan["models"]] == ["qwen25-7b-instruct-awq", "qwen3-8b"]
    assert all(model["budget"]["verdict"] == "fits" for model in plan["models"])
    assert plan["totals"]["gpusMax"] == 5


def test_every_kubernetes_object_has_a_fixed_name() -> None:
    """Names stand in other objects as plain strings; a random suffix would break them."""
    recorder, _ = build()
    objects = [n for n, t in recorder.types.items() if t.startswith("kubernetes:")]
    assert len(objects) > 25
    for name in objects:
        if not recorder.types[name].endswith(":CustomResourceDefinition"):
            assert recorder.inputs[name]["metadata"]["name"]


def test_no_secret_is_registered_where_none_is_given() -> None:
    """One is read: it has the authority that clients are told."""
    recorder, _ = build()
    found = [name for name, typ in recorder.types.items() if typ == "kubernetes:core/v1:Secret"]
    assert found == ["triplane-local-certificates-bundle-secret"]


def test_credentials_reach_the_job_by_reference_only() -> None:
    """A value in the pod's environment would stand in clear in the state and in `kubectl get`."""

    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["storage"]["objects"]["credentials"] = "config"

    keys = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "planted"}
    recorder, _ = build(change, RegionSecrets(kubeconfig="{}", object_store=keys))
    job = recorder.inputs["triplane-local-store-seed-qwen3-8b"]
    assert "planted" not in str(job)
    assert "secretKeyRef" in str(job)
    secret = recorder.inputs["triplane-local-store-object-store"]["stringData"]
    assert secret["value"] == keys, "wrapped as a Pulumi secret"


def test_the_outputs_name_what_clients_need() -> None:
    _, platform = build()
    names = ["bill", "catalogRevision", "environment", "regions", "totals"]
    assert sorted(platform.outputs) == names


def test_every_component_registers_what_it_made() -> None:
    """What a component made is in its outputs: an empty set would say that it made nothing."""
    calls = [
        (f"{file.name}:{node.lineno}", ast.unparse(node.args[0]))
        for file in sorted((ROOT / "components").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".register_outputs")
    ]
    assert len(calls) > 30
    assert [where for where, outputs in calls if outputs == "{}"] == []
