"""To which listeners a route attaches."""

from typing import Any

import pytest

from sandbox.core.kube import Object
from sandbox.operators.standins.attachment import attach, selects
from sandbox.operators.standins.objects import Missing, Objects
from tests.helpers.sandbox.standins import (
    AI,
    GATEWAY_REF,
    evaluate,
    picture,
    standin_object,
    with_spec,
    without,
)

pytestmark = pytest.mark.pure

HTTP: Object = {"name": "http", "port": 80, "protocol": "HTTP"}
HTTPS: Object = {
    "name": "https",
    "port": 443,
    "protocol": "HTTPS",
    "tls": {"certificateRefs": [{"name": "cert"}]},
}


def attached(
    listeners: list[Object], ref: Object | None = None, **spec: Any
) -> list[str] | Missing:
    """Return the listeners that a route attaches to, or why it attaches to none."""
    objects = Objects.of(picture())
    with_spec("Gateway", listeners=listeners)(objects)
    route = standin_object("gateway.networking.k8s.io/v1", "HTTPRoute", "chat", spec)
    found = attach(objects, route, ref or GATEWAY_REF)
    return found if isinstance(found, Missing) else [each["name"] for each in found]


def reason(found: list[str] | Missing) -> str:
    """Return why a route attaches to nothing."""
    assert isinstance(found, Missing), found
    return found.reason


