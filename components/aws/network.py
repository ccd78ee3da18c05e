"""`Network`: the VPC of a region."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_aws import ec2

from components.aws.network_access import NetworkAccess, NetworkAccessArgs
from components.aws.network_logs import NetworkLogs, NetworkLogsArgs
from models.aws import network as plan
from models.aws.network import Subnet, SubnetRole
from models.settings.eks import EksClusterSettings

_ROLE_TAGS: Mapping[SubnetRole, Mapping[str, str]] = {
    SubnetRole.PUBLIC: {"kubernetes.io/role/elb": "1"},
    SubnetRole.NODES: {"kubernetes.io/role/internal-elb": "1"},
    SubnetRole.CONTROL_PLANE: {},
}
"""By which the load balancer controller finds subnets (EKS user guide, network-reqs)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkArgs:
    """The cluster's settings and name; the key of the flow logs.

    `protect` refuses to delete the control plane's subnets, which EKS cannot do without.
    """

    cluster: EksClusterSettings
    cluster_name: str
    key_arn: Output[str]
    protect: bool


class Network(pulumi.ComponentResource):
    """Subnets by zone and role, NAT gateways, endpoints, security groups, flow logs.

    `nodes` and `control_plane` are subnet ids by zone; `efa_group` is the security group of
    machines with EFA, `api_group` that of the control plane's interfaces.
    """

    vpc_id: Output[str]
    nodes: Mapping[str, Output[str]]
    control_plane: Mapping[str, Output[str]]
    efa_group: Output[str]
    api_group: Output[str]

    def __init__(self, name: str, args: NetworkArgs, opts: ResourceOptions | None = None) -> None:
        """Register the network."""
        super().__init__("triplane:aws:Network", name, None, opts)
        self._name, self._args = name, args
        self._child = ResourceOptions(parent=self)
        vpc = ec2.Vpc(
            f"{name}-vpc",
            cidr_block=args.cluster.cidr,
            # Both: "Otherwise, nodes can't register to your cluster" (EKS user guide).
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": args.cluster_name},
            opts=self._child,
        )
        self.vpc_id = vpc.id
        self._subnets = {
            each.name: self._subnet(each, args.protect) for each in plan.subnets(args.cluster)
        }
        self.nodes = self._ids(SubnetRole.NODES)
        self.control_plane = self._ids(SubnetRole.CONTROL_PLANE)
        tables = self._tables()
        access = NetworkAccess(
            f"{name}-access",
            NetworkAccessArgs(
                cluster=args.cluster,
                cluster_name=args.cluster_name,
                vpc_id=vpc.id,
                subnet_ids=[self.nodes[zone] for zone in sorted(self.nodes)],
                route_table_ids=tables,
            ),
            self._child,
        )
        self.efa_group = access.efa_group
        self.api_group = access.api_group
        NetworkLogs(
            f"{name}-logs",
            NetworkLogsArgs(
                cluster=args.cluster,
                cluster_name=args.cluster_name,
                vpc_id=vpc.id,
                key_arn=args.key_arn,
            ),
            self._child,
        )
        self.register_outputs({"vpcId": self.vpc_id})

    def _subnet(self, subnet: Subnet, protect: bool) -> ec2.Subnet:
        return ec2.Subnet(
            f"{self._name}-{subnet.name}",
            vpc_id=self.vpc_id,
            availability_zone=subnet.zone,
            cidr_block=subnet.cidr,
            map_public_ip_on_launch=False,
            tags={"Name": f"{self._args.cluster_name}-{subnet.name}", **_ROLE_TAGS[subnet.role]},
            opts=ResourceOptions(
                parent=self, protect=protect and subnet.role is SubnetRole.CONTROL_PLANE
            ),
        )

    def _ids(self, role: SubnetRole) -> dict[str, Output[str]]:
        return {
            each.zone: self._subnets[each.name].id
            for each in plan.of_role(plan.subnets(self._args.cluster), role)
        }

    def _tables(self) -> list[Output[str]]:
        """Register routes: out through the gateway, through NAT, and none for the control plane."""
        zones = sorted(self._args.cluster.zones)
        gateway = ec2.InternetGateway(
            f"{self._name}-gateway",
            vpc_id=self.vpc_id,
            tags={"Name": self._args.cluster_name},
            opts=self._child,
        )
        public = self._table("public", zones, SubnetRole.PUBLIC)
        out = self._route("public", public, gateway_id=gateway.id)
        self._table("control-plane", zones, SubnetRole.CONTROL_PLANE)
        nats = {
            zone: self._nat(zone, [gateway, out]) for zone in plan.nat_zones(self._args.cluster)
        }
        private: list[Output[str]] = []
        for zone in zones:
            table = self._table(f"nodes-{zone}", [zone], SubnetRole.NODES)
            nat = nats[plan.nat_zone(self._args.cluster, zone)]
            self._route(f"nodes-{zone}", table, nat_gateway_id=nat.id)
            private.append(table.id)
        return private

    def _nat(self, zone: str, after: list[pulumi.Resource]) -> ec2.NatGateway:
        tags = {"Name": f"{self._args.cluster_name}-nat-{zone}"}
        # An address needs the internet gateway, and NAT its way out, though neither refers to them.
        address = ec2.Eip(
            f"{self._name}-address-{zone}",
            domain="vpc",
            tags=tags,
            opts=ResourceOptions(parent=self, depends_on=after),
        )
        return ec2.NatGateway(
            f"{self._name}-nat-{zone}",
            allocation_id=address.allocation_id,
            subnet_id=self._subnets[f"{SubnetRole.PUBLIC.value}-{zone}"].id,
            tags=tags,
            opts=ResourceOptions(parent=self, depends_on=after),
        )

    def _table(self, what: str, zones: list[str], role: SubnetRole) -> ec2.RouteTable:
        table = ec2.RouteTable(
            f"{self._name}-table-{what}",
            vpc_id=self.vpc_id,
            tags={"Name": f"{self._args.cluster_name}-{what}"},
            opts=self._child,
        )
        for zone in zones:
            subnet = f"{role.value}-{zone}"
            ec2.RouteTableAssociation(
                f"{self._name}-association-{subnet}",
                route_table_id=table.id,
                subnet_id=self._subnets[subnet].id,
                opts=self._child,
            )
        return table

    def _route(
        self,
        what: str,
        table: ec2.RouteTable,
        *,
        gateway_id: Output[str] | None = None,
        nat_gateway_id: Output[str] | None = None,
    ) -> ec2.Route:
        return ec2.Route(
            f"{self._name}-route-{what}",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
            opts=self._child,
        )
