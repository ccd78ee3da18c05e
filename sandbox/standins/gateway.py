"""Stand-ins for Envoy Gateway on the kinds of the Gateway API."""

from sandbox.kube import Object
from sandbox.standins.attachment import (
    CONTROLLER_NAME,
    attach,
    attached_routes,
    is_ours,
)
from sandbox.standins.conditions import condition
from sandbox.standins.objects import (
    Missing,
    Objects,
    entries,
    namespace_of,
    resolve,
    section,
)

_EG_GROUP = "gateway.envoyproxy.io"


def gateway_class(obj: Object, objects: Objects) -> Object | None:
    """Accept a class of Envoy Gateway's whose parameters exist; leave other controllers' alone."""
    if obj["spec"]["controllerName"] != CONTROLLER_NAME:
        return None
    ref: Object | None = obj["spec"].get("parametersRef")
    problem = None
    if ref is not None:
        problem = _parameters(objects, ref, ref.get("namespace", ""))
    if problem:
        return {"conditions": [condition(obj, "Accepted", False, "InvalidParameters", problem)]}
    return {"conditions": [condition(obj, "Accepted", True, "Accepted", "Valid GatewayClass")]}


def _parameters(objects: Objects, ref: Object, namespace: str) -> str | None:
    if ref["kind"] != "EnvoyProxy" or ref.get("group") != _EG_GROUP:
        return f"parametersRef must name an EnvoyProxy of {_EG_GROUP}, it names {ref['kind']}"
    if objects.get("EnvoyProxy", namespace, ref["name"]) is None:
        return f"parametersRef: EnvoyProxy {namespace}/{ref['name']} does not exist"
    return None


def gateway(obj: Object, objects: Objects) -> Object | None:
    """Accept and program a Gateway whose class, parameters and certificates exist and fit."""
    class_name = obj["spec"]["gatewayClassName"]
    owner = objects.get("GatewayClass", "", class_name)
    if owner is None:
        return _refused(obj, "Invalid", f"GatewayClass {class_name} does not exist")
    if not is_ours(objects, obj):
        return None
    verdict = gateway_class(owner, objects)
    if verdict is not None and verdict["conditions"][0]["status"] != "True":
        return _refused(obj, "Invalid", f"GatewayClass {class_name} is not accepted")
    infrastructure = section(obj["spec"], "infrastructure")
    ref: Object | None = infrastructure.get("parametersRef")
    problem = _parameters(objects, ref, namespace_of(obj)) if ref else None
    if problem:
        return _refused(obj, "InvalidParameters", problem)
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


def _refused(obj: Object, reason: str, message: str) -> Object:
    return {
        "conditions": [
            condition(obj, "Accepted", False, reason, message),
            condition(obj, "Programmed", False, "Invalid", message),
        ],
        # What an earlier, better state left behind would be a lie now.
        "listeners": [],
        "addresses": [],
    }


def _listener(obj: Object, listener: Object, objects: Objects) -> Object:
    problem = _certificates(obj, listener, objects)
    ok = problem is None
    reason = "InvalidCertificateRef" if problem and problem.reason != "RefNotPermitted" else None
    text = problem.message if problem else "References hold"
    return {
        "name": listener["name"],
        "attachedRoutes": attached_routes(objects, obj, listener["name"]) if ok else 0,
        "supportedKinds": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}],
        "conditions": [
            condition(obj, "Programmed", ok, "Programmed" if ok else "Invalid", text),
            condition(obj, "Accepted", True, "Accepted", "Listener has been accepted"),
            condition(
                obj,
                "ResolvedRefs",
                ok,
                "ResolvedRefs" if ok else reason or "RefNotPermitted",
                text,
            ),
        ],
    }


def _certificates(obj: Object, listener: Object, objects: Objects) -> Missing | None:
    if listener["protocol"] not in {"HTTPS", "TLS"}:
        return None
    tls = section(listener, "tls")
    if tls.get("mode", "Terminate") == "Passthrough":
        return None
    refs = entries(tls, "certificateRefs")
    if not refs:
        return Missing(reason="InvalidCertificateRef", message="a TLS listener needs a certificate")
    for ref in refs:
        found = resolve(objects, obj, ref, "Secret", "")
        if isinstance(found, Missing):
            return found
        if not {"tls.crt", "tls.key"} <= section(found, "data").keys():
            message = f"Secret {namespace_of(found)}/{ref['name']} lacks tls.crt or tls.key"
            return Missing(reason="InvalidCertificateRef", message=message)
    return None


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
            kind = ref.get("kind", "Service")
            if kind not in {"Service", "Backend", "InferencePool"}:
                message = f"backendRef of kind {kind} is not supported"
                return Missing(reason="InvalidKind", message=message)
            found = resolve(objects, obj, ref, "Service", "")
            if isinstance(found, Missing):
                return found
            if kind == "Service" and not _has_port(found, ref.get("port")):
                message = f"Service {ref['name']} has no port {ref.get('port')}"
                return Missing(reason="BackendNotFound", message=message)
    return None


def _has_port(service: Object, port: int | None) -> bool:
    ports = entries(service["spec"], "ports")
    return any(entry["port"] == port for entry in ports)
