"""`NetworkAccess`: who reaches what in the VPC: security groups and endpoints."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_aws import ec2, vpc

from models.aws.network import INTERFACE_ENDPOINTS, endpoint_service
from models.settings.eks import EksClusterSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkAccessArgs:
    """The VPC, the subnets that endpoints lie in, and the tables that lead to S3."""

    cluster: EksClusterSettings
    cluster_name: str
    vpc_id: Output[str]
    subnet_ids: Sequence[Output[str]]
    route_table_ids: Sequence[Output[str]]


class NetworkAccess(pulumi.ComponentResource):
    """A default group that lets nothing through, one for endpoints, one for EFA, one for the API.

    The cluster's own group, which nodes and control plane share, is made by EKS.
    """

    efa_group: Output[str]
    api_group: Output[str]

    def __init__(
        self, name: str, args: NetworkAccessArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register groups, rules and endpoints."""
        super().__init__("triplane:aws:NetworkAccess", name, None, opts)
        self._name, self._args = name, args
        self._child = ResourceOptions(parent=self)
        # Without rules it is closed, for whatever is started in the VPC without a group of its own.
        ec2.DefaultSecurityGroup(
            f"{name}-default",
            vpc_id=args.vpc_id,
            tags={"Name": f"{args.cluster_name}-default"},
            opts=self._child,
        )
        self.efa_group = self._efa()
        self.api_group = self._api()
        self._endpoints()
        self.register_outputs({"efaGroup": self.efa_group, "apiGroup": self.api_group})

    def _group(self, what: str, description: str) -> ec2.SecurityGroup:
        group = f"{self._args.cluster_name}-{what}"
        return ec2.SecurityGroup(
            f"{self._name}-{what}",
            name=group,
            description=description,
            vpc_id=self._args.vpc_id,
            tags={"Name": group},
            opts=self._child,
        )

    def _efa(self) -> Output[str]:
        """EFA bypasses the kernel only where the group lets everything to itself, both ways.

        A rule to 0.0.0.0/0 does not count (EC2 user guide, "Prepare an EFA-enabled security
        group"; eksctl makes the same two rules).
        """
        group = self._group("efa", "Machines with EFA, among themselves")
        vpc.SecurityGroupIngressRule(
            f"{self._name}-efa-in",
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            description="From the group itself",
            opts=self._child,
        )
        vpc.SecurityGroupEgressRule(
            f"{self._name}-efa-out",
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            description="To the group itself",
            opts=self._child,
        )
        return group.id

    def _api(self) -> Output[str]:
        """Who reaches the private endpoint beside the nodes, which share the cluster's own group.

        EKS user guide, "Accessing a private only API server".
        """
        group = self._group("api", "Clients of the Kubernetes API")
        for cidr in sorted(set(self._args.cluster.private_cidrs)):
            vpc.SecurityGroupIngressRule(
                f"{self._name}-api-{cidr.replace('/', '-')}",
                security_group_id=group.id,
                cidr_ipv4=cidr,
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
                description="HTTPS from a network of the settings",
                opts=self._child,
            )
        return group.id

    def _endpoints(self) -> None:
        group = self._group("endpoints", "AWS services inside the VPC")
        vpc.SecurityGroupIngressRule(
            f"{self._name}-endpoints-in",
            security_group_id=group.id,
            cidr_ipv4=self._args.cluster.cidr,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            description="HTTPS from the VPC",
            opts=self._child,
        )
        region = self._args.cluster.aws_region
        ec2.VpcEndpoint(
            f"{self._name}-s3",
            vpc_id=self._args.vpc_id,
            service_name=endpoint_service(region, "s3"),
            vpc_endpoint_type="Gateway",
            route_table_ids=self._args.route_table_ids,
            tags={"Name": f"{self._args.cluster_name}-s3"},
            opts=self._child,
        )
        for service in INTERFACE_ENDPOINTS:
            label = service.replace(".", "-")
            ec2.VpcEndpoint(
                f"{self._name}-{label}",
                vpc_id=self._args.vpc_id,
                service_name=endpoint_service(region, service),
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=self._args.subnet_ids,
                security_group_ids=[group.id],
                tags={"Name": f"{self._args.cluster_name}-{label}"},
                opts=self._child,
            )
