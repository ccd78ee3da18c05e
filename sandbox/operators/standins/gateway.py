"""Stand-ins for Envoy Gateway on the kinds of the Gateway API."""

from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.standins.attachment import attach, attached_routes
from sandbox.operators.standins.conditions import condition
from sandbox.operators.standins.gateways import (
    CONTROLLER_NAME,
    ENVOY_GROUP,
    class_problem,
    gateway_problem,
    is_ours,
    listener_problem,
)
from sandbox.operators.standins.objects import (
    Kinds,
    Missing,
    Objects,
    entries,
    resolve,
    section,
)

_BACKENDS: Final[Kinds] = {"Service": "", "Backend": ENVOY_GROUP}
"""What a rule may forward to. The controller takes a Backend without a group, too."""


def gateway_class(obj: Object, objects: Objects) -> Object | None:
    """Accept a class of Envoy Gateway's whose parameters exist; leave other controllers' alone."""
    if obj["spec"]["controllerName"] != CONTROLLER_NAME:
        return None
    problem = class_problem(objects, obj)
    if problem:
        return refuse_class(obj, problem)
    return {"conditions": [condition(obj, "Accepted", True, "Accepted", "Valid GatewayClass")]}


def gateway(obj: Object, objects: Objects) -> Object | None:
    """Accept and program a Gateway whose class, parameters and certificates exist and fit."""
    owner = objects.get("GatewayClass", "", obj["spec"]["gatewayClassName"])
    if owner is not None and not is_ours(objects, obj):
        return None
    problem = gateway_problem(objects, obj)
    if problem is not None:
        return refuse_gateway(obj, problem.reason, problem.message)
    listeners = [_listener(obj, entry, objects) for entry in obj["spec"]["listeners"]]
    bad = [entry["name"] for entry in listeners if entry["conditions"][0]["status"] != "True"]
    if bad:
        text = f"listeners {', '.join(bad)} are not valid, see their conditions"
        accepted = condition(obj, "Accepted", len(bad) < len(listeners), "ListenersNotValid", text)
        programmed = condition(obj, "Programmed", False, "Invalid", text)
        return {"conditions": [accepted, programmed], "listeners": listeners, "addresses": []}
    accepted = condition(obj, "Accepted", True, "Accepted", "The Gateway has been accepted")
    text = "References hold; no proxy runs in a sandbox"
    return {
        "conditions": [accepted, condition(obj, "Programmed", True, "Programmed", text)],
        "listeners": listeners,
        "addresses": [{"type": "IPAddress", "value": "127.0.0.1"}],
    }


def refuse_gateway(obj: Object, reason: str, message: str) -> Object:
    """Return the status of a Gateway that is refused as a whole."""
    return {
        "conditions": [
            condition(obj, "Accepted", False, reason, message),
            condition(obj, "Programmed", False, "Invalid", message),
        ],
        # What an earlier, better state left behind would be a lie now.
        "listeners": [],
        "addresses": [],
    }


def refuse_broken_gateway(obj: Object, text: str) -> Object:
    """Return the status of a Gateway that cannot be judged."""
    return refuse_gateway(obj, "Invalid", text)


def _listener(obj: Object, listener: Object, objects: Objects) -> Object:
    problem = listener_problem(objects, obj, listener)
    ok = problem is None
    text = problem.message if problem else "References hold"
    reason = problem.reason if problem else "ResolvedRefs"
    return {
        "name": listener["name"],
        "attachedRoutes": attached_routes(objects, obj, listener["name"]) if ok else 0,
        "supportedKinds": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}],
        "conditions": [
            condition(obj, "Programmed", ok, "Programmed" if ok else "Invalid", text),
            condition(obj, "Accepted", True, "Accepted", "Listener has been accepted"),
            condition(obj, "ResolvedRefs", ok, reason, text),
        ],
    }


def refuse_class(obj: Object, text: str) -> Object:
    """Return the status of a GatewayClass that is not accepted."""
    return {"conditions": [condition(obj, "Accepted", False, "InvalidParameters", text)]}


def refuse_route(obj: Object, text: str) -> Object:
    """Return the status of an HTTPRoute that none of its parents accepts."""
    refused = condition(obj, "Accepted", False, "Invalid", text)
    parents = entries(section(obj, "spec"), "parentRefs")
    return {
        "parents": [
            {"parentRef": ref, "controllerName": CONTROLLER_NAME, "conditions": [refused]}
            for ref in parents
        ]
    }


def http_route(obj: Object, objects: Objects) -> Object | None:
    """Accept an HTTPRoute for each parent it may attach to, and check what it forwards to."""
    parents: list[Object] = []
    for ref in entries(obj["spec"], "parentRefs"):
        found = attach(objects, obj, ref)
        if isinstance(found, Missing):
            accepted = condition(obj, "Accepted", False, found.reason, found.message)
        else:
            accepted = condition(obj, "Accepted", True, "Accepted", "Route is accepted")
        problem = _backends(obj, objects)
        if problem is None:
            text = "Resolved all the Object references for the Route"
            resolved = condition(obj, "ResolvedRefs", True, "ResolvedRefs", text)
        else:
            resolved = condition(obj, "ResolvedRefs", False, problem.reason, problem.message)
        parents.append(
            {
                "parentRef": ref,
                "controllerName": CONTROLLER_NAME,
                "conditions": [accepted, resolved],
            }
        )
    return {"parents": parents} if parents else None


def _backends(obj: Object, objects: Objects) -> Missing | None:
    for rule in entries(obj["spec"], "rules"):
        for ref in entries(rule, "backendRefs"):
            found = resolve(objects, obj, ref, _BACKENDS)
            if isinstance(found, Missing):
                return found
            problem = _service_problem(found, ref) if found["kind"] == "Service" else None
            if problem is not None:
                return problem
    return None


def _service_problem(service: Object, ref: Object) -> Missing | None:
    if service["spec"].get("type") == "ExternalName":
        message = f"Service {ref['name']} is an ExternalName: name a Backend in its place"
        return Missing(reason="UnsupportedValue", message=message)
    port: int | None = ref.get("port")
    ports = _tcp_ports(service)
    if port not in ports:
        message = f"Service {ref['name']} has no TCP port {port}, it has {sorted(ports)}"
        return Missing(reason="PortNotFound", message=message)
    return None


def _tcp_ports(service: Object) -> set[int]:
    ports = entries(service["spec"], "ports")
    return {entry["port"] for entry in ports if entry.get("protocol", "TCP") == "TCP"}
