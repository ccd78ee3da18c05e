"""Backends in reserve and policies that replace others, each seen broken and fixed."""

from typing import Any

import pytest

from policies.core.context import Context
from tests.helpers.policies.engine_files import errors, severities

pytestmark = pytest.mark.pure

CHECKED = "k8s-route-take-over-when-checked"
SHARES = "k8s-route-say-shares"
KEEP = "k8s-backendtrafficpolicy-keep-gateways"
ANSWERS = "k8s-backendtrafficpolicy-check-what-answers"
GATEWAY_GROUP = "gateway.networking.k8s.io"
ENVOY = "gateway.envoyproxy.io/v1alpha1"
AI = "aigateway.envoyproxy.io/v1beta1"
Json = dict[str, Any]


def made(api: str, kind: str, name: str, spec: Json) -> Json:
    """Return an object of the namespace `llm`."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "llm"},
        "spec": spec,
    }


def route(*backends: Json) -> Json:
    """Return a route of the Gateway `ai`."""
    parent = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": "ai"}
    rules = [{"backendRefs": list(backends), "timeouts": {"request": "0s"}}]
    return made(AI, "AIGatewayRoute", "chat", {"parentRefs": [parent], "rules": rules})


def policy(target: str, **spec: Any) -> Json:
    """Return a traffic policy on the route `chat` or the Gateway `ai`."""
    kind = "HTTPRoute" if target == "chat" else "Gateway"
    refs = [{"group": GATEWAY_GROUP, "kind": kind, "name": target}]
    return made(ENVOY, "BackendTrafficPolicy", f"on-{target}", {"targetRefs": refs, **spec})


def provider(host: str) -> list[Json]:
    """Return a backend at a host, and the service backend `saas` that stands for it."""
    reference = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "saas"}
    endpoints = [{"fqdn": {"hostname": host, "port": 443}}]
    return [
        made(ENVOY, "Backend", "saas", {"endpoints": endpoints}),
        made(
            AI, "AIServiceBackend", "saas", {"schema": {"name": "OpenAI"}, "backendRef": reference}
        ),
    ]


FIRST: Json = {"name": "llama", "priority": 0}
NEXT: Json = {"name": "saas", "priority": 1}
PASSIVE: Json = {"passive": {"consecutive5XxErrors": 5}}
ACTIVE: Json = {"active": {"type": "HTTP", "http": {"path": "/health"}}}


def broken() -> dict[str, Json]:
    """Return a stack that breaks each of the four rules."""
    unchecked = route({"name": "llama"}, {"name": "saas"})
    unchecked["metadata"]["name"] = "shares"
    unchecked["spec"]["parentRefs"][0]["name"] = "plain"
    reserve = route(FIRST, NEXT)
    reserve["metadata"]["name"] = "reserve"
    reserve["spec"]["parentRefs"][0]["name"] = "plain"
    objects = [
        unchecked,
        reserve,
        route(FIRST, NEXT),
        policy("ai", rateLimit={"type": "Local"}),
        policy("chat", healthCheck=ACTIVE),
        *provider("api.example.com"),
    ]
    return {f"failover-{index}": each for index, each in enumerate(objects)}


@pytest.mark.parametrize("rule", [CHECKED, SHARES, KEEP, ANSWERS])
def test_the_broken_stack_breaks_each_rule(rule: str) -> None:
    """The real engine is shown the same objects (tests/policies/frame)."""
    assert len(severities(rule, *broken().values(), context=Context())) == 1


@pytest.mark.parametrize("target", ["chat", "ai"])
def test_a_reserve_takes_over_only_where_failures_are_seen(target: str) -> None:
    """EAIG-13: the policy may be on the route or on its Gateway."""
    assert severities(CHECKED, route(FIRST, NEXT)) == ["warning"], "it may be in another file"
    assert severities(CHECKED, route(FIRST, NEXT), context=Context()) == ["error"]
    assert severities(CHECKED, route(FIRST, NEXT), policy(target, retry={})) == ["warning"]
    assert severities(CHECKED, route(FIRST, NEXT), policy(target, healthCheck=PASSIVE)) == []
    assert severities(CHECKED, route(FIRST), policy(target, retry={})) == []


def test_two_backends_are_shares_unless_it_is_said() -> None:
    """EAIG-13: half of the requests go to what was meant as a fallback."""
    names: list[Json] = [{"name": "llama"}, {"name": "saas"}]
    assert severities(SHARES, route(*names)) == ["warning"]
    assert severities(SHARES, route(names[0], {**names[1], "weight": 10})) == []
    assert severities(SHARES, route(names[0], NEXT)) == []
    assert severities(SHARES, route(names[0])) == []
    reserve = made(ENVOY, "Backend", "saas", {"fallback": True, "endpoints": []})
    assert severities(SHARES, route(*names), reserve) == []


def test_a_routes_policy_has_what_it_takes_away() -> None:
    """EAIG-11: the Gateway's limit does not hold for the route any more, and nothing says so."""
    above = policy("ai", rateLimit={"type": "Local"}, retry={"numRetries": 1})
    (message,) = errors(KEEP, route(FIRST), above, policy("chat", loadBalancer={}))
    assert "replaces BackendTrafficPolicy/llm/on-ai, whose rateLimit, retry it does" in message
    whole = policy("chat", rateLimit={"type": "Local"}, retry={"numRetries": 3})
    assert errors(KEEP, route(FIRST), above, whole) == []
    merged = policy("chat", loadBalancer={}, mergeType="StrategicMerge")
    assert errors(KEEP, route(FIRST), above, merged) == []
    assert errors(KEEP, route(FIRST), policy("chat", loadBalancer={})) == []


def test_a_provider_is_not_asked_for_an_engines_path() -> None:
    """Its answer is 404, and it is never healthy."""
    stack = [route(FIRST, NEXT), policy("chat", healthCheck=ACTIVE)]
    (message,) = errors(ANSWERS, *stack, *provider("api.example.com"))
    assert "api.example.com is asked for /health" in message
    assert errors(ANSWERS, *stack, *provider("saas.llm.svc.cluster.local")) == []
    passive = [route(FIRST, NEXT), policy("chat", healthCheck=PASSIVE)]
    assert errors(ANSWERS, *passive, *provider("api.example.com")) == []
