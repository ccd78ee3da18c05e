"""Every stand-in says yes to a whole picture, and no to each way of breaking it."""

import base64
from collections.abc import Callable

import pytest

from sandbox.core.kube import Object
from sandbox.operators.standins.conditions import stamped
from sandbox.operators.standins.objects import Objects
from sandbox.operators.standins.registry import KINDS, STANDIN_KINDS
from tests.helpers.sandbox.standins import (
    AI,
    GATEWAY_API,
    GATEWAY_REF,
    all_conditions,
    evaluate,
    picture,
    second,
    standin_object,
    with_spec,
    without,
)

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("kind", STANDIN_KINDS)
def test_a_whole_picture_is_accepted(kind: str) -> None:
    """A stand-in that never said yes would make every wait run into its timeout."""
    status = evaluate(kind, Objects.of(picture()))
    assert status is not None
    verdicts = {
        found["type"]: found["status"]
        for found in all_conditions(status)
        if found["type"] not in {"Active", "Fallback"}
    }
    assert verdicts
    assert set(verdicts.values()) == {"True"}, status


def _empty_secret(name: str) -> Callable[[Objects], None]:
    return lambda objects: objects.put(
        standin_object("v1", "Secret", name, {}, data={}, type="kubernetes.io/tls")
    )


ROOT = "export MINIO_ROOT_USER={}\nexport MINIO_ROOT_PASSWORD={}\n"


def _config(text: str) -> Callable[[Objects], None]:
    """Set what the tenant's Secret holds."""
    data = {"config.env": base64.b64encode(text.encode()).decode()}
    return lambda objects: objects.put(standin_object("v1", "Secret", "root", {}, data=data))


def _hpa(objects: Objects) -> None:
    ref = {"kind": "StatefulSet", "name": "engine"}
    spec: Object = {"scaleTargetRef": ref}
    objects.put(standin_object("autoscaling/v2", "HorizontalPodAutoscaler", "mine", spec))


