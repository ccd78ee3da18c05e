"""Stand-ins for Envoy Gateway on its own kinds: Backend and the policies that attach to targets."""

import ipaddress
from collections.abc import Iterable
from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.standins.attachment import selects
from sandbox.operators.standins.conditions import condition
from sandbox.operators.standins.gateways import CONTROLLER_NAME
from sandbox.operators.standins.objects import (
    GATEWAY_GROUP,
    SECRETS,
    Missing,
    Objects,
    age_key,
    entries,
    label,
    namespace_of,
    resolve,
    section,
)

_CLUSTER_DOMAIN: Final = ".svc.cluster.local"


def backend(obj: Object, objects: Objects) -> Object:
    """Accept a Backend whose endpoints can be reached as far as the cluster knows.

    Stricter than the controller, which does not look up Services: a name inside the cluster that
    no Service answers to is a mistake here, and would only show as 503 there.
    """
    endpoints = entries(obj["spec"], "endpoints")
    problems = [problem for entry in endpoints if (problem := _endpoint(entry, objects))]
    if not endpoints and obj["spec"].get("type") != "DynamicResolver":
        problems = ["endpoints is empty"]
    if problems:
        return refuse_backend(obj, "; ".join(problems))
    text = "The Backend was accepted"
    return {"conditions": [condition(obj, "Accepted", True, "Accepted", text)]}


def refuse_backend(obj: Object, text: str) -> Object:
    """Return the status of a Backend that is not accepted."""
    return {"conditions": [condition(obj, "Accepted", False, "Invalid", text)]}


def _endpoint(entry: Object, objects: Objects) -> str | None:
    if "ip" in entry:
        address: str = entry["ip"]["address"]
        if ipaddress.ip_address(address).is_loopback:
            return f"IP address {address} is a loopback address, which Envoy Gateway refuses"
        return None
    if "fqdn" not in entry:
        return None
    hostname: str = entry["fqdn"]["hostname"]
    if not hostname.endswith(_CLUSTER_DOMAIN):
        return None
    parts = hostname.removesuffix(_CLUSTER_DOMAIN).split(".")
    if len(parts) not in {2, 3}:
        return f"hostname {hostname} is not [pod.]service.namespace{_CLUSTER_DOMAIN}"
    service = objects.get("Service", parts[-1], parts[-2])
    if service is None:
        return f"hostname {hostname}: Service {parts[-1]}/{parts[-2]} does not exist"
    ports = sorted(_ports(service))
    port: int = entry["fqdn"]["port"]
    if port not in ports:
        return f"hostname {hostname}: Service {parts[-1]}/{parts[-2]} has ports {ports}, not {port}"
    if len(parts) == 3 and service["spec"].get("clusterIP") != "None":
        return f"hostname {hostname} names a pod, but its Service is not headless"
    return None


def _ports(service: Object) -> Iterable[int]:
    for entry in entries(service["spec"], "ports"):
        # A headless Service translates nothing: clients dial the port of the pod.
        target = entry.get("targetPort", entry["port"])
        is_headless = service["spec"].get("clusterIP") == "None"
        yield target if is_headless and isinstance(target, int) else entry["port"]


def policy(obj: Object, objects: Objects) -> Object | None:
    """Accept a policy for each target that exists and that no older policy of its kind has."""
    targets = _targets(obj, objects)
    if not targets:
        # Selectors that match nothing: the controller reports nothing either.
        return None
    extra = list(_secrets(obj, objects))
    ancestors: list[Object] = []
    for ref in targets:
        reason, text = _target_problem(obj, ref, objects) or ("", "")
        if not reason and extra:
            reason, text = "Invalid", "; ".join(extra)
        ok = not reason
        message = text or "Policy has been accepted."
        ancestors.append(
            {
                "ancestorRef": {**ref, "namespace": namespace_of(obj)},
                "controllerName": CONTROLLER_NAME,
                "conditions": [condition(obj, "Accepted", ok, reason or "Accepted", message)],
            }
        )
    return {"ancestors": ancestors}


def refuse_policy(obj: Object, text: str) -> Object:
    """Return the status of a policy that none of its targets takes, those named by now included."""
    spec = section(obj, "spec")
    before = entries(section(obj, "status"), "ancestors")
    named = [*entries(spec, "targetRefs"), *([spec["targetRef"]] if "targetRef" in spec else [])]
    refs = [{**ref, "namespace": namespace_of(obj)} for ref in named]
    refused = condition(obj, "Accepted", False, "Invalid", text)
    return {
        "ancestors": [
            {"ancestorRef": ref, "controllerName": CONTROLLER_NAME, "conditions": [refused]}
            for ref in refs or [entry["ancestorRef"] for entry in before]
        ]
    }


def _targets(obj: Object, objects: Objects) -> list[Object]:
    spec: Object = obj["spec"]
    refs: list[Object] = [*entries(spec, "targetRefs")]
    if "targetRef" in spec:
        refs.append(spec["targetRef"])
    for selector in entries(spec, "targetSelectors"):
        kind = selector["kind"]
        refs += [
            {"group": GATEWAY_GROUP, "kind": kind, "name": found["metadata"]["name"]}
            for found in objects.all(kind)
            if namespace_of(found) == namespace_of(obj)
            and selects(selector, section(found["metadata"], "labels"))
        ]
    return refs


def _target_problem(obj: Object, ref: Object, objects: Objects) -> tuple[str, str] | None:
    space = namespace_of(obj)
    if ref["group"] != GATEWAY_GROUP:
        return "TargetNotFound", f"targets are of group {GATEWAY_GROUP}, this one of {ref['group']}"
    target = objects.get(ref["kind"], space, ref["name"])
    if target is None and ref["kind"] == "HTTPRoute":
        # The AI gateway's controller makes an HTTPRoute of the same name for each of its routes.
        target = objects.get("AIGatewayRoute", space, ref["name"])
    if target is None:
        return "TargetNotFound", f"{ref['kind']} {space}/{ref['name']} does not exist"
    section = ref.get("sectionName")
    parts = entries(target["spec"], "listeners") + entries(target["spec"], "rules")
    if section is not None and section not in {part.get("name") for part in parts}:
        return "TargetNotFound", f"{label(target)} has no section {section}"
    for other in objects.all(obj["kind"]):
        if namespace_of(other) == space and age_key(other) < age_key(obj):
            keys = ("kind", "name", "sectionName")
            if any(
                all(mine.get(key) == ref.get(key) for key in keys)
                for mine in _targets(other, objects)
            ):
                return "Conflicted", f"{label(other)} is older and has the same target"
    return None


def _secrets(obj: Object, objects: Objects) -> Iterable[str]:
    """Yield what is wrong with the Secrets that a SecurityPolicy takes client keys from."""
    auth = section(obj["spec"], "apiKeyAuth")
    for ref in entries(auth, "credentialRefs"):
        found = resolve(objects, obj, ref, SECRETS)
        if isinstance(found, Missing):
            yield found.message
        elif not found.get("data"):
            yield f"{label(found)} holds no client keys"
