"""Resources of every type that the stand-in for AWS plays, in the order of their making.

Each is given most of what its type acts on: what is not given is not read back either.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.aws.core.values import Props
from tests.helpers.sandbox.aws_in_process import ACCOUNT, REGION

CLUSTER: Final = "kinds"
ZONE_NAME: Final = "triplane.test"
_ADMIN: Final = f"arn:aws:iam::{ACCOUNT}:role/somebody"
_BOUNDARY: Final = "arn:aws:iam::aws:policy/PowerUserAccess"
_VIEW: Final = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A resource that was made: what was asked for, and what `create` answered."""

    type: str
    urn: str
    identity: str
    inputs: Props
    outputs: Props


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """What later resources refer to: earlier ones by name, and a hosted zone of somebody's."""

    zone: str
    made: Mapping[str, Made]

    def id(self, name: str) -> str:
        """Return the id of a resource that was made."""
        return self.made[name].identity

    def out(self, name: str, key: str) -> Any:
        """Return an output of a resource that was made."""
        return self.made[name].outputs[key]


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """One resource: its class in pulumi_aws, a name in this file, its properties."""

    sdk: str
    name: str
    inputs: Callable[[World], Props]


def _document(*actions: str, **rest: Any) -> str:
    statement = {"Effect": "Allow", "Action": list(actions), **rest}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _trust(service: str) -> str:
    return _document("sts:AssumeRole", Principal={"Service": service})


def _subnet(world: World, index: int) -> Props:
    return {
        "vpcId": world.id("vpc"),
        "cidrBlock": f"10.0.{index}.0/24",
        "availabilityZone": f"{REGION}{'ab'[index]}",
        "mapPublicIpOnLaunch": index == 0,
        "tags": {"Name": f"subnet-{index}"},
    }


def _rule(world: World, source: Props) -> Props:
    return {
        "securityGroupId": world.id("group"),
        "ipProtocol": "tcp",
        "fromPort": 443,
        "toPort": 443,
        "tags": {"Name": "https"},
        **source,
    }


def _endpoint(world: World, service: str, **rest: Any) -> Props:
    name = f"com.amazonaws.{REGION}.{service}"
    return {"vpcId": world.id("vpc"), "serviceName": name, "tags": {"Name": service}, **rest}


def _role(service: str, **rest: Any) -> Callable[[World], Props]:
    def inputs(_: World) -> Props:
        trust = _trust(f"{service}.amazonaws.com")
        return {"assumeRolePolicy": trust, "tags": {"Name": service}, **rest}

    return inputs


def _key(_: World) -> Props:
    return {
        "description": "a key",
        "keyUsage": "ENCRYPT_DECRYPT",
        "enableKeyRotation": True,
        "deletionWindowInDays": 7,
        "policy": _document(
            "kms:*", Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, Resource="*"
        ),
        "tags": {"Name": "key"},
    }


