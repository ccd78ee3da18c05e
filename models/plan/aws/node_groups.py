"""The node groups that a pool becomes on EKS: one per zone, with plain values only.

One group per zone, since Auto Scaling moves machines between the zones of a group to balance them
and "Pod disruption budgets aren't respected" then (EKS user guide, managed-node-groups), and since
an EBS volume stays in its zone. A pool's bounds are split over its zones so that the sum is the
pool's own: capacity and bill are proved for that (docs/adr/0013-node-autoscaler.md).
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Final

from models.aws.ami import ami_type
from models.aws.names import NODE_TEMPLATE
from models.core.base import Model
from models.facts.sharing import GPU_RESOURCE
from models.plan.accelerator_nodes import node_labels
from models.plan.plan import PlannedPool, PlannedRegion
from models.plan.storage.resolved import storage_labels
from models.settings.eks import EksClusterSettings
from models.settings.regions import AmiFamily, CapacityType, PoolSettings, Taint, TaintEffect
from models.settings.storage import VolumeBackend

ACCELERATOR_LABEL: Final = "k8s.amazonaws.com/accelerator"
"""A node that has this label and no GPU yet is not ready for the cluster autoscaler: without it a
second machine is started while the first still loads its driver (autoscaler, aws/README)."""

EFA_RESOURCE: Final = "vpc.amazonaws.com/efa"

GROUP_NAME_MAX: Final = 63
"""EKS API reference, CreateNodegroup, nodegroupName."""

_EFFECTS: Final = {
    TaintEffect.NO_SCHEDULE: "NO_SCHEDULE",
    TaintEffect.PREFER_NO_SCHEDULE: "PREFER_NO_SCHEDULE",
    TaintEffect.NO_EXECUTE: "NO_EXECUTE",
}
"""EKS has its own spelling (EKS API reference, Taint)."""

_CAPACITY: Final = {
    CapacityType.ON_DEMAND: "ON_DEMAND",
    CapacityType.SPOT: "SPOT",
    # A reservation is filled by on-demand machines that name it.
    CapacityType.RESERVED: "ON_DEMAND",
    CapacityType.CAPACITY_BLOCK: "CAPACITY_BLOCK",
}

_DIGEST_DIGITS: Final = 6


class GroupPlan(Model):
    """One node group: its zone and its bounds (nodes)."""

    name: str
    zone: str
    min: int
    max: int


def pool_zones(cluster: EksClusterSettings, pool: PoolSettings) -> tuple[str, ...]:
    """Return the zones of a pool, sorted: the order in which they are listed means nothing."""
    return tuple(sorted(set(pool.zones or cluster.zones)))


def groups(cluster: EksClusterSettings, planned: PlannedPool) -> tuple[GroupPlan, ...]:
    """Return the node groups of a pool, one per zone, as many as its maximum has nodes."""
    pool = planned.settings
    zones = pool_zones(cluster, pool)[: pool.max]
    return tuple(
        GroupPlan(name=group_name(pool, zone), zone=zone, min=low, max=high)
        for zone, low, high in zip(
            zones, _split(pool.min, len(zones)), _split(pool.max, len(zones)), strict=True
        )
    )


def _split(nodes: int, parts: int) -> list[int]:
    """Return `nodes` in `parts` parts that differ by one at most, the larger ones first."""
    whole, rest = divmod(nodes, parts)
    return [whole + (1 if index < rest else 0) for index in range(parts)]


def group_name(pool: PoolSettings, zone: str) -> str:
    """Return a group's name: pool, zone letter, and a digest of what replaces the group.

    EKS replaces a group whose type, image or way of buying changes, and makes the new one first: a
    name that stayed the same would collide with the old one's.
    """
    facts = (pool.name, zone, pool.instance_type or "", image(pool), pool.capacity_type.value)
    digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:_DIGEST_DIGITS]
    end = f"-{zone[-1]}-{digest}"
    return pool.name[: GROUP_NAME_MAX - len(end)].rstrip("-") + end


def image(pool: PoolSettings) -> str:
    """Return the EKS AMI type of a pool.

    Raises `ValueError` for a type that CUDA does not run on; `pool_problems` has said so before.
    """
    return ami_type(pool.ami, pool.instance_type or "")


def capacity(pool: PoolSettings) -> str:
    """Return the capacity type in EKS's spelling."""
    return _CAPACITY[pool.capacity_type]


