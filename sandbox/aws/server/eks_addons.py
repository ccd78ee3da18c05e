"""EKS add-ons: moto has none."""

import time
import uuid
from collections.abc import Mapping
from typing import Final

from sandbox.aws.kinds.eks.values import ADD_ON_VERSION, ADD_ONS
from sandbox.aws.server.eks_store import EksStore, Object, in_use, invalid, not_found, update
from sandbox.aws.server.wire import AwsRequest

DEFAULT_VERSION: Final = "stand-in-default"
"""In place of the version that AWS would choose: nobody here knows which that is."""


def create(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Install an add-on. It is active at once: nothing of it runs here."""
    cluster = names["name"]
    store.cluster(cluster)
    body = request.json()
    name = str(body["addonName"])
    if name not in ADD_ONS:
        raise invalid(f"Addon {name} is not supported; known here: {', '.join(ADD_ONS)}")
    _require_version(body)
    known = store.addons.setdefault(cluster, {})
    if name in known:
        raise in_use(f"Addon already exists: {name}")
    known[name] = {
        "addonName": name,
        "clusterName": cluster,
        "status": "ACTIVE",
        "addonVersion": body.get("addonVersion", DEFAULT_VERSION),
        "health": {"issues": []},
        "addonArn": store.arn(f"addon/{cluster}/{name}/{uuid.uuid4()}"),
        "createdAt": time.time(),
        "modifiedAt": time.time(),
        "tags": body.get("tags", {}),
        **{
            key: body[key]
            for key in ("serviceAccountRoleArn", "configurationValues")
            if key in body
        },
    }
    return {"addon": known[name]}


def _require_version(body: Object) -> None:
    version = body.get("addonVersion")
    if version is not None and not ADD_ON_VERSION.fullmatch(str(version)):
        raise invalid(f"Addon version specified is not supported: {version}")


def describe(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return one add-on."""
    return {"addon": _get(store, names)}


def _get(store: EksStore, names: Mapping[str, str]) -> Object:
    store.cluster(names["name"])
    found = store.addons.get(names["name"], {}).get(names["addon"])
    if found is None:
        raise not_found(f"No addon: {names['addon']} found in cluster: {names['name']}")
    return found


def listing(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return the names of a cluster's add-ons."""
    store.cluster(names["name"])
    return {"addons": sorted(store.addons.get(names["name"], {}))}


def change(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Change version, role or configuration of an add-on."""
    addon = _get(store, names)
    body = request.json()
    _require_version(body)
    for key in ("addonVersion", "serviceAccountRoleArn", "configurationValues"):
        if key in body:
            addon[key] = body[key]
    addon["modifiedAt"] = time.time()
    return update("AddonUpdate", body)


def delete(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Remove an add-on."""
    addon = _get(store, names)
    del store.addons[names["name"]][names["addon"]]
    return {"addon": {**addon, "status": "DELETING"}}
