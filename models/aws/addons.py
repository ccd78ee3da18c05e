"""The add-ons that EKS installs and keeps: which, in what order, with what settings.

Versions are EKS's default for the cluster's Kubernetes version: no list of versions has a source
here that would stay true. EKS does not move them when the cluster is upgraded (docs/aws.md).
"""

import json
from typing import Any, Final

from models.aws import names
from models.aws.network import CNI_MINIMUM_IPS, CNI_WARM_IPS
from models.core.base import Model

SYSTEM_NAMESPACE: Final = "kube-system"


class Identity(Model):
    """What an add-on's service account may do: a role, by purpose, with one of AWS's policies."""

    service_account: str
    purpose: str
    policy: str


class AddOn(Model):
    """One add-on. `configuration` is EKS's JSON text, None where its defaults stand."""

    name: str
    configuration: str | None = None
    identity: Identity | None = None


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


BEFORE_NODES: Final = (
    AddOn(name="eks-pod-identity-agent"),
    AddOn(name="kube-proxy"),
    AddOn(
        name="vpc-cni",
        configuration=_json(
            {
                # Without it NetworkPolicies are taken and enforced by nobody (EKS user guide,
                # "Limit Pod traffic with Kubernetes network policies").
                "enableNetworkPolicy": "true",
                "env": {
                    "MINIMUM_IP_TARGET": str(CNI_MINIMUM_IPS),
                    "WARM_IP_TARGET": str(CNI_WARM_IPS),
                },
            }
        ),
        identity=Identity(
            service_account="aws-node", purpose=names.CNI_ROLE, policy="AmazonEKS_CNI_Policy"
        ),
    ),
)
"""What a node needs to become ready: DaemonSets, which are whole without a node."""

AFTER_NODES: Final = (
    AddOn(name="coredns"),
    AddOn(
        name="aws-ebs-csi-driver",
        identity=Identity(
            service_account="ebs-csi-controller-sa",
            purpose=names.EBS_ROLE,
            # Only volumes and machines of this cluster, by the tags that EKS sets; the driver has
            # it since 1.58 (AWS managed policy reference, 2026-04-16).
            policy="AmazonEBSCSIDriverEKSClusterScopedPolicy",
        ),
    ),
)
"""What waits for nodes to run on: EKS reports them degraded until their pods are up."""
