"""VPCs, subnets, internet gateways, addresses, NAT gateways."""

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import UNKNOWN, Props, items
from sandbox.aws.kinds.listed import Listed
from sandbox.aws.kinds.tools import (
    ec2_tags,
    one,
    settle_ec2_tags,
    specification,
    unless_gone,
)

_NO_ADDRESS: Final = ("InvalidAllocationID.NotFound",)


def _cidr(inputs: Props) -> Iterator[Finding]:
    text = inputs.get("cidrBlock")
    if text is None or text == UNKNOWN:
        return
    try:
        ipaddress.IPv4Network(text)
    except ValueError as error:
        yield Finding(path="cidrBlock", message=f"not a network: {error}", value=shown(text))


def _settle_vpc(aws: Aws, identity: str, inputs: Props) -> None:
    for name, attribute in _ATTRIBUTES.items():
        if inputs.get(name) is not None:
            setting = {attribute: {"Value": inputs[name]}}
            aws.call("ec2", "modify_vpc_attribute", VpcId=identity, **setting)
    settle_ec2_tags(aws, identity, inputs)


_ATTRIBUTES: Final = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
}


def _vpc_outputs(aws: Aws, identity: str, _: Props) -> Props:
    attributes = {name: _attribute(aws, identity, api) for name, api in _ATTRIBUTES.items()}
    main = {"Name": "association.main", "Values": ["true"]}
    inside = {"Name": "vpc-id", "Values": [identity]}
    tables = aws.call("ec2", "describe_route_tables", Filters=[inside, main])["RouteTables"]
    table = tables[0]["RouteTableId"] if tables else None
    return {
        "defaultNetworkAclId": _default(aws, identity, "network_acls", "NetworkAcl"),
        "defaultRouteTableId": table,
        "defaultSecurityGroupId": _default(aws, identity, "security_groups", "Group"),
        "mainRouteTableId": table,
        **attributes,
    }


def _attribute(aws: Aws, identity: str, attribute: str) -> bool:
    name = attribute[0].lower() + attribute[1:]
    told = aws.call("ec2", "describe_vpc_attribute", VpcId=identity, Attribute=name)
    return bool(told[attribute]["Value"])


def _default(aws: Aws, identity: str, listing: str, key: str) -> str:
    inside = {"Name": "vpc-id", "Values": [identity]}
    if listing == "security_groups":
        named = {"Name": "group-name", "Values": ["default"]}
        told = aws.call("ec2", "describe_security_groups", Filters=[inside, named])
        return str(told["SecurityGroups"][0]["GroupId"])
    told = aws.call("ec2", "describe_network_acls", Filters=[inside])
    return str(next(each[f"{key}Id"] for each in told["NetworkAcls"] if each["IsDefault"]))


def _settle_subnet(aws: Aws, identity: str, inputs: Props) -> None:
    public = {"Value": bool(inputs.get("mapPublicIpOnLaunch"))}
    aws.call("ec2", "modify_subnet_attribute", SubnetId=identity, MapPublicIpOnLaunch=public)
    settle_ec2_tags(aws, identity, inputs)


def _attached(found: dict[str, Any]) -> str | None:
    attachments = items(found, "Attachments")
    return str(attachments[0]["VpcId"]) if attachments else None


def _settle_gateway(aws: Aws, identity: str, inputs: Props) -> None:
    now, wanted = _attached(GATEWAY.find(aws, identity) or {}), inputs.get("vpcId")
    both = {"InternetGatewayId": identity}
    if now is not None and now != wanted:
        aws.call("ec2", "detach_internet_gateway", VpcId=now, **both)
    if wanted is not None and now != wanted:
        aws.call("ec2", "attach_internet_gateway", VpcId=wanted, **both)
    settle_ec2_tags(aws, identity, inputs)


def _delete_gateway(aws: Aws, identity: str, _: Props) -> None:
    found = GATEWAY.find(aws, identity)
    if found is None:
        return
    if (vpc := _attached(found)) is not None:
        aws.call("ec2", "detach_internet_gateway", InternetGatewayId=identity, VpcId=vpc)
    aws.call("ec2", "delete_internet_gateway", InternetGatewayId=identity)


def _create_address(aws: Aws, inputs: Props) -> str:
    tags = specification("elastic-ip", inputs)
    made = aws.call("ec2", "allocate_address", Domain="vpc", TagSpecifications=tags)
    return str(made["AllocationId"])


def _read_address(aws: Aws, identity: str, _: Props) -> Props | None:
    operation, key = "describe_addresses", "Addresses"
    found = one(aws, operation, key, _NO_ADDRESS, AllocationIds=[identity])
    if found is None:
        return None
    return {
        "allocationId": identity,
        "arn": aws.arn("ec2", f"elastic-ip/{identity}"),
        "domain": found["Domain"],
        "publicIp": found["PublicIp"],
        "publicDns": f"ec2-{found['PublicIp'].replace('.', '-')}.compute.amazonaws.com",
        "tagsAll": ec2_tags(aws, identity),
    }


