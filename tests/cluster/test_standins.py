"""Every stand-in says yes to a whole picture, and no to each way of breaking it."""

import base64
import copy
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.kube import Object
from sandbox.standins.attachment import CONTROLLER_NAME
from sandbox.standins.conditions import stamped
from sandbox.standins.objects import Objects
from sandbox.standins.registry import KINDS, STANDIN_KINDS

pytestmark = pytest.mark.pure

GATEWAY_API = "gateway.networking.k8s.io/v1"
ENVOY = "gateway.envoyproxy.io/v1alpha1"
AI = "aigateway.envoyproxy.io/v1beta1"
GATEWAY_REF = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "llm"}


def _object(version: str, kind: str, name: str, spec: Object, **more: Any) -> Object:
    space = more.pop("space", "llm")
    metadata: Object = {"name": name, "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if space:
        metadata["namespace"] = space
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **more}


def _picture() -> list[Object]:
    """Return a whole gateway with two policies, a fallback key and a scaled engine."""
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "chat"}
    tls = {"certificateRefs": [{"name": "cert"}]}
    listener: Object = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}
    proxy = {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": "proxy"}
    fqdn = {"hostname": "engine.llm.svc.cluster.local", "port": 8000}
    backend_ref = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "engine"}
    metadata = {"serverAddress": "http://prom:9090", "query": "q", "threshold": "1"}
    return [
        {"kind": "Namespace", "metadata": {"name": "llm"}},
        _object("v1", "Secret", "cert", {}, data={"tls.crt": "eA==", "tls.key": "eA=="}),
        _object("v1", "Secret", "clients", {}, data={"team-a": "eA=="}),
        _object("v1", "Secret", "saas", {}, data={"apiKey": "eA=="}),
        _object("v1", "Service", "engine", {"clusterIP": "None", "ports": [{"port": 8000}]}),
        _object("apps/v1", "StatefulSet", "engine", {}),
        _object(ENVOY, "EnvoyProxy", "proxy", {}),
        _object(
            GATEWAY_API, "GatewayClass", "envoy", {"controllerName": CONTROLLER_NAME}, space=""
        ),
        _object(
            GATEWAY_API,
            "Gateway",
            "llm",
            {
                "gatewayClassName": "envoy",
                "infrastructure": {"parametersRef": proxy},
                "listeners": [listener],
            },
        ),
        _object(
            GATEWAY_API,
            "HTTPRoute",
            "chat",
            {
                "parentRefs": [GATEWAY_REF],
                "rules": [{"backendRefs": [{"name": "engine", "port": 8000}]}],
            },
        ),
        _object(ENVOY, "Backend", "engine", {"endpoints": [{"fqdn": fqdn}]}),
        _object(AI, "AIServiceBackend", "engine", {"backendRef": backend_ref}),
        _object(
            AI,
            "AIGatewayRoute",
            "models",
            {"parentRefs": [GATEWAY_REF], "rules": [{"backendRefs": [{"name": "engine"}]}]},
        ),
        _object(
            AI,
            "BackendSecurityPolicy",
            "key",
            {
                "type": "APIKey",
                "targetRefs": [{"kind": "AIServiceBackend", "name": "engine"}],
                "apiKey": {"secretRef": {"name": "saas"}},
            },
        ),
        _object(ENVOY, "BackendTrafficPolicy", "limits", {"targetRefs": [target]}),
        _object(ENVOY, "ClientTrafficPolicy", "clients", {"targetRefs": [GATEWAY_REF]}),
        _object(
            ENVOY,
            "SecurityPolicy",
            "keys",
            {
                "targetRefs": [GATEWAY_REF],
                "apiKeyAuth": {"credentialRefs": [{"name": "clients"}]},
            },
        ),
        _object(ENVOY, "EnvoyExtensionPolicy", "hash", {"targetRefs": [target]}),
        _object(
            "keda.sh/v1alpha1",
            "ScaledObject",
            "engine",
            {
                "scaleTargetRef": {"kind": "StatefulSet", "name": "engine"},
                "triggers": [{"type": "prometheus", "metadata": metadata}],
            },
        ),
        *_tenant(),
    ]