NETWORK: Final = (
    Example(
        sdk="ec2.Vpc",
        name="vpc",
        inputs=lambda _: {
            "cidrBlock": "10.0.0.0/16",
            "enableDnsHostnames": True,
            "tags": {"Name": "vpc"},
        },
    ),
    Example(sdk="ec2.Subnet", name="subnet-a", inputs=lambda world: _subnet(world, 0)),
    Example(sdk="ec2.Subnet", name="subnet-b", inputs=lambda world: _subnet(world, 1)),
    Example(
        sdk="ec2.InternetGateway",
        name="gateway",
        inputs=lambda world: {"vpcId": world.id("vpc"), "tags": {"Name": "gateway"}},
    ),
    Example(
        sdk="ec2.Eip", name="address", inputs=lambda _: {"domain": "vpc", "tags": {"Name": "nat"}}
    ),
    Example(
        sdk="ec2.NatGateway",
        name="nat",
        inputs=lambda world: {
            "allocationId": world.id("address"),
            "subnetId": world.id("subnet-a"),
            "tags": {"Name": "nat"},
        },
    ),
    Example(
        sdk="ec2.RouteTable",
        name="table",
        inputs=lambda world: {"vpcId": world.id("vpc"), "tags": {"Name": "table"}},
    ),
    Example(
        sdk="ec2.Route",
        name="route-out",
        inputs=lambda world: {
            "routeTableId": world.id("table"),
            "destinationCidrBlock": "0.0.0.0/0",
            "gatewayId": world.id("gateway"),
        },
    ),
    Example(
        sdk="ec2.Route",
        name="route-nat",
        inputs=lambda world: {
            "routeTableId": world.id("table"),
            "destinationCidrBlock": "192.0.2.0/24",
            "natGatewayId": world.id("nat"),
        },
    ),
    Example(
        sdk="ec2.RouteTableAssociation",
        name="association",
        inputs=lambda world: {
            "routeTableId": world.id("table"),
            "subnetId": world.id("subnet-a"),
        },
    ),
    Example(
        sdk="ec2.SecurityGroup",
        name="group",
        inputs=lambda world: {
            "name": "kinds",
            "description": "kinds",
            "vpcId": world.id("vpc"),
            "revokeRulesOnDelete": True,
            "tags": {"Name": "group"},
        },
    ),
    Example(
        sdk="ec2.DefaultSecurityGroup",
        name="default",
        inputs=lambda world: {"vpcId": world.id("vpc"), "tags": {"Name": "closed"}},
    ),
    Example(
        sdk="vpc.SecurityGroupIngressRule",
        name="from-network",
        inputs=lambda world: _rule(world, {"cidrIpv4": "10.0.0.0/16", "description": "HTTPS"}),
    ),
    Example(
        sdk="vpc.SecurityGroupIngressRule",
        name="from-itself",
        inputs=lambda world: _rule(world, {"referencedSecurityGroupId": world.id("group")}),
    ),
    Example(
        sdk="vpc.SecurityGroupIngressRule",
        name="from-six",
        inputs=lambda world: _rule(world, {"cidrIpv6": "2001:db8::/32"}),
    ),
    Example(
        sdk="vpc.SecurityGroupEgressRule",
        name="to-six",
        inputs=lambda world: _rule(world, {"cidrIpv6": "2001:db8::/32"}),
    ),
    Example(
        sdk="vpc.SecurityGroupEgressRule",
        name="to-itself",
        inputs=lambda world: _rule(world, {"referencedSecurityGroupId": world.id("group")}),
    ),
    Example(
        sdk="vpc.SecurityGroupEgressRule",
        name="to-everywhere",
        inputs=lambda world: {
            "securityGroupId": world.id("group"),
            "ipProtocol": "-1",
            "cidrIpv4": "0.0.0.0/0",
            "description": "everything",
        },
    ),
    Example(
        sdk="ec2.VpcEndpoint",
        name="endpoint-s3",
        inputs=lambda world: _endpoint(
            world,
            "s3",
            routeTableIds=[world.id("table")],
            policy=_document("s3:GetObject", Principal="*", Resource="*"),
        ),
    ),
    Example(
        sdk="ec2.VpcEndpoint",
        name="endpoint-sts",
        inputs=lambda world: _endpoint(
            world,
            "sts",
            vpcEndpointType="Interface",
            privateDnsEnabled=True,
            subnetIds=[world.id("subnet-a"), world.id("subnet-b")],
            securityGroupIds=[world.id("group")],
        ),
    ),
)
"""A VPC and what lies in it."""

RIGHTS: Final = (
    Example(sdk="kms.Key", name="key", inputs=_key),
    Example(
        sdk="kms.Alias",
        name="alias",
        inputs=lambda world: {"name": "alias/kinds", "targetKeyId": world.id("key")},
    ),
    Example(
        sdk="iam.Role",
        name="cluster-role",
        inputs=_role("eks", name="kinds-cluster", description="a cluster's", path="/kinds/"),
    ),
    Example(
        sdk="iam.Role",
        name="node-role",
        inputs=_role("ec2", maxSessionDuration=7200, permissionsBoundary=_BOUNDARY),
    ),
    Example(
        sdk="iam.Role", name="log-role", inputs=_role("vpc-flow-logs", forceDetachPolicies=True)
    ),
    Example(
        sdk="iam.RolePolicyAttachment",
        name="attached",
        inputs=lambda world: {
            "role": world.out("cluster-role", "name"),
            "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
        },
    ),
    Example(
        sdk="iam.RolePolicy",
        name="inline",
        inputs=lambda world: {
            "name": "write",
            "role": world.out("log-role", "name"),
            "policy": _document("logs:PutLogEvents", Resource="*"),
        },
    ),
    Example(
        sdk="iam.InstanceProfile",
        name="profile",
        inputs=lambda world: {
            "name": "kinds",
            "role": world.out("node-role", "name"),
            "tags": {"Name": "profile"},
        },
    ),
    Example(
        sdk="cloudwatch.LogGroup",
        name="logs",
        inputs=lambda world: {
            "name": "/kinds/flow",
            "retentionInDays": 30,
            "kmsKeyId": world.out("key", "arn"),
            "tags": {"Name": "logs"},
        },
    ),
    Example(
        sdk="ec2.FlowLog",
        name="flow",
        inputs=lambda world: {
            "vpcId": world.id("vpc"),
            "iamRoleArn": world.out("log-role", "arn"),
            "logDestination": world.out("logs", "arn"),
            "trafficType": "REJECT",
            "maxAggregationInterval": 60,
            "tags": {"Name": "flow"},
        },
    ),
)
"""Keys, roles, and what is written down."""