def _delete_address(aws: Aws, identity: str, _: Props) -> None:
    unless_gone(aws, "ec2", "release_address", _NO_ADDRESS, AllocationId=identity)


def _create_nat(aws: Aws, inputs: Props) -> str:
    _SUBNET.require(aws, str(inputs["subnetId"]), "CreateNatGateway", noun="subnet ID")
    return NAT.make(aws, inputs)


def _read_nat(aws: Aws, identity: str, _: Props) -> Props | None:
    found = NAT.find(aws, identity)
    if found is None or found["State"] in ("deleted", "deleting"):
        return None
    address: Props = (items(found, "NatGatewayAddresses") or [{}])[0]
    return {
        "allocationId": address.get("AllocationId"),
        "associationId": address.get("AssociationId", ""),
        "connectivityType": found["ConnectivityType"],
        "networkInterfaceId": address.get("NetworkInterfaceId"),
        "privateIp": address.get("PrivateIp"),
        "publicIp": address.get("PublicIp"),
        "subnetId": found["SubnetId"],
        "tagsAll": ec2_tags(aws, identity),
    }


def _delete_nat(aws: Aws, identity: str, state: Props) -> None:
    NAT.delete(aws, identity, state)
    # EC2 removes a gateway's interface with it; moto leaves it behind.
    if interface := state.get("networkInterfaceId"):
        gone = ("InvalidNetworkInterfaceID.NotFound",)
        unless_gone(aws, "ec2", "delete_network_interface", gone, NetworkInterfaceId=interface)


_VPC: Final = Listed(
    noun="Vpc",
    gone=("InvalidVpcID.NotFound",),
    creates=("cidrBlock",),
    reads=("cidrBlock", "dhcpOptionsId", "instanceTenancy"),
    more=_vpc_outputs,
)
_SUBNET: Final = Listed(
    noun="Subnet",
    gone=("InvalidSubnetID.NotFound",),
    creates=("vpcId", "cidrBlock", "availabilityZone"),
    reads=(
        "assignIpv6AddressOnCreation",
        "availabilityZone",
        "availabilityZoneId",
        "cidrBlock",
        "mapPublicIpOnLaunch",
        "vpcId",
    ),
)
GATEWAY: Final = Listed(
    noun="InternetGateway",
    gone=("InvalidInternetGatewayID.NotFound",),
    more=lambda _aws, _identity, described: {"vpcId": _attached(described)},
)
NAT: Final = Listed(
    noun="NatGateway",
    gone=("NatGatewayNotFound",),
    creates=("subnetId", "allocationId", "connectivityType"),
    tag="natgateway",
)
VPC: Final = AwsKind(
    type="aws:ec2/vpc:Vpc",
    sdk="ec2.Vpc",
    rules=Rules(
        source="internal/service/ec2/vpc_.go",
        replace=("cidrBlock",),
        update=("enableDnsHostnames", "enableDnsSupport"),
        defaults={"enableDnsSupport": True},
    ),
    create=_VPC.make,
    settle=_settle_vpc,
    read=_VPC.read,
    delete=_VPC.delete,
    check=_cidr,
)
SUBNET: Final = AwsKind(
    type="aws:ec2/subnet:Subnet",
    sdk="ec2.Subnet",
    rules=Rules(
        source="internal/service/ec2/vpc_subnet.go",
        replace=("vpcId", "cidrBlock", "availabilityZone"),
        update=("mapPublicIpOnLaunch",),
        defaults={"mapPublicIpOnLaunch": False},
    ),
    create=_SUBNET.make,
    settle=_settle_subnet,
    read=_SUBNET.read,
    delete=_SUBNET.delete,
    check=_cidr,
)
INTERNET_GATEWAY: Final = AwsKind(
    type="aws:ec2/internetGateway:InternetGateway",
    sdk="ec2.InternetGateway",
    rules=Rules(source="internal/service/ec2/vpc_internet_gateway.go", update=("vpcId",)),
    create=GATEWAY.make,
    settle=_settle_gateway,
    read=GATEWAY.read,
    delete=_delete_gateway,
)
EIP: Final = AwsKind(
    type="aws:ec2/eip:Eip",
    sdk="ec2.Eip",
    rules=Rules(
        source="internal/service/ec2/ec2_eip.go",
        replace=("domain",),
        enums={"domain": ("vpc",)},
    ),
    create=_create_address,
    settle=settle_ec2_tags,
    read=_read_address,
    delete=_delete_address,
)
NAT_GATEWAY: Final = AwsKind(
    type="aws:ec2/natGateway:NatGateway",
    sdk="ec2.NatGateway",
    rules=Rules(
        source="internal/service/ec2/vpc_nat_gateway.go",
        replace=("allocationId", "connectivityType", "subnetId"),
        defaults={"connectivityType": "public"},
        enums={"connectivityType": ("public", "private")},
    ),
    create=_create_nat,
    settle=settle_ec2_tags,
    read=_read_nat,
    delete=_delete_nat,
)
KINDS: Final = (VPC, SUBNET, INTERNET_GATEWAY, EIP, NAT_GATEWAY)
