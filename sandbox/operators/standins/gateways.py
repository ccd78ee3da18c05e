"""Whether a Gateway and its listeners can serve: class, parameters, TLS.

The rules are Envoy Gateway's (internal/gatewayapi/validate.go and tls.go of v1.8.3). Where one
certificate of several is bad, the controller goes on with the others; here the listener is invalid.
"""

import base64
from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.standins import certificates
from sandbox.operators.standins.objects import (
    SECRETS,
    Missing,
    Objects,
    entries,
    namespace_of,
    resolve,
    section,
)

CONTROLLER_NAME: Final = "gateway.envoyproxy.io/gatewayclass-controller"
ENVOY_GROUP: Final = "gateway.envoyproxy.io"
_TLS_TYPE: Final = "kubernetes.io/tls"
_BAD_CERTIFICATE: Final = "InvalidCertificateRef"


def is_ours(objects: Objects, gateway: Object) -> bool:
    """Tell whether the class of `gateway` belongs to the controller that we stand in for."""
    gateway_class = objects.get("GatewayClass", "", gateway["spec"]["gatewayClassName"])
    return gateway_class is not None and gateway_class["spec"]["controllerName"] == CONTROLLER_NAME


def class_problem(objects: Objects, gateway_class: Object) -> str | None:
    """Return what is wrong with the parameters of a GatewayClass."""
    ref: Object | None = gateway_class["spec"].get("parametersRef")
    return _parameters(objects, ref, ref.get("namespace", "")) if ref else None


def _parameters(objects: Objects, ref: Object, namespace: str) -> str | None:
    if ref["kind"] != "EnvoyProxy" or ref.get("group") != ENVOY_GROUP:
        return f"parametersRef must name an EnvoyProxy of {ENVOY_GROUP}, it names {ref['kind']}"
    if objects.get("EnvoyProxy", namespace, ref["name"]) is None:
        return f"parametersRef: EnvoyProxy {namespace}/{ref['name']} does not exist"
    return None


def gateway_problem(objects: Objects, gateway: Object) -> Missing | None:
    """Return why a Gateway as a whole is refused, whatever its listeners are."""
    class_name = gateway["spec"]["gatewayClassName"]
    owner = objects.get("GatewayClass", "", class_name)
    if owner is None:
        return Missing(reason="Invalid", message=f"GatewayClass {class_name} does not exist")
    if class_problem(objects, owner):
        return Missing(reason="Invalid", message=f"GatewayClass {class_name} is not accepted")
    ref: Object | None = section(gateway["spec"], "infrastructure").get("parametersRef")
    problem = _parameters(objects, ref, namespace_of(gateway)) if ref else None
    return Missing(reason="InvalidParameters", message=problem) if problem else None


def listener_problem(objects: Objects, gateway: Object, listener: Object) -> Missing | None:
    """Return why a listener is not valid: TLS where there must be none, or none that works."""
    protocol = listener["protocol"]
    tls = section(listener, "tls")
    if protocol not in {"HTTPS", "TLS"}:
        message = f"a listener of protocol {protocol} must have no tls"
        return Missing(reason="Invalid", message=message) if tls else None
    if tls.get("mode", "Terminate") == "Passthrough":
        message = "mode Passthrough is not supported for HTTPS: it must be Terminate"
        return Missing(reason="Invalid", message=message) if protocol == "HTTPS" else None
    refs = entries(tls, "certificateRefs")
    if not refs:
        return Missing(reason=_BAD_CERTIFICATE, message="a TLS listener needs a certificate")
    for ref in refs:
        found = resolve(objects, gateway, ref, SECRETS)
        if isinstance(found, Missing):
            reason = found.reason if found.reason == "RefNotPermitted" else _BAD_CERTIFICATE
            return Missing(reason=reason, message=found.message)
        problem = _pair_problem(found)
        if problem is not None:
            message = f"Secret {namespace_of(found)}/{ref['name']} {problem}"
            return Missing(reason=_BAD_CERTIFICATE, message=message)
    return None


def _pair_problem(secret: Object) -> str | None:
    if secret.get("type") != _TLS_TYPE:
        return f"is of type {secret.get('type', 'Opaque')}, and must be of type {_TLS_TYPE}"
    data: dict[str, str] = section(secret, "data")
    chain, key = (base64.b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key"))
    if not chain or not key:
        return "lacks tls.crt or tls.key"
    return certificates.problem(chain, key)
