"""Route tables, routes, associations, VPC endpoints."""

from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.kind import Kind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, items
from sandbox.aws.kinds.tools import (
    chosen,
    ec2_tags,
    one,
    require,
    settle_ec2_tags,
    specification,
    unless_gone,
)

_NO_TABLE: Final = ("InvalidRouteTableID.NotFound",)
_NO_ROUTE: Final = ("InvalidRoute.NotFound", *_NO_TABLE)
_NO_ASSOCIATION: Final = ("InvalidAssociationID.NotFound",)
_NO_ENDPOINT: Final = ("InvalidVpcEndpointId.NotFound",)
_TARGETS: Final = {"gatewayId": "GatewayId", "natGatewayId": "NatGatewayId"}


def _table(aws: Aws, identity: str) -> dict[str, Any] | None:
    operation, key = "describe_route_tables", "RouteTables"
    return one(aws, operation, key, _NO_TABLE, RouteTableIds=[identity])


def _create_table(aws: Aws, inputs: Props) -> str:
    tags = specification("route-table", inputs)
    made = aws.call("ec2", "create_route_table", VpcId=inputs["vpcId"], TagSpecifications=tags)
    return str(made["RouteTable"]["RouteTableId"])


def _read_table(aws: Aws, identity: str, _: Props) -> Props | None:
    found = _table(aws, identity)
    if found is None:
        return None
    return {
        "arn": aws.arn("ec2", f"route-table/{identity}"),
        "ownerId": aws.account,
        "vpcId": found["VpcId"],
        "tagsAll": ec2_tags(aws, identity),
    }


def _delete_table(aws: Aws, identity: str, _: Props) -> None:
    unless_gone(aws, "ec2", "delete_route_table", _NO_TABLE, RouteTableId=identity)


def _require_target(aws: Aws, inputs: Props) -> None:
    """Raise what EC2 says of a gateway that does not exist; moto takes any."""
    if nat := inputs.get("natGatewayId"):
        gone = ("NatGatewayNotFound",)
        found = one(aws, "describe_nat_gateways", "NatGateways", gone, NatGatewayIds=[nat])
        message = f"The NatGateway ID '{nat}' does not exist"
        require(found, "CreateRoute", "InvalidNatGatewayID.NotFound", message)
    if gateway := inputs.get("gatewayId"):
        gone = ("InvalidInternetGatewayID.NotFound",)
        listing = ("describe_internet_gateways", "InternetGateways")
        found = one(aws, *listing, gone, InternetGatewayIds=[gateway])
        message = f"The gateway ID '{gateway}' does not exist"
        require(found, "CreateRoute", "InvalidGatewayID.NotFound", message)


def _create_route(aws: Aws, inputs: Props) -> str:
    _require_target(aws, inputs)
    table, to = str(inputs["routeTableId"]), str(inputs["destinationCidrBlock"])
    both = {"RouteTableId": table, "DestinationCidrBlock": to}
    aws.call("ec2", "create_route", **both, **chosen(inputs, _TARGETS))
    return f"{table}_{to}"


def _update_route(aws: Aws, identity: str, old: Props, new: Props) -> None:
    if all(old.get(name) == new.get(name) for name in _TARGETS):
        return
    _require_target(aws, new)
    table, to = identity.split("_")
    both = {"RouteTableId": table, "DestinationCidrBlock": to}
    aws.call("ec2", "replace_route", **both, **chosen(new, _TARGETS))


def _read_route(aws: Aws, identity: str, _: Props) -> Props | None:
    table, to = identity.split("_")
    for each in items(_table(aws, table), "Routes"):
        if each.get("DestinationCidrBlock") == to:
            return {
                "routeTableId": table,
                "destinationCidrBlock": to,
                "gatewayId": each.get("GatewayId"),
                "natGatewayId": each.get("NatGatewayId"),
                "origin": each["Origin"],
                "state": each["State"],
            }
    return None


def _delete_route(aws: Aws, identity: str, _: Props) -> None:
    table, to = identity.split("_")
    rest = {"RouteTableId": table, "DestinationCidrBlock": to}
    unless_gone(aws, "ec2", "delete_route", _NO_ROUTE, **rest)


