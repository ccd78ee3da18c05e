"""Whether a route may attach to a Gateway: the rules of the Gateway API for parentRefs."""

from collections.abc import Iterable

from sandbox.core.kube import Object
from sandbox.operators.standins.gateways import gateway_problem, is_ours, listener_problem
from sandbox.operators.standins.objects import (
    GATEWAY_GROUP,
    Missing,
    Objects,
    entries,
    name_of,
    namespace_of,
    section,
)


def attach(objects: Objects, route: Object, ref: Object) -> list[Object] | Missing:
    """Return the listeners that `route` attaches to through `ref`, or why there is none."""
    kind = ref.get("kind", "Gateway")
    if kind != "Gateway" or ref.get("group", GATEWAY_GROUP) != GATEWAY_GROUP:
        return Missing(reason="InvalidKind", message=f"a parent of kind {kind} is not supported")
    space = ref.get("namespace", namespace_of(route))
    target = f"Gateway {space}/{ref['name']}"
    gateway = objects.get("Gateway", space, ref["name"])
    if gateway is None:
        return Missing(reason="NoMatchingParent", message=f"{target} does not exist")
    if not is_ours(objects, gateway):
        message = f"{target} has class {gateway['spec']['gatewayClassName']}, not Envoy Gateway's"
        return Missing(reason="NoMatchingParent", message=message)
    listeners: list[Object] = [
        listener
        for listener in gateway["spec"]["listeners"]
        if ref.get("sectionName", listener["name"]) == listener["name"]
        and ref.get("port", listener["port"]) == listener["port"]
    ]
    if not listeners:
        part = f"{ref.get('sectionName', '')}:{ref.get('port', '')}"
        message = f"{target} has no listener {part}"
        return Missing(reason="NoMatchingParent", message=message)
    allowed = [listener for listener in listeners if _allows(objects, gateway, listener, route)]
    if not allowed:
        message = (
            f"no listener of {target} allows routes of kind {route['kind']} from namespace "
            f"{namespace_of(route)}"
        )
        return Missing(reason="NotAllowedByListeners", message=message)
    matching = [listener for listener in allowed if _hostname_fits(listener, route)]
    if not matching:
        message = f"no listener of {target} serves one of the route's hostnames"
        return Missing(reason="NoMatchingListenerHostname", message=message)
    return _ready(objects, gateway, matching)


def _ready(objects: Objects, gateway: Object, listeners: list[Object]) -> list[Object] | Missing:
    """Return the listeners that can serve; Envoy Gateway accepts a route without any, too."""
    whole = gateway_problem(objects, gateway)
    problems = [
        (listener, whole or listener_problem(objects, gateway, listener)) for listener in listeners
    ]
    ready = [listener for listener, problem in problems if problem is None]
    if ready:
        return ready
    told = "; ".join(
        f"{listener['name']}: {problem.message}" for listener, problem in problems if problem
    )
    target = f"Gateway {namespace_of(gateway)}/{name_of(gateway)}"
    message = f"no listener of {target} that the route attaches to is valid ({told})"
    return Missing(reason="NoReadyListeners", message=message)


def _allows(objects: Objects, gateway: Object, listener: Object, route: Object) -> bool:
    rules = section(listener, "allowedRoutes")
    kinds = entries(rules, "kinds")
    # An AIGatewayRoute becomes an HTTPRoute before a listener sees it.
    if kinds and not any(
        entry["kind"] == "HTTPRoute" and entry.get("group", GATEWAY_GROUP) == GATEWAY_GROUP
        for entry in kinds
    ):
        return False
    if listener["protocol"] not in {"HTTP", "HTTPS"}:
        return False
    spaces = section(rules, "namespaces")
    source = spaces.get("from", "Same")
    if source == "Selector":
        if "selector" not in spaces:
            return False
        namespace = objects.get("Namespace", "", namespace_of(route))
        labels = section(namespace["metadata"], "labels") if namespace else {}
        return selects(section(spaces, "selector"), labels)
    return source == "All" or namespace_of(route) == namespace_of(gateway)


def selects(selector: Object, labels: dict[str, str]) -> bool:
    """Tell whether a Kubernetes label selector matches `labels`."""
    exact: dict[str, str] = section(selector, "matchLabels")
    if any(labels.get(key) != value for key, value in exact.items()):
        return False
    return all(_expression(entry, labels) for entry in entries(selector, "matchExpressions"))


def _expression(entry: Object, labels: dict[str, str]) -> bool:
    value = labels.get(entry["key"])
    operator = entry["operator"]
    if operator in {"Exists", "DoesNotExist"}:
        return (value is not None) == (operator == "Exists")
    return (value in entry.get("values", [])) == (operator == "In")


def _hostname_fits(listener: Object, route: Object) -> bool:
    wanted: list[str] = route["spec"].get("hostnames", [])
    served: str | None = listener.get("hostname")
    return not wanted or not served or any(_overlap(served, name) for name in wanted)


def _overlap(one: str, other: str) -> bool:
    if one == other:
        return True
    return any(
        wild.startswith("*.") and name.endswith(wild[1:]) and name != wild[1:]
        for wild, name in ((one, other), (other, one))
    )


def attached_routes(objects: Objects, gateway: Object, listener: str) -> int:
    """Return how many routes attach to the listener of `gateway` with that name."""
    return sum(
        1
        for kind in ("HTTPRoute", "AIGatewayRoute")
        for route in objects.all(kind)
        if any(name == listener for name in _names(objects, gateway, route))
    )


def _names(objects: Objects, gateway: Object, route: Object) -> Iterable[str]:
    for ref in entries(route["spec"], "parentRefs"):
        space = ref.get("namespace", namespace_of(route))
        if (space, ref["name"]) != (namespace_of(gateway), name_of(gateway)):
            continue
        found = attach(objects, route, ref)
        if not isinstance(found, Missing):
            yield from (entry["name"] for entry in found)