def _template(world: World) -> Props:
    volume = {
        "volumeSize": 200,
        "volumeType": "gp3",
        "iops": 4000,
        "throughput": 250,
        "encrypted": "true",
        "kmsKeyId": world.out("key", "arn"),
        "deleteOnTermination": "true",
    }
    return {
        "name": "kinds",
        "description": "machines",
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": volume}],
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
        },
        "vpcSecurityGroupIds": [world.id("group")],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"Name": "node"}}],
        "userData": "IyEvYmluL3No",
        "updateDefaultVersion": True,
        "tags": {"Name": "template"},
    }


def _block(world: World) -> Props:
    """Return the template of a capacity block, whose machines have EFA interfaces."""
    target = {"capacityReservationId": "cr-0123456789abcdef0"}
    interface = {
        "deviceIndex": 1,
        "networkCardIndex": 1,
        "interfaceType": "efa",
        "securityGroups": [world.id("group")],
        "deleteOnTermination": "true",
    }
    return {
        "name": "block",
        "imageId": "ami-12c6146b",
        "instanceType": "p5.48xlarge",
        "instanceMarketOptions": {"marketType": "capacity-block"},
        "capacityReservationSpecification": {"capacityReservationTarget": target},
        "networkInterfaces": [interface],
        "defaultVersion": 1,
    }


def _cluster(world: World) -> Props:
    return {
        "name": CLUSTER,
        "roleArn": world.out("cluster-role", "arn"),
        "version": "1.35",
        "vpcConfig": {
            "subnetIds": [world.id("subnet-b"), world.id("subnet-a")],
            "securityGroupIds": [world.id("group")],
            "endpointPrivateAccess": True,
            "endpointPublicAccess": True,
            "publicAccessCidrs": ["192.0.2.0/24"],
        },
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": "172.20.0.0/16"},
        "zonalShiftConfig": {"enabled": True},
        "deletionProtection": False,
        "accessConfig": {
            "authenticationMode": "API",
            "bootstrapClusterCreatorAdminPermissions": False,
        },
        "encryptionConfig": {
            "provider": {"keyArn": world.out("key", "arn")},
            "resources": ["secrets"],
        },
        "enabledClusterLogTypes": ["audit", "api"],
        "upgradePolicy": {"supportType": "STANDARD"},
        "bootstrapSelfManagedAddons": False,
        "tags": {"Name": CLUSTER},
    }


def _nodes(world: World) -> Props:
    return {
        "clusterName": world.id("cluster"),
        "nodeGroupName": "gpu",
        "nodeRoleArn": world.out("node-role", "arn"),
        "subnetIds": [world.id("subnet-b"), world.id("subnet-a")],
        "instanceTypes": ["g6.2xlarge"],
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": "ON_DEMAND",
        "launchTemplate": {
            "id": world.id("template"),
            "version": str(world.out("template", "latestVersion")),
        },
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2},
        "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
        "nodeRepairConfig": {"enabled": True},
        "labels": {"triplane.dev/pool": "gpu"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "tags": {"Name": "gpu"},
    }


def _plain_nodes(world: World) -> Props:
    """Return a group without taints, with a template by its name."""
    return {
        "clusterName": world.id("cluster"),
        "nodeRoleArn": world.out("node-role", "arn"),
        "subnetIds": [world.id("subnet-a")],
        "launchTemplate": {"name": world.out("template", "name"), "version": "1"},
        "instanceTypes": ["m7i.xlarge"],
        "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 3},
        "updateConfig": {"maxUnavailablePercentage": 50},
    }


def _disk_nodes(world: World) -> Props:
    """Return a group with a disk of its own, and a version that is behind its cluster's."""
    return {
        "clusterName": world.id("cluster"),
        "nodeRoleArn": world.out("node-role", "arn"),
        "subnetIds": [world.id("subnet-a")],
        "instanceTypes": ["m7i.xlarge"],
        "diskSize": 100,
        "version": "1.34",
        "releaseVersion": "1.34.2-20260101",
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 1},
    }


def _of_cluster(**rest: Any) -> Callable[[World], Props]:
    return lambda world: {"clusterName": world.id("cluster"), **rest}


