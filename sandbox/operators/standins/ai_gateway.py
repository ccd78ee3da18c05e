"""Stand-ins for the Envoy AI Gateway controller.

That controller writes a single condition: `Accepted` when a reconciliation went through, and in its
place `NotAccepted` with status False when it failed. Waits must therefore ask for `Accepted`.
"""

from collections.abc import Iterable
from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.standins.attachment import attach
from sandbox.operators.standins.conditions import condition
from sandbox.operators.standins.gateways import ENVOY_GROUP
from sandbox.operators.standins.objects import (
    SECRETS,
    Kinds,
    Missing,
    Objects,
    entries,
    label,
    resolve,
    section,
)

_GROUP: Final = "aigateway.envoyproxy.io"
_SERVICE_BACKENDS: Final[Kinds] = {"AIServiceBackend": _GROUP}
_ROUTE_BACKENDS: Final[Kinds] = {
    **_SERVICE_BACKENDS,
    "InferencePool": "inference.networking.k8s.io",
}
_BACKENDS: Final[Kinds] = {"Backend": ENVOY_GROUP}


def _verdict(obj: Object, problems: Iterable[str]) -> Object:
    found = list(problems)
    if found:
        return refuse(obj, "; ".join(found))
    text = f"{obj['kind']} reconciled successfully"
    return {"conditions": [condition(obj, "Accepted", True, "Accepted", text)]}


def refuse(obj: Object, text: str) -> Object:
    """Return the status of an object whose reconciliation failed."""
    return {"conditions": [condition(obj, "NotAccepted", False, "NotAccepted", text)]}


def route(obj: Object, objects: Objects) -> Object:
    """Accept an AIGatewayRoute that may attach to its Gateways and whose backends exist."""
    return _verdict(obj, _route_problems(obj, objects))


def _route_problems(obj: Object, objects: Objects) -> Iterable[str]:
    parents = entries(obj["spec"], "parentRefs")
    if not parents:
        yield "parentRefs is empty: the route serves nothing"
    for ref in parents:
        found = attach(objects, obj, ref)
        if isinstance(found, Missing):
            yield found.message
    for rule in entries(obj["spec"], "rules"):
        for ref in entries(rule, "backendRefs"):
            target = resolve(objects, obj, ref, _ROUTE_BACKENDS)
            if isinstance(target, Missing):
                yield target.message


def service_backend(obj: Object, objects: Objects) -> Object:
    """Accept an AIServiceBackend whose Backend exists and which at most one policy secures."""
    return _verdict(obj, _service_backend_problems(obj, objects))


def _service_backend_problems(obj: Object, objects: Objects) -> Iterable[str]:
    ref: Object = obj["spec"]["backendRef"]
    if ref.get("kind") != "Backend" or ref.get("group") != ENVOY_GROUP:
        yield f"backendRef must name a Backend of {ENVOY_GROUP}, it names {ref.get('kind')}"
        return
    found = resolve(objects, obj, ref, _BACKENDS)
    if isinstance(found, Missing):
        yield found.message
    policies = [
        label(policy)
        for policy in objects.all("BackendSecurityPolicy")
        for target in entries(policy["spec"], "targetRefs")
        if resolve(objects, policy, target, _SERVICE_BACKENDS) is obj
    ]
    if len(policies) > 1:
        yield f"several BackendSecurityPolicies name it: {', '.join(policies)}"


def security_policy(obj: Object, objects: Objects) -> Object:
    """Accept a BackendSecurityPolicy whose targets exist and whose key or credentials are there."""
    return _verdict(obj, _security_problems(obj, objects))


def _security_problems(obj: Object, objects: Objects) -> Iterable[str]:
    for ref in entries(obj["spec"], "targetRefs"):
        found = resolve(objects, obj, ref, _SERVICE_BACKENDS)
        if isinstance(found, Missing):
            yield found.message
    for block, key in _KEYS.items():
        held = section(obj["spec"], block)
        held = section(held, "credentialsFile") if block == "awsCredentials" else held
        if "secretRef" not in held:
            continue
        secret = resolve(objects, obj, held["secretRef"], SECRETS)
        if isinstance(secret, Missing):
            yield secret.message
        elif not section(secret, "data").get(key):
            yield f"{label(secret)} has no key {key}"


_KEYS: Final = {
    "apiKey": "apiKey",
    "azureAPIKey": "apiKey",
    "anthropicAPIKey": "apiKey",
    "awsCredentials": "credentials",
}
"""What the Secret of each block must hold."""