def _create_association(aws: Aws, inputs: Props) -> str:
    table, subnet = inputs["routeTableId"], inputs["subnetId"]
    held = _association_of(aws, str(subnet))
    if held is not None and held["RouteTableId"] != table:
        message = (
            f"the specified association for route table {held['RouteTableId']} conflicts with an "
            "existing association"
        )
        raise AwsError("AssociateRouteTable", "Resource.AlreadyAssociated", message)
    made = aws.call("ec2", "associate_route_table", RouteTableId=table, SubnetId=subnet)
    return str(made["AssociationId"])


def _association_of(aws: Aws, subnet: str) -> dict[str, Any] | None:
    named = [{"Name": "association.subnet-id", "Values": [subnet]}]
    for table in aws.call("ec2", "describe_route_tables", Filters=named)["RouteTables"]:
        for each in table["Associations"]:
            if each.get("SubnetId") == subnet:
                return each
    return None


def _update_association(aws: Aws, _identity: str, _old: Props, new: Props) -> None:
    held = _association_of(aws, str(new["subnetId"]))
    if held is not None and held["RouteTableId"] != new["routeTableId"]:
        aws.call(
            "ec2",
            "replace_route_table_association",
            AssociationId=held["RouteTableAssociationId"],
            RouteTableId=new["routeTableId"],
        )


def _read_association(aws: Aws, _identity: str, known: Props) -> Props | None:
    """Find it by its subnet: replacing the table gives an association another id."""
    held = _association_of(aws, str(known["subnetId"]))
    if held is None:
        return None
    return {"routeTableId": held["RouteTableId"], "subnetId": held["SubnetId"]}


def _delete_association(aws: Aws, _identity: str, state: Props) -> None:
    held = _association_of(aws, str(state["subnetId"]))
    if held is not None and held["RouteTableId"] == state["routeTableId"]:
        rest = {"AssociationId": held["RouteTableAssociationId"]}
        unless_gone(aws, "ec2", "disassociate_route_table", _NO_ASSOCIATION, **rest)


def _create_endpoint(aws: Aws, inputs: Props) -> str:
    for group in inputs.get("securityGroupIds") or ():
        gone = ("InvalidGroup.NotFound",)
        found = one(aws, "describe_security_groups", "SecurityGroups", gone, GroupIds=[group])
        message = f"The security group '{group}' does not exist"
        require(found, "CreateVpcEndpoint", "InvalidGroup.NotFound", message)
    names = {
        "vpcId": "VpcId",
        "serviceName": "ServiceName",
        "vpcEndpointType": "VpcEndpointType",
        "privateDnsEnabled": "PrivateDnsEnabled",
        "policy": "PolicyDocument",
        "routeTableIds": "RouteTableIds",
        "subnetIds": "SubnetIds",
        "securityGroupIds": "SecurityGroupIds",
    }
    tags = specification("vpc-endpoint", inputs)
    made = aws.call("ec2", "create_vpc_endpoint", TagSpecifications=tags, **chosen(inputs, names))
    return str(made["VpcEndpoint"]["VpcEndpointId"])


def _endpoint(aws: Aws, identity: str) -> dict[str, Any] | None:
    operation, key = "describe_vpc_endpoints", "VpcEndpoints"
    found = one(aws, operation, key, _NO_ENDPOINT, VpcEndpointIds=[identity])
    return None if found is None or found["State"] == "deleted" else found


def _update_endpoint(aws: Aws, identity: str, old: Props, new: Props) -> None:
    changes: dict[str, Any] = {}
    lists = {
        "routeTableIds": ("AddRouteTableIds", "RemoveRouteTableIds"),
        "subnetIds": ("AddSubnetIds", "RemoveSubnetIds"),
        "securityGroupIds": ("AddSecurityGroupIds", "RemoveSecurityGroupIds"),
    }
    for name, (add, remove) in lists.items():
        before, after = set(old.get(name) or ()), set(new.get(name) or ())
        changes |= {add: sorted(after - before)} if after - before else {}
        changes |= {remove: sorted(before - after)} if before - after else {}
    names = {"policy": "PolicyDocument", "privateDnsEnabled": "PrivateDnsEnabled"}
    changes |= {api: new[name] for name, api in names.items() if new.get(name) != old.get(name)}
    if changes:
        aws.call("ec2", "modify_vpc_endpoint", VpcEndpointId=identity, **changes)


