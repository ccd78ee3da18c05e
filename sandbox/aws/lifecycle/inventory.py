"""What is left on AWS: everything that the stand-in plays and that somebody made."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.values import Props, items

_EC2: Final[Mapping[str, tuple[str, str, str]]] = {
    "address": ("describe_addresses", "Addresses", "AllocationId"),
    "flow log": ("describe_flow_logs", "FlowLogs", "FlowLogId"),
    "internet gateway": ("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    "launch template": ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    "NAT gateway": ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    "network interface": ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    "VPC endpoint": ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
}
"""Listings in which everything was made by somebody."""


def left(aws: Aws) -> list[str]:
    """Return a line for each thing that exists, sorted; AWS's own defaults are not counted."""
    kinds = (_network, _identities, _clusters, _data, _names)
    return sorted(line for lines in kinds for line in lines(aws))


def _network(aws: Aws) -> Iterator[str]:
    defaults = {
        each["VpcId"] for each in _pages(aws, "describe_vpcs", "Vpcs") if each.get("IsDefault")
    }
    for what, (operation, key, name) in _EC2.items():
        for each in _pages(aws, operation, key):
            gone = str(each.get("State", "")).lower() in ("deleted", "deleting")
            inside = _vpc(each) in defaults
            if not gone and not inside:
                yield f"{what} {each[name]}"
    listings = (("VPC", "vpcs", "VpcId"), ("subnet", "subnets", "SubnetId"))
    listings = (*listings, ("route table", "route_tables", "RouteTableId"))
    listings = (*listings, ("security group", "security_groups", "GroupId"))
    for what, plural, name in listings:
        key = "".join(part.title() for part in plural.split("_"))
        for each in _pages(aws, f"describe_{plural}", key):
            if each.get("VpcId") not in defaults:
                yield f"{what} {each[name]}"


def _vpc(each: Mapping[str, Any]) -> str | None:
    if "VpcId" in each:
        return str(each["VpcId"])
    attached: list[Props] = items(each, "Attachments")
    return str(attached[0].get("VpcId")) if attached else None


def _pages(aws: Aws, operation: str, key: str) -> Iterator[dict[str, Any]]:
    yield from aws.pages("ec2", operation, key)


def _identities(aws: Aws) -> Iterator[str]:
    for each in aws.pages("iam", "list_roles", "Roles"):
        yield f"role {each['RoleName']}"
    for each in aws.pages("iam", "list_instance_profiles", "InstanceProfiles"):
        yield f"instance profile {each['InstanceProfileName']}"
    for each in aws.pages("kms", "list_keys", "Keys"):
        told = aws.call("kms", "describe_key", KeyId=each["KeyId"])["KeyMetadata"]
        if told["KeyManager"] == "CUSTOMER" and told["KeyState"] != "PendingDeletion":
            yield f"key {each['KeyId']}"
    for each in aws.pages("kms", "list_aliases", "Aliases"):
        if not each["AliasName"].startswith("alias/aws/"):
            yield f"alias {each['AliasName']}"


def _clusters(aws: Aws) -> Iterator[str]:
    for name in aws.pages("eks", "list_clusters", "clusters"):
        yield f"cluster {name}"
    for each in aws.pages("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups"):
        yield f"scaling group {each['AutoScalingGroupName']}"


def _data(aws: Aws) -> Iterator[str]:
    for each in aws.call("s3", "list_buckets")["Buckets"]:
        yield f"bucket {each['Name']}"
    for each in aws.pages("logs", "describe_log_groups", "logGroups"):
        yield f"log group {each['logGroupName']}"
    for each in aws.pages("secretsmanager", "list_secrets", "SecretList"):
        yield f"secret {each['Name']}"


def _names(aws: Aws) -> Iterator[str]:
    for zone in aws.pages("route53", "list_hosted_zones", "HostedZones"):
        identity = str(zone["Id"]).rpartition("/")[2]
        yield f"hosted zone {identity}"
        listing = "list_resource_record_sets"
        for each in aws.pages("route53", listing, "ResourceRecordSets", HostedZoneId=identity):
            # A zone's own, which Route 53 makes and removes with it.
            if each["Type"] not in ("NS", "SOA"):
                yield f"record {each['Type']} {each['Name']} of zone {identity}"