CLUSTERS: Final = (
    Example(sdk="ec2.LaunchTemplate", name="template", inputs=_template),
    Example(sdk="eks.Cluster", name="cluster", inputs=_cluster),
    Example(sdk="ec2.LaunchTemplate", name="template-block", inputs=_block),
    Example(sdk="eks.NodeGroup", name="nodes", inputs=_nodes),
    Example(sdk="eks.NodeGroup", name="nodes-plain", inputs=_plain_nodes),
    Example(sdk="eks.NodeGroup", name="nodes-disk", inputs=_disk_nodes),
    Example(
        sdk="autoscaling.Tag",
        name="fact",
        inputs=lambda world: {
            "autoscalingGroupName": world.out("nodes", "resources")[0]["autoscalingGroups"][0][
                "name"
            ],
            "tag": {"key": "k8s.io/x", "value": "1", "propagateAtLaunch": False},
        },
    ),
    Example(
        sdk="eks.Addon",
        name="addon",
        inputs=lambda world: _of_cluster(
            addonName="vpc-cni",
            addonVersion="v1.20.4-eksbuild.2",
            serviceAccountRoleArn=world.out("node-role", "arn"),
            configurationValues='{"env": {"A": "1"}}',
            resolveConflictsOnCreate="OVERWRITE",
            resolveConflictsOnUpdate="PRESERVE",
            tags={"Name": "cni"},
        )(world),
    ),
    Example(
        sdk="eks.AccessEntry",
        name="entry",
        inputs=_of_cluster(
            principalArn=_ADMIN,
            kubernetesGroups=["b", "a"],
            userName="somebody",
            tags={"Name": "somebody"},
        ),
    ),
    Example(
        sdk="eks.AccessPolicyAssociation",
        name="rights",
        inputs=_of_cluster(
            principalArn=_ADMIN,
            policyArn=_VIEW,
            accessScope={"type": "namespace", "namespaces": ["two", "one"]},
        ),
    ),
    Example(
        sdk="eks.PodIdentityAssociation",
        name="identity",
        inputs=lambda world: {
            "clusterName": world.id("cluster"),
            "namespace": "triplane-models",
            "serviceAccount": "model-seed",
            "roleArn": world.out("node-role", "arn"),
            "tags": {"Name": "seed"},
        },
    ),
)
"""A cluster, its nodes, and who may do what in it."""


def _of_bucket(**rest: Any) -> Callable[[World], Props]:
    return lambda world: {"bucket": world.id("bucket"), **rest}


BUCKETS: Final = (
    Example(
        sdk="s3.Bucket",
        name="bucket",
        inputs=lambda _: {"bucket": "kinds-weights", "forceDestroy": True, "tags": {"Name": "w"}},
    ),
    Example(
        sdk="s3.BucketVersioning",
        name="versions",
        inputs=_of_bucket(versioningConfiguration={"status": "Enabled"}),
    ),
    Example(
        sdk="s3.BucketServerSideEncryptionConfiguration",
        name="encryption",
        inputs=lambda world: {
            "bucket": world.id("bucket"),
            "rules": [
                {
                    "applyServerSideEncryptionByDefault": {
                        "sseAlgorithm": "aws:kms",
                        "kmsMasterKeyId": world.out("key", "arn"),
                    },
                    "bucketKeyEnabled": True,
                }
            ],
        },
    ),
    Example(
        sdk="s3.BucketPublicAccessBlock",
        name="block",
        inputs=_of_bucket(blockPublicAcls=True, blockPublicPolicy=True, ignorePublicAcls=True),
    ),
    Example(
        sdk="s3.BucketOwnershipControls",
        name="owner",
        inputs=_of_bucket(rule={"objectOwnership": "BucketOwnerEnforced"}),
    ),
    Example(
        sdk="s3.BucketPolicy",
        name="policy",
        inputs=_of_bucket(
            policy=_document(
                "s3:GetObject",
                Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
                Resource="arn:aws:s3:::kinds-weights/*",
            )
        ),
    ),
    Example(
        sdk="s3.BucketLifecycleConfiguration",
        name="lifecycle",
        inputs=_of_bucket(
            rules=[
                {
                    "id": "old",
                    "status": "Enabled",
                    "filter": {"prefix": "weights/"},
                    "expiration": {"days": 365},
                    "noncurrentVersionExpiration": {"noncurrentDays": 30},
                    "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
                }
            ]
        ),
    ),
    Example(
        sdk="route53.Record",
        name="record",
        inputs=lambda world: {
            "zoneId": world.zone,
            "name": f"models.{ZONE_NAME}",
            "type": "CNAME",
            "ttl": 60,
            "records": ["gateway.example.org"],
            "setIdentifier": REGION,
            "latencyRoutingPolicies": [{"region": REGION}],
        },
    ),
)
"""A bucket, its settings, and a name."""

EXAMPLES: Final = (*NETWORK, *RIGHTS, *CLUSTERS, *BUCKETS)
