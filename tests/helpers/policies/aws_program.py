"""A compliant AWS program as plain resources, and ways to break one field of it."""

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.evaluate import aws_findings
from policies.views.aws.resource import AwsResource
from tests.helpers.policies import compliant_stack

ACCOUNT: Final = "111122223333"
CONTEXT: Final = Context(pulumi=True, today=compliant_stack.TODAY, regions=("us-east-1", "us-east"))
Json = dict[str, Any]


def statement(action: Any, resource: Any, **more: Any) -> Json:
    """Return one statement that allows."""
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def document(*statements: Json) -> Json:
    """Return a document of these statements."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _bucket_policy() -> Json:
    return document(
        {
            "Sid": "TlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": ["arn:aws:s3:::weights", "arn:aws:s3:::weights/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )


def _key_policy() -> Json:
    root = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    return document(statement("kms:*", "*", Principal=root))


def _trust() -> Json:
    return document(
        {
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
        }
    )


def _identity() -> Json:
    return document(
        statement(["s3:GetObject"], ["arn:aws:s3:::weights/models/*"]),
        statement("autoscaling:Describe*", "*"),
        statement(
            ["autoscaling:SetDesiredCapacity"],
            "*",
            Condition={"StringEquals": {"aws:ResourceTag/managed-by": "pulumi"}},
        ),
        statement(
            "iam:PassRole",
            f"arn:aws:iam::{ACCOUNT}:role/node",
            Condition={"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
        ),
    )


def compliant() -> dict[str, Json]:
    """Return resources in which nothing is wrong: `kind` beside the inputs, by Pulumi name."""
    return copy.deepcopy(
        {
            "cluster": {
                "kind": "eks.Cluster",
                "vpcConfig": {
                    "endpointPublicAccess": True,
                    "publicAccessCidrs": ["203.0.113.0/24"],
                    "endpointPrivateAccess": True,
                },
                "encryptionConfig": {"provider": {"keyArn": "arn"}, "resources": ["secrets"]},
                "enabledClusterLogTypes": [
                    *("api", "audit", "authenticator", "controllerManager", "scheduler"),
                ],
            },
            "key": {"kind": "kms.Key", "enableKeyRotation": True, "policy": _key_policy()},
            "role": {"kind": "iam.Role", "assumeRolePolicy": json.dumps(_trust())},
            "grant": {"kind": "iam.RolePolicy", "policy": _identity()},
            "attached": {
                "kind": "iam.RolePolicyAttachment",
                "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
            },
            "group": {
                "kind": "ec2.SecurityGroup",
                "ingress": [{"cidrBlocks": ["10.0.0.0/8"], "ipv6CidrBlocks": ["fd00::/8"]}],
            },
            "ingress": {"kind": "vpc.SecurityGroupIngressRule", "cidrIpv4": "10.0.0.0/16"},
            "old-ingress": {
                "kind": "ec2.SecurityGroupRule",
                "type": "ingress",
                "cidrBlocks": ["192.168.0.0/16"],
            },
            "egress": {
                "kind": "ec2.SecurityGroupRule",
                "type": "egress",
                "cidrBlocks": ["0.0.0.0/0"],
            },
            "default": {"kind": "ec2.DefaultSecurityGroup", "vpcId": "vpc-1"},
            "subnet": {"kind": "ec2.Subnet", "mapPublicIpOnLaunch": False},
            "template": {
                "kind": "ec2.LaunchTemplate",
                "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
                "blockDeviceMappings": [
                    {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "volumeSize": 200}}
                ],
                "networkInterfaces": [{"associatePublicIpAddress": "false"}],
            },
            "nodes": {
                "kind": "eks.NodeGroup",
                "launchTemplate": {"id": "lt-1", "version": "1"},
            },
            "files": {"kind": "efs.FileSystem", "encrypted": True},
            "bucket": {"kind": "s3.Bucket", "bucket": "weights"},
            "block": {
                "kind": "s3.BucketPublicAccessBlock",
                "bucket": "weights",
                "blockPublicAcls": True,
                "blockPublicPolicy": True,
                "ignorePublicAcls": True,
                "restrictPublicBuckets": True,
            },
            "encryption": {
                "kind": "s3.BucketServerSideEncryptionConfiguration",
                "bucket": "weights",
                "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}],
            },
            "bucket-policy": {
                "kind": "s3.BucketPolicy",
                "bucket": "weights",
                "policy": _bucket_policy(),
            },
        }
    )


def resources(stack: Mapping[str, Json], *, protect: bool = True) -> list[AwsResource]:
    """Return the resources as rules see them; the URN of each is its name."""
    return [
        AwsResource(
            kind=body["kind"],
            name=name,
            body=Node(plain({key: body[key] for key in body if key != "kind"})),
            urn=name,
            protect=protect,
        )
        for name, body in stack.items()
    ]


def found(
    stack: Mapping[str, Json],
    context: Context = CONTEXT,
    links: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    *,
    protect: bool = True,
) -> tuple[Finding, ...]:
    """Return what all AWS rules find."""
    return aws_findings(resources(stack, protect=protect), context, links)


def granting(*statements: Json) -> dict[str, Json]:
    """Return the compliant program with another identity policy."""
    return compliant_stack.broken("grant.policy", document(*statements), compliant())
