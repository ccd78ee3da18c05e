"""Clusters: the settings that moto drops, updates of version and settings, deletion protection."""

from collections.abc import Mapping
from typing import Final

from sandbox.aws.server.eks_store import EksError, EksStore, Object, invalid, update
from sandbox.aws.server.wire import AwsAnswer, AwsRequest

EXTRAS: Final = (
    "accessConfig",
    "upgradePolicy",
    "deletionProtection",
    "zonalShiftConfig",
    "computeConfig",
    "storageConfig",
    "controlPlaneScalingConfig",
)
"""Fields of a cluster that moto does not keep."""


def keep(store: EksStore, request: AwsRequest, answer: Object) -> None:
    """Remember what moto dropped of a cluster that it has just made."""
    body = request.json()
    store.extras[str(body["name"])] = {key: body[key] for key in EXTRAS if key in body}
    answer["cluster"] |= store.extras[str(body["name"])]


def add(store: EksStore, name: str, answer: Object) -> None:
    """Complete moto's description of a cluster."""
    answer["cluster"] |= store.extras.get(name, {})


def refuse_deletion(store: EksStore, name: str) -> None:
    """Raise what EKS says of a protected cluster."""
    store.cluster(name)
    if store.extras.get(name, {}).get("deletionProtection"):
        message = (
            f"Cannot delete cluster {name}: deletion protection is enabled. "
            "Disable it with UpdateClusterConfig first"
        )
        raise EksError(400, "InvalidRequestException", message)


def update_version(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Move a cluster to the next minor version; EKS takes one at a time and never goes back."""
    cluster = store.cluster(names["name"])
    wanted = str(request.json()["version"])
    now = _minor(cluster.version)
    if _minor(wanted) != now + 1:
        message = f"Unsupported Kubernetes minor version update from {cluster.version} to {wanted}"
        raise invalid(message)
    cluster.version = wanted
    return update("VersionUpdate", {"Version": wanted})


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def update_config(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Change settings of a cluster. Parts of the VPC settings that are not given stay."""
    cluster = store.cluster(names["name"])
    body = request.json()
    cluster.resources_vpc_config |= body.get("resourcesVpcConfig", {})
    if "logging" in body:
        cluster.logging = body["logging"]
    if "kubernetesNetworkConfig" in body:
        cluster.kubernetes_network_config |= body["kubernetesNetworkConfig"]
    known = store.extras.setdefault(names["name"], {})
    for key in EXTRAS:
        if key in body:
            old = known.get(key)
            known[key] = {**old, **body[key]} if isinstance(old, dict) else body[key]
    return update("ConfigUpdate", body)


def encrypt(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Turn on envelope encryption, which cannot be turned off again."""
    cluster = store.cluster(names["name"])
    if cluster.encryption_config:
        raise invalid("Encryption is already enabled for this cluster")
    cluster.encryption_config = request.json()["encryptionConfig"]
    return update("AssociateEncryptionConfig", {})


def deleted(store: EksStore, name: str, answer: AwsAnswer) -> None:
    """Drop what goes with a cluster, once moto has deleted it."""
    if answer.good:
        store.forget(name)
