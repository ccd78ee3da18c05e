"""What every manifest shares: metadata, bounded resources, a security context, a pool's nodes."""

from collections.abc import Mapping

from pulumi_kubernetes.core.v1 import (
    PodSecurityContextArgsDict,
    ResourceRequirementsArgsDict,
    SecurityContextArgsDict,
    TolerationArgsDict,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgsDict

from models.core.names import MANAGED_BY
from models.plan.plan import PlannedPool
from models.settings.regions import POOL_LABEL, Taint

USER_ID = 10001
"""User and group of every container of ours, high enough to be nobody on a host. The engine's
image runs as root by default."""

WAIT_FOR = "pulumi.com/waitFor"
"""Annotation by which the provider waits for a condition before it reports success."""


def metadata(
    name: str,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> ObjectMetaArgsDict:
    """Return metadata with a fixed name: other objects refer to it as a plain string."""
    meta: ObjectMetaArgsDict = {"name": name, "labels": {**MANAGED_BY, **(labels or {})}}
    if namespace is not None:
        meta["namespace"] = namespace
    if annotations:
        meta["annotations"] = dict(annotations)
    return meta


def bounded(quantities: Mapping[str, str]) -> ResourceRequirementsArgsDict:
    """Return requests equal to limits for every quantity: the pod's QoS class is Guaranteed."""
    return {"requests": dict(quantities), "limits": dict(quantities)}


def pod_security() -> PodSecurityContextArgsDict:
    """Return a pod security context that the `restricted` Pod Security level admits.

    Group ownership of a volume is only changed where its root differs: on a volume with hundreds
    of gigabytes of weights a recursive change takes minutes.
    """
    return {
        "run_as_non_root": True,
        "run_as_user": USER_ID,
        "run_as_group": USER_ID,
        "fs_group": USER_ID,
        "fs_group_change_policy": "OnRootMismatch",
        "seccomp_profile": {"type": "RuntimeDefault"},
    }


def container_security() -> SecurityContextArgsDict:
    """Return a container security context: no privileges, no capabilities, read-only root."""
    return {
        "allow_privilege_escalation": False,
        "read_only_root_filesystem": True,
        "run_as_non_root": True,
        "capabilities": {"drop": ["ALL"]},
    }


def node_selector(pool: PlannedPool) -> dict[str, str]:
    """Return the labels of the pool's nodes; GPU nodes by the label that GPU discovery sets."""
    selector = {POOL_LABEL: pool.name}
    if pool.accelerator is not None:
        selector["nvidia.com/gpu.present"] = "true"
    return selector


def tolerations(pool: PlannedPool) -> list[TolerationArgsDict]:
    """Return tolerations for exactly the taints of the pool."""
    return [_toleration(taint) for taint in pool.settings.all_taints]


def _toleration(taint: Taint) -> TolerationArgsDict:
    if not taint.value:
        return {"key": taint.key, "operator": "Exists", "effect": taint.effect.value}
    return {
        "key": taint.key,
        "operator": "Equal",
        "value": taint.value,
        "effect": taint.effect.value,
    }