FQDN = "engine.llm.svc.cluster.local"
OTHER_PARENT = {**GATEWAY_REF, "sectionName": "http"}
BROKEN: list[tuple[str, Callable[[Objects], None], str]] = [
    (
        "GatewayClass",
        with_spec("GatewayClass", parametersRef={"kind": "EnvoyProxy", "name": "x"}),
        "parametersRef must name an EnvoyProxy",
    ),
    ("Gateway", without("GatewayClass", "envoy"), "GatewayClass envoy does not exist"),
    ("Gateway", without("Secret", "cert"), "Secret llm/cert does not exist"),
    ("Gateway", _empty_secret("cert"), "lacks tls.crt or tls.key"),
    ("Gateway", without("EnvoyProxy", "proxy"), "EnvoyProxy llm/proxy does not exist"),
    ("HTTPRoute", without("Gateway", "llm"), "Gateway llm/llm does not exist"),
    ("HTTPRoute", without("Service", "engine"), "Service llm/engine does not exist"),
    ("HTTPRoute", with_spec("HTTPRoute", parentRefs=[OTHER_PARENT]), "has no listener http"),
    ("AIGatewayRoute", without("Gateway", "llm"), "Gateway llm/llm does not exist"),
    (
        "AIGatewayRoute",
        without("AIServiceBackend", "engine"),
        "AIServiceBackend llm/engine does not exist",
    ),
    ("AIGatewayRoute", with_spec("AIGatewayRoute", parentRefs=[]), "parentRefs is empty"),
    ("AIServiceBackend", without("Backend", "engine"), "Backend llm/engine does not exist"),
    ("AIServiceBackend", second("BackendSecurityPolicy"), "several BackendSecurityPolicies"),
    (
        "AIServiceBackend",
        with_spec("AIServiceBackend", backendRef={"kind": "Service", "name": "engine"}),
        "must name a Backend",
    ),
    ("BackendSecurityPolicy", without("Secret", "saas"), "Secret llm/saas does not exist"),
    ("BackendSecurityPolicy", _empty_secret("saas"), "has no key apiKey"),
    ("Backend", without("Service", "engine"), "Service llm/engine does not exist"),
    (
        "Backend",
        with_spec("Backend", endpoints=[{"fqdn": {"hostname": FQDN, "port": 80}}]),
        "has ports [8000], not 80",
    ),
    (
        "Backend",
        with_spec("Backend", endpoints=[{"ip": {"address": "127.0.0.1", "port": 80}}]),
        "loopback",
    ),
    ("Backend", with_spec("Backend", endpoints=[]), "endpoints is empty"),
    ("BackendTrafficPolicy", without("HTTPRoute", "chat"), "HTTPRoute llm/chat does not exist"),
    ("BackendTrafficPolicy", second("BackendTrafficPolicy"), "older and has the same target"),
    ("ClientTrafficPolicy", without("Gateway", "llm"), "Gateway llm/llm does not exist"),
    (
        "ClientTrafficPolicy",
        with_spec("ClientTrafficPolicy", targetRefs=[OTHER_PARENT]),
        "has no section http",
    ),
    ("SecurityPolicy", without("Secret", "clients"), "Secret llm/clients does not exist"),
    ("SecurityPolicy", _empty_secret("clients"), "holds no client keys"),
    ("EnvoyExtensionPolicy", without("HTTPRoute", "chat"), "HTTPRoute llm/chat does not exist"),
    ("ScaledObject", without("StatefulSet", "engine"), "StatefulSet llm/engine does not exist"),
    ("ScaledObject", with_spec("ScaledObject", triggers=[]), "triggers is empty"),
    (
        "ScaledObject",
        with_spec("ScaledObject", triggers=[{"type": "prometheus", "metadata": {"query": "q"}}]),
        "metadata.serverAddress is missing",
    ),
    ("ScaledObject", second("ScaledObject"), "ScaledObject llm/older scales the same target"),
    ("ScaledObject", _hpa, "HorizontalPodAutoscaler llm/mine scales the same target"),
    ("ScaledObject", with_spec("ScaledObject", minReplicaCount=5, maxReplicaCount=2), "is above"),
    ("Tenant", without("Secret", "root"), "Secret llm/root does not exist"),
    ("Tenant", _empty_secret("root"), "sets no MINIO_ROOT_USER"),
    ("Tenant", _config('export MINIO_ROOT_USER="root"\n'), "sets no MINIO_ROOT_PASSWORD"),
    ("Tenant", _config(ROOT.format("", "password")), "MINIO_ROOT_USER to fewer than 3 char"),
    ("Tenant", _config(ROOT.format('""', "password")), "MINIO_ROOT_USER to fewer than 3 char"),
    ("Tenant", _config(ROOT.format("ab", "password")), "MINIO_ROOT_USER to fewer than 3 char"),
    ("Tenant", _config(ROOT.format("root", '""')), "MINIO_ROOT_PASSWORD to fewer than 8 char"),
    ("Tenant", _config(ROOT.format("root", "1234567")), "PASSWORD to fewer than 8 char"),
    ("Tenant", without("Secret", "cert"), "Secret llm/cert does not exist"),
    ("Tenant", without("StorageClass", "drives"), "StorageClass drives does not exist"),
    ("Tenant", with_spec("Tenant", pools=[]), "pools is empty"),
    (
        "Tenant",
        with_spec("Tenant", pools=[{"name": "p", "servers": 3, "volumesPerServer": 7}]),
        "make no erasure sets",
    ),
    ("Tenant", second("Tenant"), "Tenant llm/older is in the same namespace"),
]


@pytest.mark.parametrize(
    ("kind", "change", "message"), BROKEN, ids=[f"{kind}: {text}" for kind, _, text in BROKEN]
)
def test_a_broken_picture_is_refused_by_name(
    kind: str, change: Callable[[Objects], None], message: str
) -> None:
    """Readiness is never made up: what is missing or does not fit is named."""
    objects = Objects.of(picture())
    change(objects)
    status = evaluate(kind, objects)
    assert status is not None
    refusals = [found for found in all_conditions(status) if found["status"] == "False"]
    assert any(message in found["message"] for found in refusals), status


