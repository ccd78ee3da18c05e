"""A compliant stack as plain manifests, and ways to break one field of it."""

import copy
import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import Unknown, plain
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import Manifest, ResourceOptions

TODAY: Final = datetime.date(2026, 12, 1)
NAMESPACE: Final = "triplane-models"
LABELS: Final = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "llama"}
ABSENT: Final = object()
"""Stands for "remove the key" in `broken`."""

CONTEXT: Final = Context(
    pulumi=True, whole=True, monitor_labels={"release": "monitoring"}, today=TODAY
)
POD: Final = "engine.spec.template.spec"
CONTAINER: Final = f"{POD}.containers.0"

Json = dict[str, Any]


def _resources(**quantities: str) -> Json:
    named = {key.replace("_", "-"): value for key, value in quantities.items()}
    return {"requests": dict(named), "limits": dict(named)}


def _container() -> Json:
    resources = _resources(cpu="8", memory="64Gi", ephemeral_storage="16Gi")
    for side in resources.values():
        side["nvidia.com/gpu"] = "2"
    probe = {"httpGet": {"path": "/health", "port": "http"}, "timeoutSeconds": 10}
    return {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.33.0",
        "command": ["vllm", "serve"],
        "args": [
            "/models/llama31-8b-instruct",
            "--tensor-parallel-size=2",
            "--max-model-len=4096",
            "--served-model-name=llama",
        ],
        "env": [
            {"name": "HOME", "value": "/cache"},
            {"name": "MAX_TOTAL_TOKENS", "value": "4096"},
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        ],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": resources,
        "startupProbe": {**probe, "periodSeconds": 10, "failureThreshold": 60},
        "livenessProbe": {**probe, "periodSeconds": 20, "failureThreshold": 6},
        "readinessProbe": {**probe, "periodSeconds": 10, "failureThreshold": 3},
        "securityContext": _security(),
        "volumeMounts": [
            {"name": "models", "mountPath": "/models", "readOnly": True},
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "cache", "mountPath": "/cache"},
        ],
    }


def _security() -> Json:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }


def small_container(name: str) -> Json:
    """Return a compliant container beside an engine."""
    return {
        "name": name,
        "image": "registry.example/tools:1.2.3",
        "resources": _resources(cpu="500m", memory="256Mi", ephemeral_storage="1Gi"),
        "securityContext": _security(),
    }


def _pod() -> Json:
    return {
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "nodeSelector": {"triplane.dev/pool": "gpu-h100-pool", "nvidia.com/gpu.present": "true"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "initContainers": [
            small_container("prepare"),
            {**small_container("proxy"), "restartPolicy": "Always"},
        ],
        "containers": [_container()],
        "volumes": [
            {"name": "models", "persistentVolumeClaim": {"claimName": "models"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "4Gi"}},
            {"name": "cache", "emptyDir": {"sizeLimit": "12Gi"}},
        ],
    }


def _object(api_version: str, kind: str, name: str, spec: Json, **metadata: Any) -> Json:
    meta: Json = {"name": name, "namespace": NAMESPACE, **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


def _engine() -> Json:
    return _object(
        "apps/v1",
        "StatefulSet",
        "llama",
        {
            "serviceName": "llama",
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {
                    "labels": dict(LABELS),
                    "annotations": {
                        "triplane.dev/startup-seconds": "600",
                        "triplane.dev/accelerator": "h100-80gb",
                        "triplane.dev/engine-version": "0.33.0",
                    },
                },
                "spec": _pod(),
            },
        },
        labels=dict(LABELS),
    )


def _scaled_object() -> Json:
    query = 'sum(vllm:num_requests_waiting{model_name="llama"})'
    return _object(
        "keda.sh/v1alpha1",
        "ScaledObject",
        "llama",
        {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "llama"},
            "minReplicaCount": 1,
            "maxReplicaCount": 4,
            "fallback": {
                "failureThreshold": 3,
                "replicas": 1,
                "behavior": "currentReplicasIfHigher",
            },
            "advanced": {
                "horizontalPodAutoscalerConfig": {
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 600}}
                }
            },
            "triggers": [
                {
                    "type": "prometheus",
                    "metricType": "AverageValue",
                    "metadata": {
                        "serverAddress": "http://prometheus:9090",
                        "query": query,
                        "threshold": "5",
                        "ignoreNullValues": "false",
                    },
                }
            ],
        },
    )


def compliant() -> dict[str, Json]:
    """Return a stack in which no rule finds anything, by short names."""
    service = _object(
        "v1",
        "Service",
        "llama",
        {
            "clusterIP": "None",
            "selector": dict(LABELS),
            "ports": [{"name": "http", "port": 8000}],
        },
        labels=dict(LABELS),
        annotations={"pulumi.com/skipAwait": "true"},
    )
    monitor = _object(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        "llama",
        {"selector": {"matchLabels": dict(LABELS)}, "endpoints": [{"port": "http"}]},
        labels={"release": "monitoring"},
    )
    deny = _object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "deny-ingress",
        {"podSelector": {}, "policyTypes": ["Ingress"]},
    )
    claim = _object(
        "v1",
        "PersistentVolumeClaim",
        "models",
        {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}},
    )
    namespace: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }
    return {
        "namespace": namespace,
        "deny": deny,
        "claim": claim,
        "service": service,
        "engine": _engine(),
        "scaler": _scaled_object(),
        "monitor": monitor,
        **_gateway(),
    }