def _tenant() -> list[Object]:
    """Return a MinIO tenant with what it needs."""
    text = 'export MINIO_ROOT_USER="root"\nexport MINIO_ROOT_PASSWORD="password"\n'
    template = {"spec": {"storageClassName": "drives"}}
    pool = {"name": "p", "servers": 4, "volumesPerServer": 1, "volumeClaimTemplate": template}
    spec: Object = {
        "configuration": {"name": "root"},
        "externalCertSecret": [{"name": "cert"}],
        "pools": [pool],
    }
    encoded = base64.b64encode(text.encode()).decode()
    return [
        _object("v1", "Secret", "root", {}, data={"config.env": encoded}),
        _object("storage.k8s.io/v1", "StorageClass", "drives", {}, space=""),
        _object("minio.min.io/v2", "Tenant", "objects", spec),
    ]


SUBJECTS = {obj["kind"]: obj["metadata"]["name"] for obj in _picture()}


def _evaluate(kind: str, objects: Objects) -> Object | None:
    (entry,) = [entry for entry in KINDS if entry.kind == kind]
    assert entry.evaluate is not None
    space = "" if kind == "GatewayClass" else "llm"
    subject = objects.get(kind, space, SUBJECTS[kind])
    assert subject is not None
    return entry.evaluate(subject, objects)


def _all_conditions(status: Object) -> list[Object]:
    found: list[Object] = list(status.get("conditions", []))
    if "currentState" in status:  # a Tenant has a state in the place of conditions
        good = status["currentState"] == "Initialized"
        message = status["healthMessage"]
        found.append({"type": "State", "status": str(good), "message": message})
    for part in ("listeners", "parents", "ancestors"):
        for item in status.get(part, []):
            found += item["conditions"]
    return found


@pytest.mark.parametrize("kind", STANDIN_KINDS)
def test_a_whole_picture_is_accepted(kind: str) -> None:
    """A stand-in that never said yes would make every wait run into its timeout."""
    status = _evaluate(kind, Objects.of(_picture()))
    assert status is not None
    verdicts = {
        found["type"]: found["status"]
        for found in _all_conditions(status)
        if found["type"] not in {"Active", "Fallback"}
    }
    assert verdicts
    assert set(verdicts.values()) == {"True"}, status


def _without(kind: str, name: str) -> Callable[[Objects], None]:
    def change(objects: Objects) -> None:
        keys = [key for key in objects.items if (key[0], key[2]) == (kind, name)]
        assert keys, f"the picture has a {kind} {name}"
        del objects.items[keys[0]]

    return change


def _with(kind: str, **spec: object) -> Callable[[Objects], None]:
    def change(objects: Objects) -> None:
        (found,) = [obj for key, obj in objects.items.items() if key[0] == kind]
        found["spec"].update(spec)

    return change


def _second(kind: str) -> Callable[[Objects], None]:
    """Add an older object of `kind` with the same spec."""

    def change(objects: Objects) -> None:
        (found,) = [obj for key, obj in objects.items.items() if key[0] == kind]
        other = copy.deepcopy(found)
        other["metadata"] |= {"name": "older", "creationTimestamp": "2025-01-01T00:00:00Z"}
        objects.put(other)

    return change


def _empty_secret(name: str) -> Callable[[Objects], None]:
    return lambda objects: objects.put(_object("v1", "Secret", name, {}, data={}))


def _hpa(objects: Objects) -> None:
    ref = {"kind": "StatefulSet", "name": "engine"}
    spec: Object = {"scaleTargetRef": ref}
    objects.put(_object("autoscaling/v2", "HorizontalPodAutoscaler", "mine", spec))


