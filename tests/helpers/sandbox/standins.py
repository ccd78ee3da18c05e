"""A whole picture of objects that every stand-in accepts, and ways to break it."""

import base64
import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from sandbox.core.kube import Object
from sandbox.operators.standins.gateways import CONTROLLER_NAME
from sandbox.operators.standins.objects import Objects
from sandbox.operators.standins.registry import KINDS

GATEWAY_API = "gateway.networking.k8s.io/v1"
ENVOY = "gateway.envoyproxy.io/v1alpha1"
AI = "aigateway.envoyproxy.io/v1beta1"
GATEWAY_REF = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "llm"}


def standin_object(version: str, kind: str, name: str, spec: Object, **more: Any) -> Object:
    """Return an object in the picture's namespace, or in `space`."""
    space = more.pop("space", "llm")
    metadata: Object = {"name": name, "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if space:
        metadata["namespace"] = space
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **more}


Private = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@cache
def private_key(number: int = 0) -> ec.EllipticCurvePrivateKey:
    """Return a key; another one for another number."""
    return ec.generate_private_key(ec.SECP256R1())


def certificate(key: Private, days: int = 30) -> bytes:
    """Return a certificate in PEM that ends in so many days (or ended, where they are negative)."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "models.triplane.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def private_pem(
    key: Private, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8
) -> bytes:
    """Return a private key in PEM."""
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


@cache
def key_pair() -> tuple[bytes, bytes]:
    """Return a certificate and its key."""
    return certificate(private_key()), private_pem(private_key())


def tls_secret(name: str, chain: bytes, key: bytes) -> Object:
    """Return a Secret of Kubernetes' own type for a key pair."""
    data = {"tls.crt": base64.b64encode(chain).decode(), "tls.key": base64.b64encode(key).decode()}
    return standin_object("v1", "Secret", name, {}, data=data, type="kubernetes.io/tls")


def picture() -> list[Object]:
    """Return a whole gateway with two policies, a fallback key and a scaled engine."""
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "chat"}
    tls = {"certificateRefs": [{"name": "cert"}]}
    listener: Object = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}
    proxy = {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": "proxy"}
    fqdn = {"hostname": "engine.llm.svc.cluster.local", "port": 8000}
    backend_ref = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "engine"}
    metadata = {"serverAddress": "http://prom:9090", "query": "q", "threshold": "1"}
    return [
        {"kind": "Namespace", "metadata": {"name": "llm"}},
        tls_secret("cert", *key_pair()),
        standin_object("v1", "Secret", "clients", {}, data={"team-a": "eA=="}),
        standin_object("v1", "Secret", "saas", {}, data={"apiKey": "eA=="}),
        standin_object("v1", "Service", "engine", {"clusterIP": "None", "ports": [{"port": 8000}]}),
        standin_object("apps/v1", "StatefulSet", "engine", {}),
        standin_object(ENVOY, "EnvoyProxy", "proxy", {}),
        standin_object(
            GATEWAY_API, "GatewayClass", "envoy", {"controllerName": CONTROLLER_NAME}, space=""
        ),
        standin_object(
            GATEWAY_API,
            "Gateway",
            "llm",
            {
                "gatewayClassName": "envoy",
                "infrastructure": {"parametersRef": proxy},
                "listeners": [listener],
            },
        ),
        standin_object(
            GATEWAY_API,
            "HTTPRoute",
            "chat",
            {
                "parentRefs": [GATEWAY_REF],
                "rules": [{"backendRefs": [{"name": "engine", "port": 8000}]}],
            },
        ),
        standin_object(ENVOY, "Backend", "engine", {"endpoints": [{"fqdn": fqdn}]}),
        standin_object(AI, "AIServiceBackend", "engine", {"backendRef": backend_ref}),
        standin_object(
            AI,
            "AIGatewayRoute",
            "models",
            {"parentRefs": [GATEWAY_REF], "rules": [{"backendRefs": [{"name": "engine"}]}]},
        ),
        standin_object(
            AI,
            "BackendSecurityPolicy",
            "key",
            {
                "type": "APIKey",
                "targetRefs": [{"kind": "AIServiceBackend", "name": "engine"}],
                "apiKey": {"secretRef": {"name": "saas"}},
            },
        ),
        standin_object(ENVOY, "BackendTrafficPolicy", "limits", {"targetRefs": [target]}),
        standin_object(ENVOY, "ClientTrafficPolicy", "clients", {"targetRefs": [GATEWAY_REF]}),
        standin_object(
            ENVOY,
            "SecurityPolicy",
            "keys",
            {
                "targetRefs": [GATEWAY_REF],
                "apiKeyAuth": {"credentialRefs": [{"name": "clients"}]},
            },
        ),
        standin_object(ENVOY, "EnvoyExtensionPolicy", "hash", {"targetRefs": [target]}),
        standin_object(
            "keda.sh/v1alpha1",
            "ScaledObject",
            "engine",
            {
                "scaleTargetRef": {"kind": "StatefulSet", "name": "engine"},
                "triggers": [{"type": "prometheus", "metadata": metadata}],
            },
        ),
        *tenant(),
    ]


