"""Routes to engines and policies on them: answers that are not cut."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed, Stack
from policies.views.kubernetes.workload import pods_of

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STREAM_SEC: Final = 60.0
"""A generation of 4,096 tokens at 60 tokens a second takes longer than a minute."""

_ENVOY: Final = re.compile(r"(^|[-_.])(envoy|eg)([-_.]|$)", re.IGNORECASE)
_ENVOY_CONTROLLER: Final = "gateway.envoyproxy.io/gatewayclass-controller"
_MODEL_BACKENDS: Final = ("InferencePool", "AIServiceBackend")
_TABLE_MAX: Final = 5_000_011


def seconds(node: Node) -> float | None:
    """Return a Gateway API duration such as `1h30m` in seconds; None where there is none."""
    text = node.text()
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text or "")
    if text is None or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _is_cut(limit: float | None) -> bool:
    return limit is not None and 0 < limit < _STREAM_SEC


@rule(
    "k8s-route-outlive-answers",
    "Every route to a model lets an answer take as long as it takes.",
    remedy="set timeouts.request: 0s (no limit), and streamIdleTimeout or a client's own limit "
    "against what hangs",
    weight=RuleWeight.CRITICAL,
    tags=("gateway",),
)
def outlive_answers(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-02: a route's timeout covers the whole response, streams included."""
    route = placed.manifest
    ai = route.is_kind("AIGatewayRoute")
    if not ai and not (route.is_kind("HTTPRoute") and _leads_to_model(placed)):
        return
    lifted = any(_policy_lifts(each) for each in policies_on(placed))
    for each in route.spec["rules"].items():
        timeouts = each["timeouts"]
        limits = [seconds(timeouts[key]) for key in ("request", "backendRequest")]
        for key, limit in zip(("request", "backendRequest"), limits, strict=True):
            if _is_cut(limit):
                message = f"the {key} timeout of {limit:g} s ends answers in the middle"
                yield Finding(timeouts[key].path, message)
        if limits[0] is not None or lifted:
            continue
        if ai:
            message = "no request timeout is set: the default of 60 s covers the whole answer"
            yield Finding(each.path, message, Severity.WARNING)
        elif _is_envoys(placed):
            message = "no request timeout is set: Envoy Gateway's default of 15 s ends answers"
            yield Finding(each.path, message)


def _leads_to_model(placed: Placed) -> bool:
    """Whether an HTTPRoute sends requests to an engine, as far as the input shows it."""
    for each in placed.manifest.spec["rules"].items():
        for backend in each["backendRefs"].items():
            kind, name = backend["kind"].text() or "Service", backend["name"].text() or ""
            if kind in _MODEL_BACKENDS or "vllm" in name.lower():
                return True
            if kind == "Service" and name in _engine_services(placed.stack):
                return True
    return False


def _engine_services(stack: Stack) -> set[str]:
    """Return the names of Services that select the pods of an engine."""

    def find() -> set[str]:
        labels = [
            pod.labels()
            for manifest in stack.manifests
            if not manifest.fragment
            for pod in pods_of(manifest)
            if pod.runs_engine
        ]
        return {
            service.name
            for service in stack.of_kind("Service")
            if any(_selects(service, each) for each in labels)
        }

    return stack.once("services of engines", find)


def _selects(service: Manifest, labels: dict[str, str]) -> bool:
    selector = service.spec["selector"].strings()
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


Named = tuple[str | None, str, str]
"""Namespace, kind and name."""


def parents(route: Manifest) -> set[Named]:
    """Return the Gateways of a route; without a namespace they are in the route's."""
    return {
        (parent["namespace"].text() or route.namespace, "Gateway", parent["name"].text() or "")
        for parent in route.spec["parentRefs"].items()
    }


def named(manifest: Manifest) -> Named:
    """Return by what others refer to an object."""
    return manifest.namespace, manifest.kind, manifest.name


def _points(route: Manifest) -> set[Named]:
    """Return everything by which a policy reaches a route: itself, and its Gateways."""
    itself = {named(route), (route.namespace, "HTTPRoute", route.name)}
    return itself | parents(route)


def _is_envoys(placed: Placed) -> bool:
    """Whether a route's Gateway is of Envoy Gateway's class."""
    envoys = {
        each.name
        for each in placed.stack.of_kind("GatewayClass")
        if each.spec["controllerName"].text() == _ENVOY_CONTROLLER
    }
    above = parents(placed.manifest)
    for gateway in placed.stack.of_kind("Gateway"):
        name = gateway.spec["gatewayClassName"].text() or ""
        if named(gateway) in above and (name in envoys or _ENVOY.search(name)):
            return True
    return False


def targets(policy: Manifest) -> set[Named]:
    """Return what a policy is attached to, in its own namespace."""
    nodes = [policy.spec["targetRef"], *policy.spec["targetRefs"].items()]
    return {
        (policy.namespace, node["kind"].text() or "", node["name"].text() or "")
        for node in nodes
        if node.present
    }


def policies_on(placed: Placed) -> Iterator[Manifest]:
    """Yield the BackendTrafficPolicies on a route or on its Gateway."""
    points = _points(placed.manifest)
    for policy in placed.stack.of_kind("BackendTrafficPolicy"):
        if points & targets(policy):
            yield policy


def _policy_lifts(policy: Manifest) -> bool:
    limit = seconds(policy.spec.at("timeout", "http", "requestTimeout"))
    return limit is not None and not _is_cut(limit)


@rule(
    "k8s-backendtrafficpolicy-cut-no-answer",
    "No traffic policy of a gateway ends answers, or hashes over a table that is refused.",
    remedy="set timeout.http.requestTimeout: 0s, leave retry.perRetry.timeout out, and take a "
    f"prime of at most {_TABLE_MAX} as tableSize",
    weight=RuleWeight.CRITICAL,
    tags=("gateway",),
)
def cut_no_answer(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-03, EAIG-05: a limit for each attempt silently caps the route's own."""
    policy = placed.manifest
    if not policy.is_kind("BackendTrafficPolicy"):
        return
    severity = Severity.ERROR if _is_of_model(placed) else Severity.WARNING
    whole = policy.spec.at("timeout", "http", "requestTimeout")
    if _is_cut(seconds(whole)):
        yield Finding(whole.path, f"answers end after {whole.text()}", severity)
    attempt = policy.spec.at("retry", "perRetry", "timeout")
    limit = seconds(attempt)
    if limit is not None and 0 < limit <= _STREAM_SEC:
        yield Finding(
            attempt.path, f"each attempt, the answer included, ends after {limit:g} s", severity
        )
    size = policy.spec.at("loadBalancer", "consistentHash", "tableSize")
    if size.present and not _is_prime(size.integer()):
        message = f"tableSize {size.integer()} is not a prime of at most {_TABLE_MAX}"
        yield Finding(size.path, message)


def _is_of_model(placed: Placed) -> bool:
    for route in routes_of(placed, "AIGatewayRoute", "HTTPRoute"):
        seen = Placed(manifest=route, stack=placed.stack)
        if route.is_kind("AIGatewayRoute") or _leads_to_model(seen):
            return True
    return False


def routes_of(placed: Placed, *kinds: str) -> Iterator[Manifest]:
    """Yield the routes that a policy is attached to, by themselves or by their Gateway."""
    reached = targets(placed.manifest)
    for route in placed.stack.of_kind(*kinds):
        if reached & _points(route):
            yield route


def _is_prime(number: int) -> bool:
    if not 2 <= number <= _TABLE_MAX:
        return False
    return all(number % each for each in range(2, int(number**0.5) + 1))
