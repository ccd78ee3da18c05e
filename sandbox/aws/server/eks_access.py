"""EKS access entries, access policies and pod identity associations: moto has none."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from sandbox.aws.kinds.eks.values import ACCESS_POLICIES
from sandbox.aws.server.eks_store import EksStore, Object, in_use, invalid, not_found
from sandbox.aws.server.wire import AwsRequest


def create_entry(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Let a principal into a cluster."""
    cluster = names["name"]
    store.cluster(cluster)
    body = request.json()
    principal = str(body["principalArn"])
    mode = store.extras.get(cluster, {}).get("accessConfig", {}).get("authenticationMode")
    if mode not in ("API", "API_AND_CONFIG_MAP"):
        raise invalid(
            "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] "
            "to perform this operation."
        )
    known = store.entries.setdefault(cluster, {})
    if principal in known:
        raise in_use("The specified access entry resource is already in use on this cluster.")
    known[principal] = {
        "clusterName": cluster,
        "principalArn": principal,
        "kubernetesGroups": body.get("kubernetesGroups", []),
        "accessEntryArn": store.arn(f"access-entry/{cluster}/{uuid.uuid4()}"),
        "createdAt": time.time(),
        "modifiedAt": time.time(),
        "tags": body.get("tags", {}),
        "username": body.get("username", principal),
        "type": body.get("type", "STANDARD"),
        "_policies": {},
    }
    return {"accessEntry": _shown(known[principal])}


def _shown(each: Object) -> Object:
    return {key: value for key, value in each.items() if not key.startswith("_")}


def _entry(store: EksStore, names: Mapping[str, str]) -> Object:
    store.cluster(names["name"])
    found = store.entries.get(names["name"], {}).get(names["principal"])
    if found is None:
        raise not_found(
            "The specified principalArn could not be found. You can view your available access "
            "entries with 'list-access-entries'."
        )
    return found


def describe_entry(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return one access entry."""
    return {"accessEntry": _shown(_entry(store, names))}


def list_entries(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return the principals with access."""
    store.cluster(names["name"])
    return {"accessEntries": sorted(store.entries.get(names["name"], {}))}


def update_entry(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Change groups or user name of an access entry."""
    entry = _entry(store, names)
    body = request.json()
    entry |= {key: body[key] for key in ("kubernetesGroups", "username") if key in body}
    entry["modifiedAt"] = time.time()
    return {"accessEntry": _shown(entry)}


def delete_entry(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Take a principal's access away."""
    _entry(store, names)
    del store.entries[names["name"]][names["principal"]]
    return {}


def associate_policy(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Give an access entry one of EKS's access policies."""
    entry = _entry(store, names)
    body = request.json()
    policy = str(body["policyArn"])
    if policy not in ACCESS_POLICIES:
        raise invalid(f"The policyArn in the request is not valid: {policy}")
    now = time.time()
    entry["_policies"][policy] = {
        "policyArn": policy,
        "accessScope": body["accessScope"],
        "associatedAt": now,
        "modifiedAt": now,
    }
    return {
        "clusterName": names["name"],
        "principalArn": names["principal"],
        "associatedAccessPolicy": entry["_policies"][policy],
    }


def list_policies(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return the access policies of an access entry."""
    entry = _entry(store, names)
    return {
        "clusterName": names["name"],
        "principalArn": names["principal"],
        "associatedAccessPolicies": list(entry["_policies"].values()),
    }


def disassociate_policy(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Take an access policy away."""
    entry = _entry(store, names)
    if entry["_policies"].pop(names["policy"], None) is None:
        raise not_found("The specified policyArn is not associated with this access entry.")
    return {}


def create_identity(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Give a service account a role; each account has at most one."""
    cluster = names["name"]
    store.cluster(cluster)
    body = request.json()
    wanted = (body["namespace"], body["serviceAccount"])
    known = store.identities.setdefault(cluster, {})
    if any((each["namespace"], each["serviceAccount"]) == wanted for each in known.values()):
        raise in_use(f"Association already exists: {wanted[0]}/{wanted[1]}")
    identity = f"a-{uuid.uuid4().hex[:17]}"
    known[identity] = {
        "clusterName": cluster,
        "namespace": wanted[0],
        "serviceAccount": wanted[1],
        "roleArn": body["roleArn"],
        "associationArn": store.arn(f"podidentityassociation/{cluster}/{identity}"),
        "associationId": identity,
        "tags": body.get("tags", {}),
        "createdAt": time.time(),
        "modifiedAt": time.time(),
        **{key: body[key] for key in ("targetRoleArn", "disableSessionTags") if key in body},
    }
    return {"association": known[identity]}


def _identity(store: EksStore, names: Mapping[str, str]) -> Object:
    store.cluster(names["name"])
    found = store.identities.get(names["name"], {}).get(names["identity"])
    if found is None:
        raise not_found(f"The specified associationId could not be found: {names['identity']}")
    return found


def describe_identity(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return one association."""
    return {"association": _identity(store, names)}


def list_identities(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Return a cluster's associations."""
    store.cluster(names["name"])
    found: list[dict[str, Any]] = list(store.identities.get(names["name"], {}).values())
    return {"associations": found}


def update_identity(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Change an association's role."""
    found = _identity(store, names)
    body = request.json()
    keys = ("roleArn", "targetRoleArn", "disableSessionTags")
    found |= {key: body[key] for key in keys if key in body}
    return {"association": found}


def delete_identity(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Remove an association."""
    found = _identity(store, names)
    del store.identities[names["name"]][names["identity"]]
    return {"association": found}
