"""Namespaces with their Pod Security level, service accounts, and who may talk to engines."""

from typing import Final

from pulumi_kubernetes.networking.v1 import (
    NetworkPolicyIngressRuleArgsDict,
    NetworkPolicyPeerArgsDict,
    NetworkPolicySpecArgsDict,
)

from models.core.names import GATEWAY_NAMESPACE, MANAGED_BY, MODELS_NAMESPACE

RESTRICTED: Final = (MODELS_NAMESPACE, GATEWAY_NAMESPACE)
"""Our namespaces, all at the `restricted` Pod Security level."""

_PROXY_NAMESPACES: Final = ("envoy-gateway-system", GATEWAY_NAMESPACE)
"""Where Envoy's pods run: Envoy Gateway's own namespace unless it is told to use the Gateway's."""

_PROMETHEUS_NAMESPACE: Final = "triplane-observability"
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


def labels() -> dict[str, str]:
    """Return the labels of our own namespaces: Pod Security `restricted`.

    No mesh injection: an injected sidecar without equal requests and limits would take the pods
    their Guaranteed QoS class.
    """
    return security_labels("restricted")


def security_labels(level: str) -> dict[str, str]:
    """Return a namespace's labels: its Pod Security level, enforced, warned and audited."""
    return {
        **MANAGED_BY,
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/enforce-version": "latest",
        "pod-security.kubernetes.io/audit": level,
        "pod-security.kubernetes.io/warn": level,
    }


def deny_ingress() -> NetworkPolicySpecArgsDict:
    """Return a policy by which nothing may connect to any pod of a namespace."""
    return {"pod_selector": {}, "policy_types": ["Ingress"], "ingress": []}


def allow_engines(port: int) -> NetworkPolicySpecArgsDict:
    """Return a policy by which the gateway's proxies and Prometheus reach engines on `port`."""
    rule: NetworkPolicyIngressRuleArgsDict = {
        "from_": [_namespace(name) for name in (*_PROXY_NAMESPACES, _PROMETHEUS_NAMESPACE)],
        "ports": [{"protocol": "TCP", "port": port}],
    }
    return {
        "pod_selector": {"match_labels": {"app.kubernetes.io/name": "vllm"}},
        "policy_types": ["Ingress"],
        "ingress": [rule],
    }


def _namespace(name: str) -> NetworkPolicyPeerArgsDict:
    return {"namespace_selector": {"match_labels": {_NAMESPACE_NAME: name}}}