FQDN = "engine.llm.svc.cluster.local"
OTHER_PARENT = {**GATEWAY_REF, "sectionName": "http"}
BROKEN: list[tuple[str, Callable[[Objects], None], str]] = [
    (
        "GatewayClass",
        _with("GatewayClass", parametersRef={"kind": "EnvoyProxy", "name": "x"}),
        "parametersRef must name an EnvoyProxy",
    ),
    ("Gateway", _without("GatewayClass", "envoy"), "GatewayClass envoy does not exist"),
    ("Gateway", _without("Secret", "cert"), "Secret llm/cert does not exist"),
    ("Gateway", _empty_secret("cert"), "lacks tls.crt or tls.key"),
    ("Gateway", _without("EnvoyProxy", "proxy"), "EnvoyProxy llm/proxy does not exist"),
    ("HTTPRoute", _without("Gateway", "llm"), "Gateway llm/llm does not exist"),
    ("HTTPRoute", _without("Service", "engine"), "Service llm/engine does not exist"),
    ("HTTPRoute", _with("HTTPRoute", parentRefs=[OTHER_PARENT]), "has no listener http"),
    ("AIGatewayRoute", _without("Gateway", "llm"), "Gateway llm/llm does not exist"),
    (
        "AIGatewayRoute",
        _without("AIServiceBackend", "engine"),
        "AIServiceBackend llm/engine does not exist",
    ),
    ("AIGatewayRoute", _with("AIGatewayRoute", parentRefs=[]), "parentRefs is empty"),
    ("AIServiceBackend", _without("Backend", "engine"), "Backend llm/engine does not exist"),
    ("AIServiceBackend", _second("BackendSecurityPolicy"), "several BackendSecurityPolicies"),
    (
        "AIServiceBackend",
        _with("AIServiceBackend", backendRef={"kind": "Service", "name": "engine"}),
        "must name a Backend",
    ),
    ("BackendSecurityPolicy", _without("Secret", "saas"), "Secret llm/saas does not exist"),
    ("BackendSecurityPolicy", _empty_secret("saas"), "has no key apiKey"),
    ("Backend", _without("Service", "engine"), "Service llm/engine does not exist"),
    (
        "Backend",
        _with("Backend", endpoints=[{"fqdn": {"hostname": FQDN, "port": 80}}]),
        "has ports [8000], not 80",
    ),
    (
        "Backend",
        _with("Backend", endpoints=[{"ip": {"address": "127.0.0.1", "port": 80}}]),
        "loopback",
    ),
    ("Backend", _with("Backend", endpoints=[]), "endpoints is empty"),
    ("BackendTrafficPolicy", _without("HTTPRoute", "chat"), "HTTPRoute llm/chat does not exist"),
    ("BackendTrafficPolicy", _second("BackendTrafficPolicy"), "older and has the same target"),
    ("ClientTrafficPolicy", _without("Gateway", "llm"), "Gateway llm/llm does not exist"),
    (
        "ClientTrafficPolicy",
        _with("ClientTrafficPolicy", targetRefs=[OTHER_PARENT]),
        "has no section http",
    ),
    ("SecurityPolicy", _without("Secret", "clients"), "Secret llm/clients does not exist"),
    ("SecurityPolicy", _empty_secret("clients"), "holds no client keys"),
    ("EnvoyExtensionPolicy", _without("HTTPRoute", "chat"), "HTTPRoute llm/chat does not exist"),
    ("ScaledObject", _without("StatefulSet", "engine"), "StatefulSet llm/engine does not exist"),
    ("ScaledObject", _with("ScaledObject", triggers=[]), "triggers is empty"),
    (
        "ScaledObject",
        _with("ScaledObject", triggers=[{"type": "prometheus", "metadata": {"query": "q"}}]),
        "metadata.serverAddress is missing",
    ),
    ("ScaledObject", _second("ScaledObject"), "ScaledObject llm/older scales the same target"),
    ("ScaledObject", _hpa, "HorizontalPodAutoscaler llm/mine scales the same target"),
    ("ScaledObject", _with("ScaledObject", minReplicaCount=5, maxReplicaCount=2), "is above"),
    ("Tenant", _without("Secret", "root"), "Secret llm/root does not exist"),
    ("Tenant", _empty_secret("root"), "sets no MINIO_ROOT_USER"),
    ("Tenant", _without("Secret", "cert"), "Secret llm/cert does not exist"),
    ("Tenant", _without("StorageClass", "drives"), "StorageClass drives does not exist"),
    ("Tenant", _with("Tenant", pools=[]), "pools is empty"),
    (
        "Tenant",
        _with("Tenant", pools=[{"name": "p", "servers": 3, "volumesPerServer": 7}]),
        "make no erasure sets",
    ),
    ("Tenant", _second("Tenant"), "Tenant llm/older is in the same namespace"),
]


