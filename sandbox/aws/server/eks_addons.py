"""EKS add-ons: moto has none."""

import time
import uuid
from collections.abc import Mapping
from typing import Final

from sandbox.aws.server.eks_store import Object, Store, in_use, invalid, not_found, update
from sandbox.aws.server.wire import Seen

DEFAULT_VERSION: Final = "stand-in-default"
"""In place of the version that AWS would choose: nobody here knows which that is."""

NAMES: Final = (
    "vpc-cni",
    "kube-proxy",
    "coredns",
    "eks-pod-identity-agent",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-mountpoint-s3-csi-driver",
    "metrics-server",
    "eks-node-monitoring-agent",
)
"""The add-ons that can be installed here; AWS's documentation lists more (page "AWS add-ons")."""


def create(store: Store, seen: Seen, names: Mapping[str, str]) -> Object:
    """Install an add-on. It is active at once: nothing of it runs here."""
    cluster = names["name"]
    store.cluster(cluster)
    body = seen.json()
    name = str(body["addonName"])
    if name not in NAMES:
        raise invalid(f"Addon {name} is not supported; known here: {', '.join(NAMES)}")
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


def describe(store: Store, seen: Seen, names: Mapping[str, str]) -> Object:
    """Return one add-on."""
    return {"addon": _get(store, names)}


def _get(store: Store, names: Mapping[str, str]) -> Object:
    store.cluster(names["name"])
    found = store.addons.get(names["name"], {}).get(names["addon"])
    if found is None:
        raise not_found(f"No addon: {names['addon']} found in cluster: {names['name']}")
    return found


def listing(store: Store, seen: Seen, names: Mapping[str, str]) -> Object:
    """Return the names of a cluster's add-ons."""
    store.cluster(names["name"])
    return {"addons": sorted(store.addons.get(names["name"], {}))}


def change(store: Store, seen: Seen, names: Mapping[str, str]) -> Object:
    """Change version, role or configuration of an add-on."""
    addon = _get(store, names)
    body = seen.json()
    for key in ("addonVersion", "serviceAccountRoleArn", "configurationValues"):
        if key in body:
            addon[key] = body[key]
    addon["modifiedAt"] = time.time()
    return update("AddonUpdate", body)


def delete(store: Store, seen: Seen, names: Mapping[str, str]) -> Object:
    """Remove an add-on."""
    addon = _get(store, names)
    del store.addons[names["name"]][names["addon"]]
    return {"addon": {**addon, "status": "DELETING"}}
