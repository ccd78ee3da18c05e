"""Policy documents of the cluster, its key and its network's logs, as plain data.

Everything in them is known before anything exists, so that a preview can be judged: account,
partition and names are plain. Documents of pods' roles are in `models/aws/iam.py`.
"""

from typing import Any, Final

from models.aws import names
from models.settings.eks import EksClusterSettings

POLICY_VERSION: Final = "2012-10-17"
"""The version of the policy language (IAM user guide, "Version")."""

Document = dict[str, Any]
Statement = dict[str, Any]

CLUSTER_POLICIES: Final = ("AmazonEKSClusterPolicy",)
"""What the control plane's role needs (EKS user guide, cluster IAM role)."""


def document(*statements: Statement) -> Document:
    """Return a policy document."""
    return {"Version": POLICY_VERSION, "Statement": list(statements)}


def service_trust(service: str, cluster: EksClusterSettings) -> Document:
    """Return a role's trust in an AWS service on behalf of the cluster's account only.

    Services serve other accounts as well (EKS user guide, "Cross-service confused deputy
    prevention"; VPC user guide likewise).
    """
    return document(
        {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": cluster.account_id}},
        }
    )


def flow_log_policy(cluster: EksClusterSettings, group: str) -> Document:
    """Return what the flow logs' role may do: write to their own group.

    VPC user guide, "IAM role for publishing flow logs to CloudWatch Logs", without the right to
    make groups (the stack makes it) and for this group only, as terraform-aws-modules/vpc has it.
    """
    arn = names.log_group_arn(cluster, group)
    return document(
        {
            "Effect": "Allow",
            "Action": [
                "logs:CreateLogStream",
                "logs:DescribeLogGroups",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            "Resource": [arn, f"{arn}:*"],
        },
    )


def key_policy(cluster: EksClusterSettings, name: str) -> Document:
    """Return the policy of a cluster's key; `name` is the cluster's.

    The key encrypts Kubernetes Secrets, the nodes' disks and the log groups. Roles are named in
    conditions and not as principals, since KMS refuses a principal that does not exist yet, and
    the one of Auto Scaling is made by AWS with the account's first group.
    """
    return document(
        _account(cluster),
        _control_plane(cluster, name),
        *_disks(cluster, name),
        _logs(cluster, name),
    )


def _account(cluster: EksClusterSettings) -> Statement:
    """KMS developer guide, default key policy: without it no IAM policy reaches the key."""
    return {
        "Sid": "AccountUsesIamPolicies",
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:{cluster.partition}:iam::{cluster.account_id}:root"},
        "Action": "kms:*",
        "Resource": "*",
    }


def _control_plane(cluster: EksClusterSettings, name: str) -> Statement:
    """What terraform-aws-modules/eks gives the cluster's role for envelope encryption."""
    return {
        "Sid": "ControlPlaneEncryptsSecrets",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["kms:Encrypt", "kms:Decrypt", "kms:ListGrants", "kms:DescribeKey"],
        "Resource": "*",
        "Condition": _only(cluster, [names.role_name(name, names.CLUSTER_ROLE)]),
    }


def _disks(cluster: EksClusterSettings, name: str) -> tuple[Statement, Statement]:
    """EC2 Auto Scaling user guide, "Required AWS KMS key policy for use with encrypted volumes"."""
    roles = [
        "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
        names.role_name(name, names.EBS_ROLE),
    ]
    use: Statement = {
        "Sid": "DisksAreEncrypted",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [
            "kms:Encrypt",
            "kms:Decrypt",
            "kms:ReEncrypt*",
            "kms:GenerateDataKey*",
            "kms:DescribeKey",
        ],
        "Resource": "*",
        "Condition": _only(cluster, roles),
    }
    grant: Statement = {
        "Sid": "DisksAreAttached",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": "kms:CreateGrant",
        "Resource": "*",
        "Condition": {**_only(cluster, roles), "Bool": {"kms:GrantIsForAWSResource": "true"}},
    }
    return use, grant


def _logs(cluster: EksClusterSettings, name: str) -> Statement:
    """CloudWatch Logs user guide, "Encrypt log data": each group by its own context."""
    groups = (names.control_plane_logs(name), names.flow_logs(name))
    return {
        "Sid": "LogGroupsAreEncrypted",
        "Effect": "Allow",
        "Principal": {"Service": f"logs.{cluster.aws_region}.amazonaws.com"},
        "Action": [
            "kms:Encrypt",
            "kms:Decrypt",
            "kms:ReEncrypt*",
            "kms:GenerateDataKey*",
            "kms:DescribeKey",
        ],
        "Resource": "*",
        "Condition": {
            "ArnEquals": {
                "kms:EncryptionContext:aws:logs:arn": [
                    names.log_group_arn(cluster, group) for group in groups
                ]
            }
        },
    }


def _only(cluster: EksClusterSettings, roles: list[str]) -> dict[str, Any]:
    """Return the condition that the caller is one of these roles of the cluster's account."""
    return {
        "StringEquals": {"kms:CallerAccount": cluster.account_id},
        "ArnEquals": {"aws:PrincipalArn": [names.role_arn(cluster, role) for role in roles]},
    }
