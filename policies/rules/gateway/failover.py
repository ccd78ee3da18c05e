"""Who answers when a backend cannot, and policies that others replace."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.rules.gateway.routes import parents, policies_on, routes_of, targets
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed

_ATTACHED: Final = ("targetRef", "targetRefs", "targetSelectors", "mergeType")
_INSIDE: Final = (".svc", ".svc.cluster.local", ".cluster.local")


@rule(
    "k8s-route-take-over-when-checked",
    "Every route with a backend in reserve finds out when the ones before it fail.",
    remedy="attach a BackendTrafficPolicy with healthCheck (active or passive) to the route, or to "
    "its Gateway",
    weight=RuleWeight.CRITICAL,
    tags=("gateway",),
)
def take_over_when_checked(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-13: without a health check the next priority never gets a request."""
    if not placed.manifest.is_kind("AIGatewayRoute"):
        return
    if any(policy.spec["healthCheck"].present for policy in policies_on(placed)):
        return
    severity = Severity.ERROR if context.whole else Severity.WARNING
    for each in placed.manifest.spec["rules"].items():
        backends = list(each["backendRefs"].items())
        priorities = {backend["priority"].integer() for backend in backends}
        if len(priorities) > 1:
            names = ", ".join(
                backend["name"].text() or ""
                for backend in backends
                if backend["priority"].integer()
            )
            message = f"nothing checks the backends before {names}, which therefore never answers"
            yield Finding(each["backendRefs"].path, message, severity)


@rule(
    "k8s-route-say-shares",
    "Every route with several backends says which comes first, or what share each gets.",
    remedy="set priority on the backend in reserve (0 comes first), or weight on each of them",
    tags=("gateway",),
)
def say_shares(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-13: two backends are shares of the requests, not one and its fallback."""
    route = placed.manifest
    if not route.is_kind("AIGatewayRoute"):
        return
    in_reserve = {
        each.name
        for each in placed.stack.of_kind("Backend")
        if each.spec["fallback"].flag() and each.namespace == route.namespace
    }
    for each in route.spec["rules"].items():
        backends = list(each["backendRefs"].items())
        said = [backend for backend in backends if _is_placed(backend, in_reserve)]
        if len(backends) > 1 and not said:
            names = ", ".join(backend["name"].text() or "" for backend in backends)
            message = f"each of {names} gets an equal share of the requests"
            yield Finding(each["backendRefs"].path, message, Severity.WARNING)


def _is_placed(backend: Node, in_reserve: set[str]) -> bool:
    return (
        backend["priority"].present
        or backend["weight"].present
        or (backend["name"].text() or "") in in_reserve
    )


@rule(
    "k8s-backendtrafficpolicy-keep-gateways",
    "No route's traffic policy silently replaces what its Gateway's policy sets.",
    remedy="set mergeType: StrategicMerge on the route's policy, or repeat in it what the "
    "Gateway's has",
    weight=RuleWeight.CRITICAL,
    tags=("gateway",),
)
def keep_gateways(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-11: the limit or health check of the Gateway is gone for that route."""
    policy = placed.manifest
    if not policy.is_kind("BackendTrafficPolicy") or policy.spec["mergeType"].present:
        return
    above = {parent for route in routes_of(placed, *_ROUTES) for parent in parents(route)}
    if targets(policy) & above:
        return
    own = {key for key, _ in policy.spec.pairs()}
    for other in placed.stack.of_kind("BackendTrafficPolicy"):
        lost = [key for key, _ in other.spec.pairs() if key not in own and key not in _ATTACHED]
        if targets(other) & above and lost:
            message = f"it replaces {other.label}, whose {', '.join(lost)} it does not have"
            yield Finding("spec", message)


_ROUTES: Final = ("AIGatewayRoute", "HTTPRoute", "GRPCRoute")


@rule(
    "k8s-backendtrafficpolicy-check-what-answers",
    "No health check asks a provider outside of the cluster for a path that is the engine's.",
    remedy="use healthCheck.active.type: TCP, or passive checks alone, on routes that end at a "
    "provider",
    weight=RuleWeight.CRITICAL,
    tags=("gateway",),
)
def check_what_answers(placed: Placed, context: Context) -> Iterator[Finding]:
    """A check asks every backend of a route: a provider without the path is never healthy."""
    active = placed.manifest.spec.at("healthCheck", "active")
    path = active.at("http", "path")
    if not placed.manifest.is_kind("BackendTrafficPolicy") or not path.present:
        return
    for route in routes_of(placed, "AIGatewayRoute"):
        for host in _hosts_outside(route, placed):
            yield Finding(path.path, f"{host} is asked for {path.text()} by {route.label}")


def _hosts_outside(route: Manifest, placed: Placed) -> Iterator[str]:
    """Yield the hosts outside of the cluster that a route's backends stand for."""
    namespace = route.namespace
    for rule_ in route.spec["rules"].items():
        for reference in rule_["backendRefs"].items():
            for service in placed.stack.named(
                "AIServiceBackend", namespace, reference["name"].text() or ""
            ):
                name = service.spec["backendRef"]["name"].text() or ""
                for backend in placed.stack.named("Backend", namespace, name):
                    yield from _public(backend)


def _public(backend: Manifest) -> Iterator[str]:
    for endpoint in backend.spec["endpoints"].items():
        host = endpoint["fqdn"]["hostname"].text() or ""
        if "." in host and not host.endswith(_INSIDE):
            yield host
