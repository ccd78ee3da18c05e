"""The VPC of a region: which subnet lies where.

A zone's place follows from its letter alone, so that neither the order in which zones are listed
nor a zone that is added later moves a subnet: a subnet that moves is replaced, and everything in
it with it.
"""

import ipaddress
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from models.core.base import Model
from models.settings.eks import ZONE_LETTERS, EksClusterSettings

CONTROL_PLANE_PREFIX: Final = 28
"""Sixteen addresses for EKS's own interfaces: "at least six ... we recommend at least 16" and
nothing else in the subnet (EKS user guide, network-reqs)."""

AWS_RESERVED: Final = 5
"""Addresses of every subnet that AWS keeps (VPC user guide, subnet sizing)."""

CNI_MINIMUM_IPS: Final = 16
CNI_WARM_IPS: Final = 4
"""Addresses that the VPC CNI keeps on a node at least, and beyond its pods. By default it keeps a
whole interface in reserve: 50 addresses on the largest GPU machines, which run few pods
(amazon-vpc-cni-k8s, docs/eni-and-ip-target.md)."""

NODE_ADDRESSES: Final = 1 + CNI_MINIMUM_IPS + CNI_WARM_IPS
"""Addresses that one node takes from its subnet: its own, and what the CNI keeps."""

LOAD_BALANCER_ADDRESSES: Final = 8
"""Free addresses that a load balancer wants in its subnet (Elastic Load Balancing user guide)."""

INTERFACE_ENDPOINTS: Final = ("ec2", "ecr.api", "ecr.dkr", "eks-auth", "sts")
"""Services reached inside the VPC, so that a node starts and its pods get credentials without the
NAT gateway: interfaces for pods (ec2), images (ecr), pod identity (eks-auth, sts). The rest goes
through NAT (EKS user guide, private-clusters)."""

_SLOTS_PREFIX: Final = 3
"""Eight slots of a VPC, one a zone's letter."""


class SubnetRole(StrEnum):
    """What a subnet is for."""

    PUBLIC = "public"
    NODES = "nodes"
    CONTROL_PLANE = "control-plane"


class Subnet(Model):
    """One subnet of the plan; `cidr` is its network."""

    zone: str
    role: SubnetRole
    cidr: str

    @property
    def name(self) -> str:
        """A name that is unique in the VPC."""
        return f"{self.role.value}-{self.zone}"


def subnets(cluster: EksClusterSettings) -> tuple[Subnet, ...]:
    """Return the subnets of a cluster's VPC, by zone and then role.

    Of a zone's slot (an eighth of the VPC) the first half is for nodes and pods, an eighth for
    NAT gateways and public load balancers, sixteen addresses for the control plane; the rest is
    kept for later roles. In a /16 that is 4096, 1024 and 16 addresses, in a /20 256, 64 and 16.
    """
    return tuple(
        Subnet(zone=zone, role=role, cidr=str(network))
        for zone in sorted(cluster.zones)
        for role, network in _slot(cluster.cidr, zone).items()
    )


def _slot(cidr: str, zone: str) -> dict[SubnetRole, ipaddress.IPv4Network]:
    vpc = ipaddress.IPv4Network(cidr)
    slot = list(vpc.subnets(prefixlen_diff=_SLOTS_PREFIX))[ZONE_LETTERS.index(zone[-1])]
    nodes, rest = slot.subnets(prefixlen_diff=1)
    public, *_ = rest.subnets(prefixlen_diff=2)
    _, last = rest.subnets(prefixlen_diff=1)
    control_plane = next(last.subnets(new_prefix=CONTROL_PLANE_PREFIX))
    return {
        SubnetRole.PUBLIC: public,
        SubnetRole.NODES: nodes,
        SubnetRole.CONTROL_PLANE: control_plane,
    }


def of_role(plan: Iterable[Subnet], role: SubnetRole) -> tuple[Subnet, ...]:
    """Return the subnets of one role."""
    return tuple(subnet for subnet in plan if subnet.role is role)


def nat_zones(cluster: EksClusterSettings) -> tuple[str, ...]:
    """Return the zones that have a NAT gateway: each, or with `single_nat` the first by name."""
    zones = tuple(sorted(cluster.zones))
    return zones[:1] if cluster.single_nat else zones


def nat_zone(cluster: EksClusterSettings, zone: str) -> str:
    """Return the zone whose NAT gateway the nodes of `zone` use."""
    zones = nat_zones(cluster)
    return zone if zone in zones else zones[0]


def service_cidr(cidr: str) -> str:
    """Return the network of Kubernetes Services: one of EKS's own two, clear of the VPC.

    It is written down because EKS would choose between the two, and a change replaces the cluster.
    """
    vpc = ipaddress.IPv4Network(cidr)
    first, second = "172.20.0.0/16", "10.100.0.0/16"
    return second if vpc.overlaps(ipaddress.IPv4Network(first)) else first


def endpoint_service(aws_region: str, service: str) -> str:
    """Return the name by which a VPC endpoint asks for a service."""
    return f"com.amazonaws.{aws_region}.{service}"


def node_room(cluster: EksClusterSettings) -> int:
    """Return how many nodes find addresses in one zone."""
    zone = cluster.zones[0]
    size = _slot(cluster.cidr, zone)[SubnetRole.NODES].num_addresses
    free = size - AWS_RESERVED - LOAD_BALANCER_ADDRESSES - len(INTERFACE_ENDPOINTS)
    return free // NODE_ADDRESSES