def _gateway() -> dict[str, Json]:
    """Return the objects by which requests reach the engine."""
    envoy = "gateway.envoyproxy.io/v1alpha1"
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "ai"}
    metadata = {"namespace": "io.envoy.ai_gateway", "key": "llm_total_token"}
    cost = {"response": {"from": "Metadata", "metadata": metadata}}
    return {
        "gateway": _object(
            "gateway.networking.k8s.io/v1",
            "Gateway",
            "ai",
            {"gatewayClassName": "envoy", "listeners": [{"name": "http", "port": 80}]},
        ),
        "route": _object(
            "aigateway.envoyproxy.io/v1beta1",
            "AIGatewayRoute",
            "llama",
            {
                "parentRefs": [target],
                "llmRequestCosts": [{"metadataKey": "llm_total_token", "type": "TotalToken"}],
                "rules": [{"backendRefs": [{"name": "llama"}], "timeouts": {"request": "0s"}}],
            },
        ),
        "clients": _object(
            envoy,
            "ClientTrafficPolicy",
            "ai",
            {"targetRefs": [target], "connection": {"bufferLimit": "50Mi"}},
        ),
        "backends": _object(
            envoy,
            "BackendTrafficPolicy",
            "ai",
            {
                "targetRefs": [target],
                "timeout": {"http": {"requestTimeout": "0s"}},
                "rateLimit": {"type": "Global", "global": {"rules": [{"cost": cost}]}},
            },
        ),
        "filter": _object(
            envoy, "HTTPRouteFilter", "rewrite", {"urlRewrite": {"path": {"type": "x"}}}
        ),
    }


def _member(node: Any, key: str) -> Any:
    """Return a member of a mapping or list, making an absent mapping."""
    if isinstance(node, list):
        return cast("list[Any]", node)[int(key)]
    mapping = cast("Json", node)
    if key not in mapping:
        mapping[key] = {}
    return mapping[key]


def _put(root: Any, keys: list[str], value: Any) -> None:
    """Set one field; `ABSENT` removes it, an index at the end of a list appends."""
    node = root
    for key in keys[:-1]:
        node = _member(node, key)
    last = keys[-1]
    if isinstance(node, list):
        items, index = cast("list[Any]", node), int(last)
        items[index : index + 1] = [] if value is ABSENT else [value]
    elif value is ABSENT:
        del node[last]
    else:
        node[last] = value


def broken(path: str, value: Any, stack: dict[str, Json] | None = None) -> dict[str, Json]:
    """Return the stack with one field changed.

    The path begins with an object's short name. Parts are separated by ".", and after the first
    "|" by "|" only.
    """
    changed = copy.deepcopy(compliant() if stack is None else stack)
    first, *rest = path.split("|")
    _put(changed, [*first.split("."), *rest], value)
    return changed


def manifest(body: Mapping[str, Any], options: ResourceOptions | None = None) -> Manifest:
    """Return an object as a Pulumi program would register it: protected, with long timeouts."""
    kind = f"kubernetes:{body.get('apiVersion', 'v1')}:{body.get('kind', '')}"
    told = ResourceOptions(type=kind, protect=True, create_sec=3600, update_sec=3600)
    return Manifest(body=Node(plain(body)), options=options or told)


def found(stack: Mapping[str, Mapping[str, Any]], context: Context = CONTEXT) -> list[Finding]:
    """Return everything that the rules find in a stack."""
    return list(findings([manifest(body) for body in stack.values()], context))


def refused(found_ones: Iterable[Finding], rule: str) -> list[Finding]:
    """Return what a rule refuses; warnings are left out."""
    return [each for each in found_ones if each.rule == rule and each.severity != Severity.WARNING]


def with_unknown(body: Json, path: str) -> Manifest:
    """Return an object of which one field is not known at preview."""
    changed = plain(copy.deepcopy(body))
    _put(changed, path.split("|" if "|" in path else "."), Unknown(path))
    return replace(manifest(body), body=Node(changed))


def leaf_paths(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every leaf of plain data, parts separated by "|"."""
    if isinstance(value, dict):
        pairs = list(cast("Json", value).items())
    else:
        pairs = [(str(index), each) for index, each in enumerate(cast("list[Any]", value))]
    for key, member in pairs:
        here = f"{path}|{key}" if path else key
        if isinstance(member, dict | list) and member:
            yield from leaf_paths(member, here)
        else:
            yield here
