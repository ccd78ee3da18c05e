"""Our own manifests under its own profile: fixture stacks, and dev as rendered."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from components.render.engine import workload as engine
from models.core.names import MODELS_NAMESPACE
from models.plan.plan import PlatformPlan
from sandbox.engine.stack import SandboxStack
from tests.helpers.cli.command import triplane as run
from tests.helpers.plans.dev import dev_plan


def _pool(name: str, accelerator: str, instance: str) -> dict[str, Any]:
    return {
        "name": name,
        "accelerator": accelerator,
        "instance_type": instance,
        "min": 1,
        "max": 4,
    }


def _cards(settings: dict[str, Any]) -> None:
    region = settings["regions"][0]
    region["pools"] += [
        _pool("gpu-h100-pool", "h100-80gb", "p5.48xlarge"),
        _pool("gpu-a100-pool", "a100-80gb", "p4de.24xlarge"),
    ]
    settings["models"] += [
        {
            "model": "llama33-70b-instruct",
            "pool": "gpu-h100-pool",
            "parallelism": {"tensor": 4},
            "replicas": 1,
        },
        {
            "model": "qwen3-30b-a3b",
            "pool": "gpu-a100-pool",
            "parallelism": {"tensor": 2, "expert": True},
            "autoscaling": {"min": 1, "max": 3},
        },
        {"model": "falcon-mamba-7b", "pool": "gpu-h100-pool", "replicas": 1},
        {
            "model": "qwen3-32b",
            "pool": "gpu-a100-pool",
            "replicas": 1,
            "parallelism": {"tensor": 2},
        },
    ]


def camel(data: Any) -> Any:
    """Return data with its keys in the API's spelling; keys of labels have no underscores."""
    if isinstance(data, dict):
        found = cast("dict[str, Any]", data)
        return {
            re.sub(r"_([a-z])", lambda match: match[1].upper(), key): camel(value)
            for key, value in found.items()
        }
    if isinstance(data, list | tuple):
        return [camel(each) for each in cast("list[Any]", data)]
    return data


def manifests(plan: PlatformPlan) -> Iterator[dict[str, Any]]:
    """Yield the engines and scalers of a plan, as the API server would get them."""
    for model in plan.regions[0].models:
        meta = {"name": model.name, "namespace": MODELS_NAMESPACE}
        spec = camel(engine.stateful_set(model))
        yield {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


@pytest.mark.pure
def test_stacks_on_several_cards_have_no_finding(tmp_path: Path) -> None:
    """H100, A100, several GPUs, experts, recurrent states."""
    plan = dev_plan(_cards)
    items = list(manifests(plan))
    assert len(items) == 6
    file = tmp_path / "stack.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    ran = run("check", "--profile", "triplane", "--json", "-f", str(file))
    assert ran.json["findings"] == []


@pytest.mark.pure
@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("containers.0.args.1", "--swap-space=4", "k8s-container-take-known-options"),
        ("nodeSelector", {}, "k8s-pod-select-gpu-nodes"),
        ("containers.0.resources.requests.cpu", "1", "k8s-pod-be-guaranteed"),
        ("containers.0.startupProbe", None, "k8s-container-allow-startup"),
        ("enableServiceLinks", True, "k8s-pod-switch-off-service-links"),
    ],
)
def test_one_broken_field_is_found(tmp_path: Path, path: str, value: Any, rule: str) -> None:
    """Each kind of field, in what this project renders."""
    body = next(manifests(dev_plan()))
    node: Any = body["spec"]["template"]["spec"]
    *keys, last = path.split(".")
    for key in keys:
        node = node[int(key)] if key.isdigit() else node[key]
    node[int(last) if last.isdigit() else last] = value
    file = tmp_path / "stack.json"
    file.write_text(json.dumps(body))
    ran = run("check", "--profile", "triplane", "--json", "-f", str(file))
    assert rule in {each["rule"] for each in ran.json["findings"] if each["severity"] == "error"}


@pytest.mark.engine
def test_dev_as_rendered_has_no_finding(tmp_path: Path) -> None:
    """The program's own manifests pass what the project asks of everybody."""
    rendered = SandboxStack(env="dev").render(tmp_path / "dev")
    ran = run("check", "--profile", "triplane", "--json", "-f", str(rendered))
    assert ran.json["findings"] == []
    assert ran.json["files"] > 25
