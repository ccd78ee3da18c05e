"""`RegionCluster`: a region's cluster on AWS, whole: network, control plane, nodes, add-ons.

The order is the order of creation, and backwards that of destruction: network, control plane,
add-ons that nodes need, nodes, add-ons that need nodes, and only then the Kubernetes provider,
without which no workload can be made or removed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws
from pulumi import Output, ResourceOptions
from pulumi_kubernetes import Provider

from components.aws.add_ons import AddOns, AddOnsArgs
from components.aws.dns import GatewayRecord, GatewayRecordArgs
from components.aws.eks_cluster import EksCluster, EksClusterArgs
from components.aws.identity import NodeRole, NodeRoleArgs
from components.aws.key import RegionKey, RegionKeyArgs
from components.aws.network import Network, NetworkArgs
from components.aws.node_pool import NodePool, NodePoolArgs
from components.aws.object_store import ObjectStore, ObjectStoreArgs
from components.aws.pod_roles import PodRoles, PodRolesArgs
from models.aws import names
from models.aws.addons import AFTER_NODES, BEFORE_NODES, AddOn
from models.aws.buckets import makes_bucket
from models.plan.plan import PlannedPool, PlannedRegion, PlatformPlan
from models.settings import eks as settings


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionClusterArgs:
    """The stack's plan, the region, its cluster's settings."""

    plan: PlatformPlan
    region: PlannedRegion
    cluster: settings.EksClusterSettings


class RegionCluster(pulumi.ComponentResource):
    """The Kubernetes provider of a region, ready when its nodes and add-ons are.

    `aws` is the provider of whatever else the region has on AWS, `cluster_name` the cluster's name.
    """

    provider: Provider
    kubeconfig: Output[str]
    aws: pulumi_aws.Provider
    cluster_name: str

    def __init__(
        self, name: str, args: RegionClusterArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register everything from the account's network to the Kubernetes provider."""
        super().__init__("triplane:aws:RegionCluster", name, None, opts)
        self._name, self._args = name, args
        self._environment = args.plan.environment.value
        self._keep = names.cluster_approval(args.region.name) not in args.plan.accept_data_loss
        self.cluster_name = names.cluster_name(self._environment, args.region.name)
        self._tags = names.tags(self._environment, args.region.name)
        self.aws = self._account()
        self._key = self._make_key()
        self._network = self._make_network()
        self._control_plane = self._make_control_plane()
        base = self._add_ons("base", BEFORE_NODES, [self._control_plane])
        pools = self._pools([self._network, base])
        system = self._add_ons("system", AFTER_NODES, pools)
        identities = self._identities([self._control_plane])
        self.kubeconfig = self._control_plane.kubeconfig
        self.provider = self._kubernetes([*pools, system, identities, *self._objects()])
        self.register_outputs({"kubeconfig": self.kubeconfig})

    def publish(
        self, region: pulumi.Resource, hostname: str | None, address: Output[str]
    ) -> tuple[GatewayRecord, ...]:
        """Register the gateway's hostname in DNS where the settings give a hosted zone.

        The record is a child of the region. As a child of the cluster it would be among what the
        first wave waits for, and it waits for the last one.
        """
        cluster = self._args.cluster
        if cluster.zone_id is None or hostname is None:
            return ()
        args = GatewayRecordArgs(
            zone_id=cluster.zone_id,
            hostname=hostname,
            region=self._args.region.name,
            aws_region=cluster.aws_region,
            address=address,
        )
        options = ResourceOptions(parent=region, providers=[self.aws])
        return (GatewayRecord(f"{self._name}-dns", args, options),)

    def _options(self, after: list[pulumi.Resource] | None = None) -> ResourceOptions:
        return ResourceOptions(parent=self, providers=[self.aws], depends_on=after)

    def _account(self) -> pulumi_aws.Provider:
        return pulumi_aws.Provider(
            f"{self._name}-aws",
            region=self._args.cluster.aws_region,
            allowed_account_ids=[self._args.cluster.account_id],
            default_tags={"tags": self._tags},
            opts=ResourceOptions(parent=self),
        )

    def _make_key(self) -> RegionKey:
        args = RegionKeyArgs(
            cluster=self._args.cluster, cluster_name=self.cluster_name, protect=self._keep
        )
        return RegionKey(f"{self._name}-key", args, self._options())

    def _make_network(self) -> Network:
        args = NetworkArgs(
            cluster=self._args.cluster,
            cluster_name=self.cluster_name,
            key_arn=self._key.arn,
            protect=self._keep,
        )
        return Network(f"{self._name}-network", args, self._options())

    def _make_control_plane(self) -> EksCluster:
        subnets = self._network.control_plane
        args = EksClusterArgs(
            cluster=self._args.cluster,
            cluster_name=self.cluster_name,
            subnet_ids=[subnets[zone] for zone in sorted(subnets)],
            security_groups=[self._network.api_group],
            key_arn=self._key.arn,
            protect=self._keep,
        )
        return EksCluster(f"{self._name}-eks", args, self._options())

    def _add_ons(
        self, stage: str, add_ons: tuple[AddOn, ...], after: list[pulumi.Resource]
    ) -> AddOns:
        args = AddOnsArgs(
            cluster=self._args.cluster,
            cluster_name=self.cluster_name,
            add_ons=add_ons,
            tags=self._tags,
        )
        # Names of clusters are plain text, so that nothing but this says what comes first.
        return AddOns(f"{self._name}-{stage}", args, self._options(after))

    def _pools(self, after: list[pulumi.Resource]) -> list[pulumi.Resource]:
        role = NodeRole(
            f"{self._name}-node-role",
            NodeRoleArgs(
                name=names.role_name(self.cluster_name, names.NODE_ROLE),
                tags=self._tags,
                partition=self._args.cluster.partition,
            ),
            self._options(),
        )
        # A node cannot join without its role's policies, a way out, and the CNI.
        options = self._options([role, *after])
        return [
            NodePool(f"{self._name}-{planned.name}", self._pool(planned, role), options)
            for planned in self._args.region.pools
        ]

    def _pool(self, planned: PlannedPool, role: NodeRole) -> NodePoolArgs:
        groups = [self._control_plane.security_group]
        if planned.settings.efa:
            groups.append(self._network.efa_group)
        subnets: Mapping[str, Output[str]] = self._network.nodes
        return NodePoolArgs(
            cluster_name=self.cluster_name,
            version=self._args.cluster.version,
            region=self._args.region,
            pool=planned,
            subnets=subnets,
            role_arn=role.arn,
            security_groups=groups,
            ebs_key_arn=self._key.arn,
            tags=self._tags,
        )

    def _identities(self, after: list[pulumi.Resource]) -> PodRoles:
        """Register the roles of our own pods; one that starts before its role has none."""
        args = PodRolesArgs(
            plan=self._args.plan,
            region=self._args.region,
            cluster=self._args.cluster,
            cluster_name=self.cluster_name,
            tags=self._tags,
        )
        return PodRoles(f"{self._name}-pod-roles", args, self._options(after))

    def _objects(self) -> list[pulumi.Resource]:
        """Register the bucket of the region's weights, where the stack makes it."""
        region = self._args.region
        if not makes_bucket(region.settings):
            return []
        approval = names.bucket_approval(region.name)
        args = ObjectStoreArgs(
            region=region,
            environment=self._environment,
            protect=approval not in self._args.plan.accept_data_loss,
            tags=self._tags,
        )
        return [ObjectStore(f"{self._name}-objects", args, self._options())]

    def _kubernetes(self, after: list[pulumi.Resource]) -> Provider:
        return Provider(
            f"{self._name}-provider",
            kubeconfig=self.kubeconfig,
            # The kubeconfig is unknown before the cluster is; what it means never changes.
            cluster_identifier=names.cluster_arn(self._args.cluster, self.cluster_name),
            enable_server_side_apply=True,
            opts=ResourceOptions(parent=self, depends_on=after),
        )