@pytest.mark.parametrize(
    ("listener", "route", "fits"),
    [
        (None, None, True),
        (None, "models.example.com", True),
        ("models.example.com", None, True),
        ("models.example.com", "models.example.com", True),
        ("models.example.com", "other.example.com", False),
        ("*.example.com", "models.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "badexample.com", False),
        ("*.example.com", ".example.com", False),
        ("*.example.com", "models.example.org", False),
        ("models.example.com", "*.example.com", True),
        ("models.example.com", "*.com", True),
        ("badexample.com", "*.example.com", False),
        ("*.example.com", "*.com", True),
        ("*.com", "*.example.com", True),
        ("*.example.com", "*.example.com", True),
        ("*.example.com", "*.example.org", False),
    ],
)
def test_hostnames_meet_as_the_gateway_api_says(
    listener: str | None, route: str | None, fits: bool
) -> None:
    """`*.example.com` stands for any number of labels, but at least one."""
    one = {**HTTP, **({"hostname": listener} if listener else {})}
    found = attached([one], hostnames=[route]) if route else attached([one])
    assert found == ["http"] if fits else reason(found) == "NoMatchingListenerHostname"


def test_one_hostname_of_several_is_enough() -> None:
    one = {**HTTP, "hostname": "models.example.com"}
    names = ["other.example.com", "models.example.com"]
    assert attached([one], hostnames=names) == ["http"]


@pytest.mark.parametrize("protocol", ["TCP", "UDP", "TLS"])
def test_an_http_route_attaches_to_http_and_https_only(protocol: str) -> None:
    tls = {"tls": {"mode": "Passthrough"}} if protocol == "TLS" else {}
    assert reason(attached([{**HTTP, "protocol": protocol, **tls}])) == "NotAllowedByListeners"
    assert attached([HTTPS, HTTP]) == ["https", "http"]


PARENTS: list[tuple[Object, list[str] | str]] = [
    ({}, ["https", "http"]),
    ({"sectionName": "http"}, ["http"]),
    ({"port": 443}, ["https"]),
    ({"sectionName": "http", "port": 80}, ["http"]),
    ({"sectionName": "http", "port": 443}, "NoMatchingParent"),
    ({"sectionName": "grpc"}, "NoMatchingParent"),
    ({"port": 8080}, "NoMatchingParent"),
    ({"namespace": "other"}, "NoMatchingParent"),
    ({"name": "other"}, "NoMatchingParent"),
    ({"kind": "Service"}, "InvalidKind"),
    ({"group": "example.com"}, "InvalidKind"),
]


@pytest.mark.parametrize(("ref", "found"), PARENTS)
def test_a_parent_is_a_gateway_a_section_and_a_port(ref: Object, found: list[str] | str) -> None:
    told = attached([HTTPS, HTTP], {**GATEWAY_REF, **ref})
    assert told == found if isinstance(found, list) else reason(told) == found


@pytest.mark.parametrize(
    ("kinds", "allowed"),
    [
        ([], True),
        ([{"kind": "HTTPRoute"}], True),
        ([{"kind": "GRPCRoute"}, {"kind": "HTTPRoute"}], True),
        ([{"kind": "GRPCRoute"}], False),
        ([{"kind": "HTTPRoute", "group": "example.com"}], False),
        ([{"kind": "HTTPRoute", "group": "gateway.networking.k8s.io"}], True),
    ],
)
def test_a_listener_says_which_kinds_it_takes(kinds: list[Object], allowed: bool) -> None:
    found = attached([{**HTTP, "allowedRoutes": {"kinds": kinds}}])
    assert found == ["http"] if allowed else reason(found) == "NotAllowedByListeners"


@pytest.mark.parametrize(
    ("source", "space", "allowed"),
    [
        (None, "llm", True),
        (None, "team", False),
        ("Same", "llm", True),
        ("Same", "team", False),
        ("All", "team", True),
        ("Selector", "team", False),
    ],
)
def test_a_listener_says_from_where_it_takes_routes(
    source: str | None, space: str, allowed: bool
) -> None:
    objects = Objects.of(picture())
    rules = {"allowedRoutes": {"namespaces": {"from": source}}} if source else {}
    with_spec("Gateway", listeners=[{**HTTP, **rules}])(objects)
    route = standin_object("gateway.networking.k8s.io/v1", "HTTPRoute", "x", {}, space=space)
    found = attach(objects, route, {**GATEWAY_REF, "namespace": "llm"})
    assert isinstance(found, Missing) is not allowed


LABELS = {"team": "a", "tier": "gold"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchLabels": {"team": "a"}}, True),
        ({"matchLabels": {"team": "a", "tier": "gold"}}, True),
        ({"matchLabels": {"team": "a", "tier": "silver"}}, False),
        ({"matchLabels": {"other": "a"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["b"]}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["b"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "none", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
        (
            {
                "matchLabels": {"team": "a"},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["silver"]}],
            },
            False,
        ),
    ],
)
def test_labels_are_selected_as_kubernetes_does(selector: Object, matches: bool) -> None:
    """metav1.LabelSelector: everything given must hold, an absent key is not in any list."""
    assert selects(selector, LABELS) is matches


@pytest.mark.parametrize("kind", ["HTTPRoute", "AIGatewayRoute"])
@pytest.mark.parametrize(
    ("refs", "message"),
    [
        ([{"name": "gone"}], "llm/gone does not exist"),
        ([], "https: a TLS listener needs a certificate"),
    ],
)
def test_a_route_whose_only_listener_is_not_valid_is_not_accepted(
    kind: str, refs: list[Object], message: str
) -> None:
    """Envoy Gateway accepts it and serves nothing: stricter here, since somebody waits for it."""
    objects = Objects.of(picture())
    with_spec("Gateway", listeners=[{**HTTPS, "tls": {"certificateRefs": refs}}])(objects)
    status = evaluate(kind, objects) or {}
    verdict = (status.get("parents") or [status])[0]["conditions"][0]
    assert verdict["status"] == "False"
    assert message in verdict["message"]
    gateway = evaluate("Gateway", objects) or {}
    assert [each["attachedRoutes"] for each in gateway["listeners"]] == [0]


def test_a_route_attaches_to_the_listeners_that_are_valid() -> None:
    broken = {**HTTPS, "tls": {"certificateRefs": [{"name": "gone"}]}}
    assert attached([broken, HTTP]) == ["http"]


@pytest.mark.parametrize("kind", ["HTTPRoute", "AIGatewayRoute"])
def test_a_route_of_a_gateway_that_is_refused_as_a_whole_is_not_accepted(kind: str) -> None:
    objects = Objects.of(picture())
    without("EnvoyProxy", "proxy")(objects)
    status = evaluate(kind, objects) or {}
    verdict = (status.get("parents") or [status])[0]["conditions"][0]
    assert verdict["status"] == "False"
    assert "EnvoyProxy llm/proxy does not exist" in verdict["message"]


def test_every_parent_gets_a_verdict_of_its_own() -> None:
    objects = Objects.of(picture())
    with_spec("HTTPRoute", parentRefs=[GATEWAY_REF, {**GATEWAY_REF, "name": "other"}])(objects)
    parents = (evaluate("HTTPRoute", objects) or {})["parents"]
    assert [each["parentRef"]["name"] for each in parents] == ["llm", "other"]
    assert [each["conditions"][0]["status"] for each in parents] == ["True", "False"]


def test_an_ai_route_counts_among_the_routes_of_a_listener() -> None:
    objects = Objects.of(picture())
    status = evaluate("Gateway", objects) or {}
    assert status["listeners"][0]["attachedRoutes"] == 2
    other = {**GATEWAY_REF, "name": "other"}
    route = standin_object(AI, "AIGatewayRoute", "elsewhere", {"parentRefs": [other]})
    objects.put(route)
    assert (evaluate("Gateway", objects) or {})["listeners"][0]["attachedRoutes"] == 2
