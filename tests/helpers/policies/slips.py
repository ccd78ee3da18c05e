"""Ways to present broken workloads: inside other kinds, Lists, texts, releases."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from models.core.findings import Finding
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import Manifest, ResourceOptions
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTAINER, CONTEXT, Json

Attempt = Callable[[], list[Finding]]
QOS = "k8s-pod-be-guaranteed"


def engine(path: str = "", value: Any = None) -> Json:
    """Return the engine's StatefulSet, with one field changed."""
    return (compliant_stack.broken(path, value) if path else compliant_stack.compliant())["engine"]


def pod_spec(
    path: str = f"{CONTAINER}.resources.limits.cpu", value: Any = compliant_stack.ABSENT
) -> Json:
    """Return a pod's spec that is not Guaranteed, or broken otherwise."""
    return engine(path, value)["spec"]["template"]["spec"]


def only(*bodies: Json, fragment: bool = False, type: str = "") -> list[Finding]:
    """Return the findings at these objects alone."""
    made = [compliant_stack.manifest(body) for body in bodies]
    if type:
        made = [replace(each, options=ResourceOptions(type=type)) for each in made]
    context = replace(CONTEXT, whole=False)
    return list(findings([replace(each, fragment=fragment) for each in made], context))


def custom(kind: str, spec: Json, api: str = "example.com/v1") -> Json:
    """Return a custom resource in our namespace."""
    meta = {"name": "x", "namespace": compliant_stack.NAMESPACE}
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}


def in_text(body: Json) -> list[Finding]:
    """Return the findings at a ConfigGroup that is given several documents as one text."""
    text = "# a chart\n---\n" + json.dumps(custom("Harmless", {})) + "\n---\n"
    group: Json = {"yaml": text + json.dumps(body)}
    options = ResourceOptions(type="kubernetes:yaml/v2:ConfigGroup")
    group_manifest = Manifest(body=Node(plain(group)), options=options, implied_kind="ConfigGroup")
    return list(findings([group_manifest], CONTEXT))


def release(**values: Any) -> list[Finding]:
    """Return the findings at a Helm release with these inputs."""
    options = ResourceOptions(type="kubernetes:helm.sh/v3:Release", protect=True)
    body = {"name": "r", "chart": "tools", **values}
    made = Manifest(body=Node(plain(body)), options=options, implied_kind="Release")
    return list(findings([made], CONTEXT))


def leader_worker(**templates: Json) -> Json:
    """Return a LeaderWorkerSet."""
    named = {key: {"spec": spec} for key, spec in templates.items()}
    return custom("LeaderWorkerSet", {"leaderWorkerTemplate": {"size": 2, **named}})
