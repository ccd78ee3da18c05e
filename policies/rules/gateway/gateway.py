"""Gateways in front of models: prompts that are let through, fields and costs that exist."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from models.core.quantities import parse
from policies.core.context import Context, strictness
from policies.core.rule import RuleWeight, rule
from policies.rules.gateway.routes import named, parents, routes_of, targets
from policies.views.kubernetes.stack import Placed

_BUFFER_MIN: Final = parse("256Ki")
_FILTER_FIELDS: Final = frozenset(
    {"urlRewrite", "directResponse", "credentialInjection", "requestMirror", "matches"}
)


@rule(
    "k8s-gateway-let-prompts-through",
    "Every gateway in front of models takes prompts of any length that they take.",
    remedy="add a ClientTrafficPolicy on the Gateway with spec.connection.bufferLimit, such as "
    "50Mi",
    weight=RuleWeight.CRITICAL,
    tags=("gateway",),
)
def let_prompts_through(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-01: the default buffer of 32 KiB answers longer prompts with 413."""
    gateway = placed.manifest
    if not gateway.is_kind("Gateway") or not any(
        named(gateway) in parents(route) for route in placed.stack.of_kind("AIGatewayRoute")
    ):
        return
    limits = [
        (policy, policy.spec.at("connection", "bufferLimit"))
        for policy in placed.stack.of_kind("ClientTrafficPolicy")
        if named(gateway) in targets(policy)
    ]
    given = [(policy, limit) for policy, limit in limits if limit.present]
    if not given:
        # Without any policy in sight another file may hold it.
        severity = Severity.ERROR if limits else strictness(gateway.namespace, context)
        message = "no ClientTrafficPolicy sets its buffer: prompts above 32 KiB get a 413"
        yield Finding("spec", message, severity)
    for policy, limit in given:
        if parse(limit.text() or "") < _BUFFER_MIN:
            message = f"the buffer of {limit.text()} in {policy.label} refuses longer prompts"
            yield Finding("", message)


@rule(
    "k8s-httproutefilter-have-known-fields",
    "No route filter has fields that its definition does not know.",
    remedy="remove the field; a body's size is limited by a ClientTrafficPolicy's bufferLimit",
    tags=("gateway",),
    fragments=True,
)
def have_known_fields(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-01: what the definition does not know is pruned without a word."""
    manifest = placed.manifest
    if manifest.is_kind("HTTPRouteFilter") and manifest.group == "gateway.envoyproxy.io":
        for key, node in manifest.spec.pairs():
            if key not in _FILTER_FIELDS:
                yield Finding(node.path, f"HTTPRouteFilter has no field {key}: it is dropped")


@rule(
    "k8s-ratelimit-charge-known-costs",
    "Every cost that a rate limit charges is one that a route counts.",
    remedy="declare the key in the AIGatewayRoute's spec.llmRequestCosts, in the namespace "
    "io.envoy.ai_gateway",
    tags=("gateway",),
)
def charge_known_costs(placed: Placed, context: Context) -> Iterator[Finding]:
    """EAIG-10: a key that nobody declares charges nothing, and the limit never holds."""
    policy = placed.manifest
    if not policy.is_kind("BackendTrafficPolicy"):
        return
    routes = list(routes_of(placed, "AIGatewayRoute"))
    if not routes:
        return
    lists = [route.spec["llmRequestCosts"] for route in routes]
    lists += [each.spec["globalLLMRequestCosts"] for each in placed.stack.of_kind("GatewayConfig")]
    declared = {cost["metadataKey"].text() for costs in lists for cost in costs.items()}
    for kind in ("global", "local"):
        for each in policy.spec.at("rateLimit", kind, "rules").items():
            key = each.at("cost", "response", "metadata", "key")
            if key.present and key.text() not in declared:
                yield Finding(key.path, f"no route declares the cost {key.text()!r}")