def labels(region: PlannedRegion, planned: PlannedPool) -> dict[str, str]:
    """Return the labels of a pool's nodes: what the GPU operator reads, and the autoscaler's."""
    found = node_labels(region, planned)
    # Where slices go by their profile, no node ever has GPUs: it would wait for them forever.
    if planned.accelerator is not None and planned.gpu_resource == GPU_RESOURCE:
        found[ACCELERATOR_LABEL] = planned.accelerator.name
    return {**found, **storage_labels(region, planned)}


def taints(pool: PoolSettings) -> list[dict[str, str]]:
    """Return a pool's taints in EKS's spelling."""
    return [_taint(each) for each in pool.all_taints]


def _taint(taint: Taint) -> dict[str, str]:
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": _EFFECTS[taint.effect]}


def template_tags(region: PlannedRegion, planned: PlannedPool) -> dict[str, str]:
    """Return what the cluster autoscaler must know of a node that is not there yet (EKS-04).

    EKS puts labels, taints and tags on the node group only; the autoscaler reads them from the Auto
    Scaling group. Zone, instance type and architecture it finds by itself.
    """
    pool = planned.settings
    known = labels(region, planned)
    found = {f"{NODE_TEMPLATE}/label/{key}": value for key, value in known.items()}
    for taint in pool.all_taints:
        found[f"{NODE_TEMPLATE}/taint/{taint.key}"] = f"{taint.value}:{taint.effect.value}"
    resources = {"ephemeral-storage": f"{pool.disk_gib}Gi"}
    if planned.shape.gpus:
        # Of the machine's own count the autoscaler knows; it is another one where cards are shared.
        resources[GPU_RESOURCE] = "0"
        resources[planned.gpu_resource] = str(planned.shape.gpus)
    if pool.efa:
        resources[EFA_RESOURCE] = str(planned.efa_interfaces)
    found |= {f"{NODE_TEMPLATE}/resources/{key}": value for key, value in resources.items()}
    return found


def update_strategy(planned: PlannedPool) -> str:
    """Return how EKS renews nodes: GPU nodes one by one, without a spare one.

    `DEFAULT` starts new nodes above the group's maximum before it ends old ones: twice the bill of
    the dearest machines, if they can be had at all, and more than a reservation holds. `MINIMAL` is
    meant for that (EKS API reference, NodegroupUpdateConfig).
    """
    reserving = planned.settings.capacity_reservation is not None
    return "MINIMAL" if planned.shape.gpus or reserving else "DEFAULT"


_BOUNDARY: Final = "==TRIPLANE=="

_STORAGE_CLIENTS: Final = """\
#!/bin/bash
# Longhorn attaches volumes by iSCSI and shares them by NFS.
set -o errexit -o nounset -o pipefail
for attempt in 1 2 3 4 5; do
  dnf install --assumeyes iscsi-initiator-utils nfs-utils && break
  echo "attempt ${attempt}: packages not installed" >&2
  sleep 10
done
# Each node needs a name of its own; the image has one for all.
echo "InitiatorName=$(/sbin/iscsi-iname)" > /etc/iscsi/initiatorname.iscsi
modprobe iscsi_tcp
echo iscsi_tcp > /etc/modules-load.d/longhorn.conf
systemctl enable --now iscsid.service
"""
"""LH-02. The AL2023 image has nfs-utils (amazon-eks-ami, al2023/provisioners/install-worker.sh) and
no iSCSI client. The packages come from S3, which the VPC reaches without the internet."""


def user_data(region: PlannedRegion, pool: PoolSettings) -> str | None:
    """Return a pool's user data in base64, None where its nodes need none.

    EKS appends its own part (nodeadm's NodeConfig) to it, so it is a MIME document.
    """
    longhorn = region.settings.storage.volumes is VolumeBackend.LONGHORN
    if not longhorn or pool.ami is not AmiFamily.AL2023:
        return None
    document = "\n".join(
        (
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"',
            "",
            f"--{_BOUNDARY}",
            'Content-Type: text/x-shellscript; charset="us-ascii"',
            "",
            _STORAGE_CLIENTS,
            f"--{_BOUNDARY}--",
            "",
        )
    )
    return base64.b64encode(document.encode()).decode()


def root_devices(pool: PoolSettings) -> Mapping[str, int | None]:
    """Return the block devices of the image and their sizes (GiB; None: as the image has it).

    Bottlerocket has its system on one volume and images and logs on a second (Bottlerocket README,
    "Default volumes").
    """
    if pool.ami is AmiFamily.BOTTLEROCKET:
        return {"/dev/xvda": None, "/dev/xvdb": pool.disk_gib}
    return {"/dev/xvda": pool.disk_gib}
