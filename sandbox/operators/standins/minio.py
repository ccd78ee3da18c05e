"""A stand-in for the MinIO operator on Tenants: it checks what one needs, and runs no server."""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Final

from models.settings.minio import topology_faults
from sandbox.core.kube import Object
from sandbox.operators.standins.objects import (
    Objects,
    age_key,
    entries,
    label,
    namespace_of,
    section,
)

_CONFIG: Final = "config.env"
_ROOT: Final[Mapping[str, int]] = {"MINIO_ROOT_USER": 3, "MINIO_ROOT_PASSWORD": 8}
"""The least length that the server takes (minio/minio internal/auth/credentials.go)."""

_ASSIGNMENT: Final = re.compile(r"^\s*export\s+(\w+)=(.*?)\s*$", re.MULTILINE)
_READY: Final = "Initialized"
_WAITING: Final = "Waiting for Tenant to be healthy"
"""States of the operator (pkg/controller/main-controller.go)."""


def tenant(obj: Object, objects: Objects) -> Object:
    """Say Initialized when keys, classes and certificates exist and drives form sets.

    The operator says why a tenant is not ready in its events; here the health message does.
    """
    return _status(obj, list(_problems(obj, objects)))


def refuse(obj: Object, text: str) -> Object:
    """Return the status of a tenant that is not healthy."""
    return _status({**obj, "spec": {}}, [text])


def _status(obj: Object, problems: list[str]) -> Object:
    pools = entries(obj["spec"], "pools")
    servers = sum(pool["servers"] for pool in pools)
    drives = sum(pool["servers"] * pool["volumesPerServer"] for pool in pools)
    ok = not problems
    return {
        "currentState": _READY if ok else _WAITING,
        "healthStatus": "green" if ok else "red",
        "healthMessage": "; ".join(problems),
        "availableReplicas": servers if ok else 0,
        "drivesOnline": drives if ok else 0,
        "certificates": {},
        "pools": [
            {
                "ssName": f"{obj['metadata']['name']}-{pool['name']}",
                "state": "PoolInitialized" if ok else "PoolCreated",
            }
            for pool in pools
        ],
        "provisionedBuckets": ok,
        "revision": 0,
        "syncVersion": "v6.0.0",
    }


def _problems(obj: Object, objects: Objects) -> Iterable[str]:
    space = namespace_of(obj)
    spec: Object = obj["spec"]
    yield from _keys(spec, space, objects)
    pools = entries(spec, "pools")
    if not pools:
        yield "pools is empty"
    shapes = tuple((pool["servers"], pool["volumesPerServer"]) for pool in pools)
    yield from topology_faults(shapes, standalone=True)
    for pool in pools:
        claim = section(section(pool, "volumeClaimTemplate"), "spec")
        name = claim.get("storageClassName")
        if name is not None and objects.get("StorageClass", "", name) is None:
            yield f"pool {pool['name']}: StorageClass {name} does not exist"
    for secret in entries(spec, "externalCertSecret"):
        if objects.get("Secret", space, secret["name"]) is None:
            yield f"externalCertSecret: Secret {space}/{secret['name']} does not exist"
    for other in objects.all("Tenant"):
        if namespace_of(other) == space and age_key(other) < age_key(obj):
            yield f"{label(other)} is in the same namespace: one tenant each"


def _keys(spec: Object, space: str, objects: Objects) -> Iterable[str]:
    name = section(spec, "configuration").get("name")
    secret = None if name is None else objects.get("Secret", space, name)
    if secret is None:
        yield f"configuration: Secret {space}/{name} does not exist"
        return
    text = base64.b64decode(section(secret, "data").get(_CONFIG, "")).decode(errors="replace")
    values = {name: unquoted(value) for name, value in _ASSIGNMENT.findall(text)}
    where = f"{_CONFIG} of Secret {space}/{name}"
    for key, least in _ROOT.items():
        if key not in values:
            yield f"configuration: {where} sets no {key}"
        elif len(values[key]) < least:
            yield f"configuration: {where} sets {key} to fewer than {least} characters"


def unquoted(value: str) -> str:
    """Return a value without the quotes that a shell would take away."""
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
