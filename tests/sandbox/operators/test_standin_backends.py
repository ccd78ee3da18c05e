"""What a route may forward to, what a policy may target, and which names a cluster resolves."""

from typing import Any

import pytest

from sandbox.core.kube import Object
from sandbox.operators.standins.objects import Objects
from tests.helpers.sandbox.standins import evaluate, picture, with_spec

pytestmark = pytest.mark.pure


def resolved(ref: Object, **service: Any) -> Object:
    """Return what the route says of a reference to a backend."""
    objects = Objects.of(picture())
    with_spec("HTTPRoute", rules=[{"backendRefs": [ref]}])(objects)
    with_spec("Service", **service)(objects)
    return (evaluate("HTTPRoute", objects) or {})["parents"][0]["conditions"][1]


ENGINE = {"name": "engine", "port": 8000}


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        (ENGINE, "ResolvedRefs"),
        ({**ENGINE, "kind": "Service", "group": ""}, "ResolvedRefs"),
        ({"name": "engine", "kind": "Backend", "group": "gateway.envoyproxy.io"}, "ResolvedRefs"),
        ({**ENGINE, "group": "apps"}, "InvalidKind"),
        ({**ENGINE, "kind": "Service", "group": "serving.knative.dev"}, "InvalidKind"),
        ({"name": "engine", "kind": "Backend"}, "InvalidKind"),
        ({"name": "engine", "kind": "Backend", "group": "example.com"}, "InvalidKind"),
        ({**ENGINE, "kind": "StatefulSet", "group": "apps"}, "InvalidKind"),
        (
            {**ENGINE, "kind": "InferencePool", "group": "inference.networking.k8s.io"},
            "InvalidKind",
        ),
        ({"name": "other", "port": 8000}, "BackendNotFound"),
        ({"name": "engine", "port": 80}, "PortNotFound"),
        ({"name": "engine"}, "PortNotFound"),
    ],
)
def test_a_backend_is_of_a_kind_that_envoy_gateway_serves(ref: Object, why: str) -> None:
    """validateBackendRefGroup, -Kind and -Service of internal/gatewayapi/validate.go."""
    verdict = resolved(ref)
    assert verdict["reason"] == why
    assert verdict["status"] == ("True" if why == "ResolvedRefs" else "False")


def test_a_port_of_another_protocol_is_not_a_port() -> None:
    assert resolved(ENGINE, ports=[{"port": 8000, "protocol": "UDP"}])["reason"] == "PortNotFound"
    assert resolved(ENGINE, ports=[{"port": 8000, "protocol": "TCP"}])["status"] == "True"


def test_a_service_that_is_only_a_name_is_refused() -> None:
    verdict = resolved(ENGINE, type="ExternalName", externalName="example.com")
    assert verdict["reason"] == "UnsupportedValue"


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ({"name": "engine"}, None),
        ({"name": "engine", "kind": "Service"}, "Service of group"),
        ({"name": "engine", "kind": "Backend", "group": "gateway.envoyproxy.io"}, "not supported"),
        (
            {"name": "pool", "kind": "InferencePool", "group": "inference.networking.k8s.io"},
            "InferencePool llm/pool does not exist",
        ),
        ({"name": "pool", "kind": "InferencePool"}, "not supported"),
    ],
)
def test_an_ai_route_forwards_to_service_backends_and_pools(
    ref: Object, message: str | None
) -> None:
    """AIGatewayRouteRuleBackendRef of ai-gateway's api/v1beta1: group and kind go together."""
    objects = Objects.of(picture())
    with_spec("AIGatewayRoute", rules=[{"backendRefs": [ref]}])(objects)
    (verdict,) = (evaluate("AIGatewayRoute", objects) or {})["conditions"]
    assert verdict["type"] == ("Accepted" if message is None else "NotAccepted")
    assert (message or "") in verdict["message"]


def test_a_policy_of_another_group_has_no_target() -> None:
    objects = Objects.of(picture())
    target = {"group": "example.com", "kind": "Gateway", "name": "llm"}
    with_spec("ClientTrafficPolicy", targetRefs=[target])(objects)
    (ancestor,) = (evaluate("ClientTrafficPolicy", objects) or {})["ancestors"]
    assert ancestor["conditions"][0]["reason"] == "TargetNotFound"


@pytest.mark.parametrize(
    ("hostname", "cluster_ip", "message"),
    [
        ("engine.llm.svc.cluster.local", "None", None),
        ("engine.llm.svc.cluster.local", "10.0.0.1", None),
        ("engine-0.engine.llm.svc.cluster.local", "None", None),
        ("engine-0.engine.llm.svc.cluster.local", "10.0.0.1", "its Service is not headless"),
        ("engine-0.engine.llm.svc.cluster.local", None, "its Service is not headless"),
        ("a.b.engine.llm.svc.cluster.local", "None", "is not [pod.]service.namespace"),
        ("llm.svc.cluster.local", "None", "is not [pod.]service.namespace"),
        ("engine.other.svc.cluster.local", "None", "Service other/engine does not exist"),
        ("api.example.com", "None", None),
    ],
)
def test_a_name_in_the_cluster_is_one_that_its_dns_has(
    hostname: str, cluster_ip: str | None, message: str | None
) -> None:
    """A pod has a name of its own only below a headless Service (Kubernetes, DNS for pods)."""
    objects = Objects.of(picture())
    with_spec("Service", clusterIP=cluster_ip)(objects)
    endpoint = {"fqdn": {"hostname": hostname, "port": 8000}}
    with_spec("Backend", endpoints=[endpoint])(objects)
    (verdict,) = (evaluate("Backend", objects) or {})["conditions"]
    assert verdict["status"] == ("True" if message is None else "False"), verdict
    assert (message or "") in verdict["message"]


@pytest.mark.parametrize(
    ("cluster_ip", "target", "port", "reached"),
    [
        ("10.0.0.1", 9000, 8000, True),
        ("10.0.0.1", 9000, 9000, False),
        ("None", 9000, 9000, True),
        ("None", 9000, 8000, False),
        ("None", "http", 8000, True),
    ],
)
def test_a_headless_service_translates_no_port(
    cluster_ip: str, target: int | str, port: int, reached: bool
) -> None:
    """Without a virtual address clients dial the pod itself."""
    objects = Objects.of(picture())
    ports = [{"port": 8000, "targetPort": target}]
    with_spec("Service", clusterIP=cluster_ip, ports=ports)(objects)
    fqdn = {"hostname": "engine.llm.svc.cluster.local", "port": port}
    with_spec("Backend", endpoints=[{"fqdn": fqdn}])(objects)
    (verdict,) = (evaluate("Backend", objects) or {})["conditions"]
    assert verdict["status"] == str(reached)
