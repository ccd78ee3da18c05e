"""What the AWS load balancer controller may do: network load balancers of its own cluster.

Upstream's policy (aws-load-balancer-controller, docs/install/iam_policy.json) serves every kind of
load balancer, web firewalls, Shield, Cognito and certificates, in any region, and asks only
whether a resource has a cluster's tag. Here only Services of type LoadBalancer become network load
balancers; every write is bound to this account, this region and this cluster's tag.
"""

from typing import Final

from models.aws.iam import Conditions, Document, allow, arn, document
from models.settings.eks import EksClusterSettings

CLUSTER_TAG: Final = "elbv2.k8s.aws/cluster"
"""The controller puts it on everything that it makes, with the cluster's name."""

_LOOK: Final = (
    "ec2:DescribeAccountAttributes",
    "ec2:DescribeAddresses",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "ec2:DescribeVpcPeeringConnections",
    "ec2:DescribeVpcs",
    "elasticloadbalancing:DescribeCapacityReservation",
    "elasticloadbalancing:DescribeListenerAttributes",
    "elasticloadbalancing:DescribeListenerCertificates",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeRules",
    "elasticloadbalancing:DescribeSSLPolicies",
    "elasticloadbalancing:DescribeTags",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
)

_RULES: Final = ("ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress")


def balance_loads(cluster: EksClusterSettings, cluster_name: str) -> Document:
    """Return the controller's policy."""
    balancers = arn(cluster, "elasticloadbalancing", "loadbalancer/net/*")
    listeners = arn(cluster, "elasticloadbalancing", "listener/net/*")
    targets = arn(cluster, "elasticloadbalancing", "targetgroup/*")
    groups = arn(cluster, "ec2", "security-group/*")
    networks = arn(cluster, "ec2", "vpc/*")
    # The VPC is called like its cluster; the controller finds it by that as well.
    network: Conditions = {"StringEquals": {"aws:ResourceTag/Name": cluster_name}}
    mine: Conditions = {"StringEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": cluster_name}}
    new: Conditions = {"StringEquals": {f"aws:RequestTag/{CLUSTER_TAG}": cluster_name}}
    # Who may tag what is not theirs yet could make it theirs.
    untouched: Conditions = {**mine, "Null": {f"aws:RequestTag/{CLUSTER_TAG}": "true"}}
    nodes: Conditions = {
        "StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{cluster_name}": "owned"}
    }
    return document(
        allow("Look", _LOOK, ["*"]),
        allow("LookAtGroups", ["ec2:GetSecurityGroupsForVpc"], [networks], network),
        allow("CreateGroup", ["ec2:CreateSecurityGroup"], [groups], new),
        allow("CreateGroupInNetwork", ["ec2:CreateSecurityGroup"], [networks], network),
        allow(
            "TagNewGroup",
            ["ec2:CreateTags"],
            [groups],
            {
                "StringEquals": {
                    **new["StringEquals"],
                    "ec2:CreateAction": "CreateSecurityGroup",
                }
            },
        ),
        allow("TagGroup", ["ec2:CreateTags", "ec2:DeleteTags"], [groups], untouched),
        allow("ChangeGroup", [*_RULES, "ec2:DeleteSecurityGroup"], [groups], mine),
        allow("OpenNodes", _RULES, [groups], nodes),
        allow(
            "Create",
            [
                "elasticloadbalancing:CreateLoadBalancer",
                "elasticloadbalancing:CreateTargetGroup",
            ],
            [balancers, targets],
            new,
        ),
        allow(
            "TagNew",
            ["elasticloadbalancing:AddTags"],
            [balancers, targets, listeners],
            {
                "StringEquals": {
                    **new["StringEquals"],
                    "elasticloadbalancing:CreateAction": [
                        "CreateListener",
                        "CreateLoadBalancer",
                        "CreateTargetGroup",
                    ],
                }
            },
        ),
        allow(
            "Tag",
            ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"],
            [balancers, targets, listeners],
            untouched,
        ),
        allow(
            "ChangeBalancers",
            [
                "elasticloadbalancing:CreateListener",
                "elasticloadbalancing:DeleteLoadBalancer",
                "elasticloadbalancing:ModifyCapacityReservation",
                "elasticloadbalancing:ModifyLoadBalancerAttributes",
                "elasticloadbalancing:SetIpAddressType",
                "elasticloadbalancing:SetSecurityGroups",
                "elasticloadbalancing:SetSubnets",
            ],
            [balancers],
            mine,
        ),
        allow(
            "ChangeListeners",
            [
                "elasticloadbalancing:DeleteListener",
                "elasticloadbalancing:ModifyListener",
                "elasticloadbalancing:ModifyListenerAttributes",
            ],
            [listeners],
            mine,
        ),
        allow(
            "ChangeTargets",
            [
                "elasticloadbalancing:DeleteTargetGroup",
                "elasticloadbalancing:DeregisterTargets",
                "elasticloadbalancing:ModifyTargetGroup",
                "elasticloadbalancing:ModifyTargetGroupAttributes",
                "elasticloadbalancing:RegisterTargets",
            ],
            [targets],
            mine,
        ),
        allow(
            "CreateServiceRole",
            ["iam:CreateServiceLinkedRole"],
            [
                f"arn:{cluster.partition}:iam::{cluster.account_id}:role/aws-service-role/"
                "elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing"
            ],
            {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
        ),
    )
