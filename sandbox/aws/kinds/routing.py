"""Route tables, routes, associations, VPC endpoints."""

from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, items
from sandbox.aws.kinds.listed import Listed
from sandbox.aws.kinds.security import GROUP
from sandbox.aws.kinds.tools import (
    chosen,
    ec2_tags,
    settle_ec2_tags,
    unless_gone,
)
from sandbox.aws.kinds.vpc import GATEWAY, NAT

_NO_TABLE: Final = ("InvalidRouteTableID.NotFound",)
_NO_ROUTE: Final = ("InvalidRoute.NotFound", *_NO_TABLE)
_NO_ASSOCIATION: Final = ("InvalidAssociationID.NotFound",)
_ENDPOINT: Final = Listed(
    noun="VpcEndpoint",
    gone=("InvalidVpcEndpointId.NotFound",),
    creates=(
        "vpcId",
        "serviceName",
        "vpcEndpointType",
        "privateDnsEnabled",
        "routeTableIds",
        "subnetIds",
        "securityGroupIds",
    ),
)
_TABLE: Final = Listed(noun="RouteTable", gone=_NO_TABLE, creates=("vpcId",), reads=("vpcId",))
_TARGETS: Final = {"gatewayId": "GatewayId", "natGatewayId": "NatGatewayId"}


def _require_target(aws: Aws, inputs: Props) -> None:
    """Raise what EC2 says of a gateway that does not exist; moto takes any."""
    if nat := inputs.get("natGatewayId"):
        NAT.require(aws, nat, "CreateRoute", "InvalidNatGatewayID.NotFound", noun="NatGateway ID")
    if gateway := inputs.get("gatewayId"):
        GATEWAY.require(aws, gateway, "CreateRoute", "InvalidGatewayID.NotFound", noun="gateway ID")


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
    for each in items(_TABLE.find(aws, table), "Routes"):
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
        GROUP.require(aws, group, "CreateVpcEndpoint", noun="security group")
    policy = chosen(inputs, {"policy": "PolicyDocument"})
    return _ENDPOINT.make(aws, inputs, **policy)


def _endpoint(aws: Aws, identity: str) -> dict[str, Any] | None:
    found = _ENDPOINT.find(aws, identity)
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


ROUTE_TABLE: Final = AwsKind(
    type="aws:ec2/routeTable:RouteTable",
    sdk="ec2.RouteTable",
    rules=Rules(source="internal/service/ec2/vpc_route_table.go", replace=("vpcId",)),
    create=_TABLE.make,
    settle=settle_ec2_tags,
    read=_TABLE.read,
    delete=_TABLE.delete,
)
ROUTE: Final = AwsKind(
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
ROUTE_TABLE_ASSOCIATION: Final = AwsKind(
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
VPC_ENDPOINT: Final = AwsKind(
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
