"""IAM documents: who may take a role, and the least that each role needs.

Every document is plain text at preview: account, region, cluster and bucket names are settings, so
that ARNs can be written before anything exists and policies can read them. Where AWS gives ids (a
key, a security group) the statement is bound by tag or alias instead. What AWS lets nobody bind
(most Describe actions) has the resource `*`, and only that. docs/iam.md tells each role's reasons.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, TypedDict

from models.settings.eks import EksClusterSettings
from models.settings.storage import ObjectStoreSettings

VERSION: Final = "2012-10-17"

POD_IDENTITY: Final = "pods.eks.amazonaws.com"

Conditions = dict[str, dict[str, str | list[str]]]


class Statement(TypedDict, total=False):
    """One statement of a policy document, in IAM's own spelling."""

    Sid: str
    Effect: str
    Principal: dict[str, str | list[str]] | str
    Action: list[str]
    Resource: list[str]
    Condition: Conditions


class Document(TypedDict):
    """A policy document."""

    Version: str
    Statement: list[Statement]


def document(*statements: Statement) -> Document:
    """Return a policy document of these statements."""
    return {"Version": VERSION, "Statement": list(statements)}


def text(policy: Document | Any) -> str:
    """Return a document as JSON with a stable order of keys."""
    return json.dumps(policy, sort_keys=True, separators=(",", ":"))


def allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    condition: Conditions | None = None,
) -> Statement:
    """Return a statement that allows actions on resources."""
    found: Statement = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": list(actions),
        "Resource": list(resources),
    }
    if condition is not None:
        found["Condition"] = condition
    return found


def arn(cluster: EksClusterSettings, service: str, resource: str) -> str:
    """Return the ARN (pattern) of a resource in the cluster's account and region."""
    return f"arn:{cluster.partition}:{service}:{cluster.aws_region}:{cluster.account_id}:{resource}"


def machine_trust() -> Document:
    """Return a trust policy for EC2 machines."""
    return document(
        {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": ["sts:AssumeRole"],
        }
    )


def pod_trust(cluster_name: str, namespace: str, service_account: str) -> Document:
    """Return a trust policy for the pods of one service account of one cluster.

    Without the conditions any association in the account could hand the role to any pod (EKS user
    guide, pod-id-role: Setting Conditions).
    """
    return document(
        {
            "Effect": "Allow",
            "Principal": {"Service": POD_IDENTITY},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Condition": {
                "StringEquals": {
                    "aws:RequestTag/eks-cluster-name": cluster_name,
                    "aws:RequestTag/kubernetes-namespace": namespace,
                    "aws:RequestTag/kubernetes-service-account": service_account,
                }
            },
        }
    )


def read_weights(
    cluster: EksClusterSettings, objects: ObjectStoreSettings, *, alias: str | None
) -> Document:
    """Return what the seeding Jobs may do: list and read below the prefix of their bucket.

    `alias` names the bucket's key where the stack makes it; elsewhere the settings may name one.
    """
    where = f"arn:{cluster.partition}:s3:::{objects.bucket}"
    below: Conditions = {"StringLike": {"s3:prefix": [f"{objects.prefix}*"]}}
    ours: Conditions | None = None
    if alias is not None:
        # The name of a bucket that is deleted is free for every account.
        ours = {"StringEquals": {"s3:ResourceAccount": cluster.account_id}}
        below = {**below, **ours}
    statements = [
        allow("ListBelowPrefix", ["s3:ListBucket"], [where], below),
        allow("ReadBelowPrefix", ["s3:GetObject"], [f"{where}/{objects.prefix}*"], ours),
    ]
    through: Conditions = {"StringEquals": {"kms:ViaService": f"s3.{objects.region}.amazonaws.com"}}
    if objects.key_arn is not None:
        statements.append(allow("DecryptObjects", ["kms:Decrypt"], [objects.key_arn], through))
    elif alias is not None:
        named: Conditions = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": [alias]}}
        keys = [arn(cluster, "kms", "key/*")]
        statements.append(allow("DecryptObjects", ["kms:Decrypt"], keys, {**through, **named}))
    return document(*statements)


def only_tls(cluster: EksClusterSettings, bucket: str) -> Document:
    """Return a bucket's policy: nothing without TLS."""
    where = f"arn:{cluster.partition}:s3:::{bucket}"
    return document(
        {
            "Sid": "RefusePlainHttp",
            "Effect": "Deny",
            "Principal": "*",
            "Action": ["s3:*"],
            "Resource": [where, f"{where}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )


def grow_groups(cluster: EksClusterSettings, cluster_name: str) -> Document:
    """Return what the cluster autoscaler may do: look, and resize the groups of its own cluster.

    EKS tags the Auto Scaling groups of managed node groups for it. Left out of upstream's policy
    is what only launch configurations and attribute-based groups need, which are not made here.
    """
    mine = f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster_name}"
    return document(
        allow(
            "Look",
            [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeScalingActivities",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplateVersions",
            ],
            ["*"],
        ),
        allow(
            "LookAtNodeGroups",
            ["eks:DescribeNodegroup"],
            [arn(cluster, "eks", f"nodegroup/{cluster_name}/*/*")],
        ),
        allow(
            "Resize",
            ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            [arn(cluster, "autoscaling", "autoScalingGroup:*:autoScalingGroupName/*")],
            {"StringEquals": {mine: "owned"}},
        ),
    )
