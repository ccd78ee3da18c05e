"""A stand-in for the MinIO operator on Tenants: it checks what one needs, and runs no server."""

import base64
from collections.abc import Iterable
from typing import Final

from models.minio import topology_faults
from sandbox.kube import Object
from sandbox.standins.objects import Objects, age_key, entries, label, namespace_of, section

_CONFIG: Final = "config.env"
_ROOT: Final = ("MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD")
_READY: Final = "Initialized"
_WAITING: Final = "Waiting for Tenant to be healthy"
"""States of the operator (pkg/controller/main-controller.go)."""


def tenant(obj: Object, objects: Objects) -> Object:
    """Say Initialized when keys, classes and certificates exist and drives form sets.

    The operator says why a tenant is not ready in its events; here the health message does.
    """
    problems = list(_problems(obj, objects))
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
    encoded = section(secret, "data").get(_CONFIG, "")
    text = base64.b64decode(encoded).decode(errors="replace")
    for key in _ROOT:
        if f"export {key}=" not in text:
            yield f"configuration: {_CONFIG} of Secret {space}/{name} sets no {key}"