@pytest.mark.parametrize(
    ("kind", "change", "message"), BROKEN, ids=[f"{kind}: {text}" for kind, _, text in BROKEN]
)
def test_a_broken_picture_is_refused_by_name(
    kind: str, change: Callable[[Objects], None], message: str
) -> None:
    """Readiness is never made up: what is missing or does not fit is named."""
    objects = Objects.of(_picture())
    change(objects)
    status = _evaluate(kind, objects)
    assert status is not None
    refusals = [found for found in _all_conditions(status) if found["status"] == "False"]
    assert any(message in found["message"] for found in refusals), status


def test_every_stand_in_is_made_to_say_no() -> None:
    """A kind that nobody breaks might be a yes that never looks."""
    assert {kind for kind, _, _ in BROKEN} == set(STANDIN_KINDS)


def test_a_route_from_a_namespace_that_the_listener_does_not_allow_is_refused() -> None:
    """`Same` is the default: a route elsewhere needs the listener's consent."""
    objects = Objects.of(_picture())
    route = _object(AI, "AIGatewayRoute", "models", {"rules": []}, space="team")
    route["spec"]["parentRefs"] = [{**GATEWAY_REF, "namespace": "llm"}]
    objects.put(route)
    (entry,) = [entry for entry in KINDS if entry.kind == "AIGatewayRoute"]
    assert entry.evaluate is not None

    def verdict() -> Object:
        assert entry.evaluate is not None
        return (entry.evaluate(route, objects) or {})["conditions"][0]

    assert "allows routes of kind AIGatewayRoute from namespace team" in verdict()["message"]
    gateway = objects.get("Gateway", "llm", "llm") or {}
    selector = {"matchLabels": {"gateway": "yes"}}
    allowed = {"namespaces": {"from": "Selector", "selector": selector}}
    gateway["spec"]["listeners"][0]["allowedRoutes"] = allowed
    assert verdict()["type"] == "NotAccepted"
    objects.put({"kind": "Namespace", "metadata": {"name": "team", "labels": {"gateway": "yes"}}})
    assert verdict()["type"] == "Accepted"


def test_a_reference_into_another_namespace_needs_a_grant() -> None:
    """Envoy Gateway refuses it without; so must its stand-in."""
    objects = Objects.of(_picture())
    (route,) = objects.all("HTTPRoute")
    route["spec"]["rules"] = [
        {"backendRefs": [{"name": "engine", "namespace": "other", "port": 8000}]}
    ]
    service = _object("v1", "Service", "engine", {"ports": [{"port": 8000}]}, space="other")
    objects.put(service)

    def resolved() -> Object:
        status = _evaluate("HTTPRoute", objects) or {}
        return status["parents"][0]["conditions"][1]

    assert resolved()["reason"] == "RefNotPermitted"
    source = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "llm"}
    spec = {"from": [source], "to": [{"group": "", "kind": "Service"}]}
    objects.put(_object(GATEWAY_API, "ReferenceGrant", "g", spec, space="other"))
    assert resolved()["status"] == "True"


def test_other_controllers_objects_are_left_alone() -> None:
    """A class of somebody else's is somebody else's to judge."""
    objects = Objects.of(_picture())
    _with("GatewayClass", controllerName="example.com/other")(objects)
    assert _evaluate("GatewayClass", objects) is None
    assert _evaluate("Gateway", objects) is None


def test_a_condition_carries_the_generation_it_judges() -> None:
    """A waiter must be able to tell a verdict about the present spec from an old one."""
    status = _evaluate("Gateway", Objects.of(_picture())) or {}
    assert {found["observedGeneration"] for found in _all_conditions(status)} == {3}


def test_the_time_of_a_condition_moves_only_when_it_turns() -> None:
    """Otherwise every evaluation would be a write, and every write an evaluation."""
    status = _evaluate("Gateway", Objects.of(_picture())) or {}
    first = stamped(status, {}, "t1")
    assert stamped(status, first, "t2") == first
    objects = Objects.of(_picture())
    _without("Secret", "cert")(objects)
    turned = stamped(_evaluate("Gateway", objects) or {}, first, "t3")
    times = {found["type"]: found["lastTransitionTime"] for found in turned["conditions"]}
    assert times == {"Accepted": "t3", "Programmed": "t3"}
    accepted = turned["listeners"][0]["conditions"][1]
    assert (accepted["type"], accepted["lastTransitionTime"]) == ("Accepted", "t1")