@pytest.mark.parametrize("value", ["rot", "'rot'", '"rot"'])
def test_root_keys_of_the_least_length_are_taken(value: str) -> None:
    """Quotes are the shell's, and not part of a key."""
    objects = Objects.of(picture())
    _config(ROOT.format(value, '"12345678"'))(objects)
    assert (evaluate("Tenant", objects) or {})["currentState"] == "Initialized"


def test_a_refusal_shows_no_root_key() -> None:
    objects = Objects.of(picture())
    _config(ROOT.format("ab", "s3cret!"))(objects)
    assert "s3cret!" not in str(evaluate("Tenant", objects))


def test_every_stand_in_is_made_to_say_no() -> None:
    """A kind that nobody breaks might be a yes that never looks."""
    assert {kind for kind, _, _ in BROKEN} == set(STANDIN_KINDS)


def test_a_route_from_a_namespace_that_the_listener_does_not_allow_is_refused() -> None:
    """`Same` is the default: a route elsewhere needs the listener's consent."""
    objects = Objects.of(picture())
    route = standin_object(AI, "AIGatewayRoute", "models", {"rules": []}, space="team")
    route["spec"]["parentRefs"] = [{**GATEWAY_REF, "namespace": "llm"}]
    objects.put(route)
    (entry,) = [entry for entry in KINDS if entry.kind == "AIGatewayRoute"]
    assert entry.stand_in is not None

    def verdict() -> Object:
        assert entry.stand_in is not None
        return (entry.stand_in.status(route, objects) or {})["conditions"][0]

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
    objects = Objects.of(picture())
    (route,) = objects.all("HTTPRoute")
    route["spec"]["rules"] = [
        {"backendRefs": [{"name": "engine", "namespace": "other", "port": 8000}]}
    ]
    service = standin_object("v1", "Service", "engine", {"ports": [{"port": 8000}]}, space="other")
    objects.put(service)

    def resolved() -> Object:
        status = evaluate("HTTPRoute", objects) or {}
        return status["parents"][0]["conditions"][1]

    assert resolved()["reason"] == "RefNotPermitted"
    source = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "llm"}
    spec = {"from": [source], "to": [{"group": "", "kind": "Service"}]}
    objects.put(standin_object(GATEWAY_API, "ReferenceGrant", "g", spec, space="other"))
    assert resolved()["status"] == "True"


def test_other_controllers_objects_are_left_alone() -> None:
    """A class of somebody else's is somebody else's to judge."""
    objects = Objects.of(picture())
    with_spec("GatewayClass", controllerName="example.com/other")(objects)
    assert evaluate("GatewayClass", objects) is None
    assert evaluate("Gateway", objects) is None


def test_a_condition_carries_the_generation_it_judges() -> None:
    """A waiter must be able to tell a verdict about the present spec from an old one."""
    status = evaluate("Gateway", Objects.of(picture())) or {}
    assert {found["observedGeneration"] for found in all_conditions(status)} == {3}


def test_the_time_of_a_condition_moves_only_when_it_turns() -> None:
    """Otherwise every evaluation would be a write, and every write an evaluation."""
    status = evaluate("Gateway", Objects.of(picture())) or {}
    first = stamped(status, {}, "t1")
    assert stamped(status, first, "t2") == first
    objects = Objects.of(picture())
    without("Secret", "cert")(objects)
    turned = stamped(evaluate("Gateway", objects) or {}, first, "t3")
    times = {found["type"]: found["lastTransitionTime"] for found in turned["conditions"]}
    assert times == {"Accepted": "t3", "Programmed": "t3"}
    accepted = turned["listeners"][0]["conditions"][1]
    assert (accepted["type"], accepted["lastTransitionTime"]) == ("Accepted", "t1")