def _read_endpoint(aws: Aws, identity: str, known: Props) -> Props | None:
    found = _endpoint(aws, identity)
    if found is None:
        return None
    interface = found["VpcEndpointType"] == "Interface"
    return {
        "arn": aws.arn("ec2", f"vpc-endpoint/{identity}"),
        "ownerId": aws.account,
        "policy": found["PolicyDocument"],
        "privateDnsEnabled": found["PrivateDnsEnabled"] if interface else None,
        "routeTableIds": sorted(found["RouteTableIds"]) or None,
        "serviceName": found["ServiceName"],
        "state": found["State"],
        "subnetIds": sorted(found["SubnetIds"]) or None,
        "vpcEndpointType": found["VpcEndpointType"],
        "vpcId": found["VpcId"],
        "networkInterfaceIds": sorted(found["NetworkInterfaceIds"]),
        "tagsAll": ec2_tags(aws, identity),
    }


def _delete_endpoint(aws: Aws, identity: str, _: Props) -> None:
    if _endpoint(aws, identity) is not None:
        aws.call("ec2", "delete_vpc_endpoints", VpcEndpointIds=[identity])


ROUTE_TABLE: Final = Kind(
    type="aws:ec2/routeTable:RouteTable",
    sdk="ec2.RouteTable",
    rules=Rules(source="internal/service/ec2/vpc_route_table.go", replace=("vpcId",)),
    create=_create_table,
    settle=settle_ec2_tags,
    read=_read_table,
    delete=_delete_table,
)
ROUTE: Final = Kind(
    type="aws:ec2/route:Route",
    sdk="ec2.Route",
    rules=Rules(
        source="internal/service/ec2/vpc_route.go",
        replace=("destinationCidrBlock", "routeTableId"),
        update=("gatewayId", "natGatewayId"),
        exclusive=(("gatewayId", "natGatewayId"),),
        tagged=False,
    ),
    create=_create_route,
    update=_update_route,
    read=_read_route,
    delete=_delete_route,
)
ROUTE_TABLE_ASSOCIATION: Final = Kind(
    type="aws:ec2/routeTableAssociation:RouteTableAssociation",
    sdk="ec2.RouteTableAssociation",
    rules=Rules(
        source="internal/service/ec2/vpc_route_table_association.go",
        replace=("subnetId",),
        update=("routeTableId",),
        tagged=False,
    ),
    create=_create_association,
    update=_update_association,
    read=_read_association,
    delete=_delete_association,
)
VPC_ENDPOINT: Final = Kind(
    type="aws:ec2/vpcEndpoint:VpcEndpoint",
    sdk="ec2.VpcEndpoint",
    rules=Rules(
        source="internal/service/ec2/vpc_endpoint.go",
        replace=("serviceName", "vpcEndpointType", "vpcId"),
        update=("policy", "privateDnsEnabled", "routeTableIds", "securityGroupIds", "subnetIds"),
        sets=("routeTableIds", "securityGroupIds", "subnetIds"),
        documents=("policy",),
        defaults={"vpcEndpointType": "Gateway"},
        unread={"securityGroupIds": "each must exist; moto drops them"},
        enums={"vpcEndpointType": ("Gateway", "GatewayLoadBalancer", "Interface")},
    ),
    create=_create_endpoint,
    settle=settle_ec2_tags,
    update=_update_endpoint,
    read=_read_endpoint,
    delete=_delete_endpoint,
)
KINDS: Final = (ROUTE_TABLE, ROUTE, ROUTE_TABLE_ASSOCIATION, VPC_ENDPOINT)