def tenant() -> list[Object]:
    """Return a MinIO tenant with what it needs."""
    text = 'export MINIO_ROOT_USER="root"\nexport MINIO_ROOT_PASSWORD="password"\n'
    template = {"spec": {"storageClassName": "drives"}}
    pool = {"name": "p", "servers": 4, "volumesPerServer": 1, "volumeClaimTemplate": template}
    spec: Object = {
        "configuration": {"name": "root"},
        "externalCertSecret": [{"name": "cert"}],
        "pools": [pool],
    }
    encoded = base64.b64encode(text.encode()).decode()
    return [
        standin_object("v1", "Secret", "root", {}, data={"config.env": encoded}),
        standin_object("storage.k8s.io/v1", "StorageClass", "drives", {}, space=""),
        standin_object("minio.min.io/v2", "Tenant", "objects", spec),
    ]


SUBJECTS = {obj["kind"]: obj["metadata"]["name"] for obj in picture()}


def evaluate(kind: str, objects: Objects) -> Object | None:
    """Return what the stand-in of a kind says of the picture's object of that kind."""
    (entry,) = [entry for entry in KINDS if entry.kind == kind]
    assert entry.stand_in is not None
    space = "" if kind == "GatewayClass" else "llm"
    subject = objects.get(kind, space, SUBJECTS[kind])
    assert subject is not None
    return entry.stand_in.status(subject, objects)


def all_conditions(status: Object) -> list[Object]:
    """Return every condition of a status, those of parts included."""
    found: list[Object] = list(status.get("conditions", []))
    if "currentState" in status:  # a Tenant has a state in the place of conditions
        good = status["currentState"] == "Initialized"
        message = status["healthMessage"]
        found.append({"type": "State", "status": str(good), "message": message})
    for part in ("listeners", "parents", "ancestors"):
        for item in status.get(part, []):
            found += item["conditions"]
    return found


def without(kind: str, name: str) -> Callable[[Objects], None]:
    """Take an object away."""

    def change(objects: Objects) -> None:
        keys = [key for key in objects.items if (key[0], key[2]) == (kind, name)]
        assert keys, f"the picture has a {kind} {name}"
        del objects.items[keys[0]]

    return change


def with_spec(kind: str, **spec: object) -> Callable[[Objects], None]:
    """Change the spec of the only object of a kind."""

    def change(objects: Objects) -> None:
        (found,) = [obj for key, obj in objects.items.items() if key[0] == kind]
        found["spec"].update(spec)

    return change


def second(kind: str) -> Callable[[Objects], None]:
    """Add an older object of `kind` with the same spec."""

    def change(objects: Objects) -> None:
        (found,) = [obj for key, obj in objects.items.items() if key[0] == kind]
        other = copy.deepcopy(found)
        other["metadata"] |= {"name": "older", "creationTimestamp": "2025-01-01T00:00:00Z"}
        objects.put(other)

    return change
