"""What the internet can reach: cluster endpoints, security groups, machines, addresses."""

import ipaddress
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.aws.resource import AwsResource

_OPEN_BITS: Final = 8
"""A prefix shorter than this is no network of one's own: 0.0.0.0/0 in two halves is still all."""


def _open(node: Node) -> bool:
    """Whether a network is the internet or a large part of it; one that is not known raises."""
    text = node.text()
    if text is None:
        return False
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    bits = _OPEN_BITS if network.version == 4 else 2 * _OPEN_BITS
    return not network.is_private and network.prefixlen < bits


def _open_ones(node: Node) -> Iterator[Node]:
    return (each for each in node.items() if _open(each))


@rule(
    "aws-securitygroup-stay-closed",
    "No security group lets the internet in.",
    remedy="name the networks or the security groups that may come in; a load balancer in public "
    "subnets is what faces the internet",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "network"),
)
def stay_closed(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Engines serve whoever reaches their port, without any key."""
    body = resource.body
    if resource.is_kind("ec2.SecurityGroup", "ec2.DefaultSecurityGroup"):
        for ingress in body["ingress"].items():
            yield from _rule(ingress, "cidrBlocks", "ipv6CidrBlocks")
    elif resource.is_kind("ec2.SecurityGroupRule") and body["type"].text() == "ingress":
        yield from _rule(body, "cidrBlocks", "ipv6CidrBlocks")
    elif resource.is_kind("vpc.SecurityGroupIngressRule"):
        for key in ("cidrIpv4", "cidrIpv6"):
            if _open(body[key]):
                yield Finding(body[key].path, f"{body[key].text()} may come in")


def _rule(node: Node, *keys: str) -> Iterator[Finding]:
    for key in keys:
        for each in _open_ones(node[key]):
            yield Finding(each.path, f"{each.text()} may come in")


@rule(
    "aws-defaultsecuritygroup-be-empty",
    "The default security group of a network allows nothing.",
    remedy="register ec2.DefaultSecurityGroup without ingress and egress, and give every machine a "
    "group of its own",
    weight=RuleWeight.MEDIUM,
    tags=("aws", "network"),
)
def be_empty(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """What is started without a group gets this one, and it lets its members talk."""
    if not resource.is_kind("ec2.DefaultSecurityGroup"):
        return
    for key in ("ingress", "egress"):
        if any(True for _ in resource.body[key].items()):
            yield Finding(resource.body[key].path, f"it has {key} rules")


@rule(
    "aws-cluster-close-endpoint",
    "No cluster's API is open to the internet.",
    remedy="set vpcConfig.endpointPublicAccess: false, or name the networks that may reach it in "
    "publicAccessCidrs",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "network", "eks"),
)
def close_endpoint(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """EKS opens the endpoint to 0.0.0.0/0 where nothing is said."""
    if not resource.is_kind("eks.Cluster"):
        return
    config = resource.body["vpcConfig"]
    public = config["endpointPublicAccess"]
    if public.flag() is False:
        return
    networks = config["publicAccessCidrs"]
    said = [each for each in networks.items() if each.present]
    if not said:
        yield Finding(public.path, "the endpoint is public, and no network is named")
    for each in said:
        if _open(each):
            yield Finding(each.path, f"{each.text()} may reach the endpoint")


@rule(
    "aws-subnet-give-no-address",
    "No subnet gives every machine in it a public address.",
    remedy="leave mapPublicIpOnLaunch out; load balancers and NAT gateways bring their own",
    tags=("aws", "network"),
)
def give_no_address(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """A machine that lands there by mistake is reachable from everywhere."""
    flag = resource.body["mapPublicIpOnLaunch"]
    if resource.is_kind("ec2.Subnet", "ec2.DefaultSubnet") and flag.flag():
        yield Finding(flag.path, "machines in it get public addresses")


@rule(
    "aws-machine-have-no-address",
    "No machine has a public address, and nobody may log in from everywhere.",
    remedy="leave associatePublicIpAddress and remoteAccess out; Systems Manager gives a shell "
    "without either",
    tags=("aws", "network"),
)
def have_no_address(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Nodes belong into private subnets. EKS opens SSH to 0.0.0.0/0 where a key stands alone."""
    body = resource.body
    if resource.is_kind("ec2.LaunchTemplate"):
        for interface in body["networkInterfaces"].items():
            flag = interface["associatePublicIpAddress"]
            if flag.flag():
                yield Finding(flag.path, "machines get public addresses")
    elif resource.is_kind("ec2.Instance", "ec2.LaunchConfiguration"):
        if body["associatePublicIpAddress"].flag():
            yield Finding(body["associatePublicIpAddress"].path, "it gets a public address")
    elif resource.is_kind("eks.NodeGroup"):
        remote = body["remoteAccess"]
        if remote["ec2SshKey"].present and not any(
            True for _ in remote["sourceSecurityGroupIds"].items()
        ):
            yield Finding(remote.path, "SSH is open to everybody")
