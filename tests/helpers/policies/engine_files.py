"""Manifests of one engine as other people write them, and what the rules find in them."""

import json
from collections.abc import Sequence
from typing import Any

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import of_body

CONTEXT = Context(whole=False)
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def engine(
    args: Sequence[str] | None = None,
    *,
    image: str = "vllm/vllm-openai:v0.33.0",
    command: Sequence[str] | None = None,
    gpus: int = 1,
    resource: str = "nvidia.com/gpu",
    select: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    kind: str = "Deployment",
) -> dict[str, Any]:
    """Return a workload of one vLLM container."""
    container: dict[str, Any] = {"name": "vllm", "image": image}
    if command is not None:
        container["command"] = list(command)
    if args is not None:
        container["args"] = list(args)
    container["env"] = [{"name": key, "value": value} for key, value in (env or {}).items()]
    container["resources"] = {"limits": {resource: gpus}} if gpus else {}
    spec: dict[str, Any] = {"containers": [container]}
    if select is not None:
        spec["nodeSelector"] = select
    meta = {"name": "engine", "namespace": "llm"}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": meta,
        "spec": {"selector": {}, "template": {"metadata": {}, "spec": spec}},
    }


def scaler(query: str) -> dict[str, Any]:
    """Return a ScaledObject of the engine with one query."""
    trigger = {"type": "prometheus", "metadata": {"query": query, "threshold": "1"}}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "engine", "namespace": "llm"},
        "spec": {
            "scaleTargetRef": {"name": "engine"},
            "minReplicaCount": 1,
            "triggers": [trigger],
        },
    }


def alert(query: str) -> dict[str, Any]:
    """Return a PrometheusRule with one alert."""
    group = {"name": "a", "rules": [{"alert": "A", "expr": query}]}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "engine", "namespace": "llm"},
        "spec": {"groups": [group]},
    }


def dashboard(query: str) -> dict[str, Any]:
    """Return a ConfigMap with a dashboard of one query."""
    text = json.dumps({"panels": [{"targets": [{"expr": query}]}]})
    meta = {"name": "board", "namespace": "llm"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a.json": text}}


def found(rule: str, *bodies: dict[str, Any], context: Context = CONTEXT) -> list[Finding]:
    """Return what one rule finds among objects that are deployed together."""
    every = findings([of_body(body) for body in bodies], context)
    return [each for each in every if each.rule == rule]


def errors(rule: str, *bodies: dict[str, Any], context: Context = CONTEXT) -> list[str]:
    """Return the messages of errors of one rule, each with its remedy."""
    return [
        f"{each.message} -> {each.remedy}"
        for each in found(rule, *bodies, context=context)
        if each.severity is Severity.ERROR
    ]


def severities(rule: str, *bodies: dict[str, Any], context: Context = CONTEXT) -> list[str]:
    """Return the severities of what one rule finds."""
    return [each.severity.value for each in found(rule, *bodies, context=context)]
