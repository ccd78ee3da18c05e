"""Every name and tag on AWS, computed in one place.

Names are plain, since policies, ARNs and other objects are written with them before anything
exists. They carry environment and region, so that several stacks fit into one account.
"""

from typing import Final

from models.settings.eks import EksClusterSettings

PROJECT: Final = "triplane"

ROLE_NAME_MAX: Final = 64
"""IAM's limit for a role's name (IAM API reference, CreateRole)."""

CLUSTER_ROLE: Final = "cluster"
NODE_ROLE: Final = "node"
FLOW_LOG_ROLE: Final = "flow-logs"
CNI_ROLE: Final = "cni"
EBS_ROLE: Final = "ebs-csi"
"""Purposes of the roles, which end their names."""


NODE_TEMPLATE: Final = "k8s.io/cluster-autoscaler/node-template"
"""Tags of an Auto Scaling group that tell what a node of it would be, while there is none."""


def cluster_name(environment: str, region: str) -> str:
    """Return the name of a region's EKS cluster; `region` is the name in the settings.

    At most 37 characters: `staging` is the longest environment, a region's name has 20.
    """
    return f"{PROJECT}-{environment}-{region}"


def cluster_arn(cluster: EksClusterSettings, name: str) -> str:
    """Return the ARN of the EKS cluster of that name."""
    where = f"{cluster.aws_region}:{cluster.account_id}"
    return f"arn:{cluster.partition}:eks:{where}:cluster/{name}"


def role_name(cluster: str, purpose: str) -> str:
    """Return the name of the IAM role that serves a purpose in a cluster (by its name).

    Raises `ValueError` where it would be too long for IAM.
    """
    name = f"{cluster}-{purpose}"
    if len(name) > ROLE_NAME_MAX:
        message = (
            f"role name {name!r} has more than {ROLE_NAME_MAX} characters; shorten {purpose!r}"
        )
        raise ValueError(message)
    return name


def role_arn(cluster: EksClusterSettings, role: str) -> str:
    """Return the ARN of a role of the cluster's account, by its name."""
    return f"arn:{cluster.partition}:iam::{cluster.account_id}:role/{role}"


def managed_policy(cluster: EksClusterSettings, name: str) -> str:
    """Return the ARN of a policy that AWS manages; `name` has its path (`service-role/...`)."""
    return f"arn:{cluster.partition}:iam::aws:policy/{name}"


def key_alias(cluster: str) -> str:
    """Return the alias of a cluster's KMS key."""
    return f"alias/{cluster}"


def bucket_key_alias(cluster: str) -> str:
    """Return the alias of the KMS key of a cluster's bucket of weights."""
    return f"alias/{cluster}-objects"


def control_plane_logs(cluster: str) -> str:
    """Return the log group that EKS writes to; EKS gives its name."""
    return f"/aws/eks/{cluster}/cluster"


def flow_logs(cluster: str) -> str:
    """Return the log group of the VPC's flow logs."""
    return f"/{PROJECT}/{cluster}/flow"


def log_group_arn(cluster: EksClusterSettings, group: str) -> str:
    """Return a log group's ARN, without the `:*` that stands for its streams."""
    where = f"{cluster.aws_region}:{cluster.account_id}"
    return f"arn:{cluster.partition}:logs:{where}:log-group:{group}"


def tags(environment: str, region: str) -> dict[str, str]:
    """Return the tags of everything of a region. The AWS provider puts them on by itself.

    Where it cannot (machines and volumes that a launch template makes), components pass them on.
    """
    return {
        "project": PROJECT,
        "environment": environment,
        "region": region,
        "managed-by": "pulumi",
    }


def cluster_approval(region: str) -> str:
    """Return the entry of `accept_data_loss` that gives a region's cluster up.

    It covers what the cluster cannot lose without being lost: its KMS key and the control plane's
    subnets.
    """
    return f"Cluster/{region}"


def bucket_approval(region: str) -> str:
    """Return the entry of `accept_data_loss` that gives up the bucket of a region's weights."""
    return f"Bucket/{region}"
