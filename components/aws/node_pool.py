"""`NodePool`: a pool's machines on EKS, one managed node group per zone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Input, ResourceOptions
from pulumi_aws import autoscaling, ec2, eks

from models.aws.names import NODE_TEMPLATE
from models.plan.aws import node_groups as plans
from models.plan.aws.node_groups import GroupPlan
from models.plan.plan import PlannedPool, PlannedRegion
from models.settings.regions import CapacityType

HOP_LIMIT = 1
"""Pods get their credentials by pod identity and region and VPC as settings; with two hops every
pod could take the node's own role from the metadata service (EKS best practices, identity)."""

_VOLUME_IOPS = 3000
_VOLUME_MIB_PER_SEC = 250
"""gp3 has 3000 IOPS and 125 MiB/s at no charge; images of 10 GB and more are unpacked here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodePoolArgs:
    """The pool and what of the cluster its machines need.

    `subnets` maps a zone to its private subnet's id. `security_groups` begins with the cluster's
    own, which EKS adds to no machine whose template names any.
    """

    cluster_name: str
    version: str
    region: PlannedRegion
    pool: PlannedPool
    subnets: Mapping[str, Input[str]]
    role_arn: Input[str]
    security_groups: Sequence[Input[str]]
    ebs_key_arn: Input[str]
    tags: Mapping[str, str]


class NodePool(pulumi.ComponentResource):
    """A launch template, and a node group in each of the pool's zones; `groups` by zone."""

    groups: Mapping[str, eks.NodeGroup]

    def __init__(self, name: str, args: NodePoolArgs, opts: ResourceOptions | None = None) -> None:
        """Register template, groups, and what the autoscaler must know of empty groups.

        Raises `ValueError` for a region that is not on EKS.
        """
        super().__init__("triplane:aws:NodePool", name, None, opts)
        cluster = args.region.eks
        if cluster is None:
            message = f"region {args.region.name!r} has no EKS cluster to add nodes to"
            raise ValueError(message)
        self._name, self._args = name, args
        template = self._template()
        self.groups = {
            plan.zone: self._group(plan, template) for plan in plans.groups(cluster, args.pool)
        }
        for zone, group in self.groups.items():
            self._describe(zone, group)
        groups = {zone: group.node_group_name for zone, group in self.groups.items()}
        self.register_outputs({"nodeGroups": groups})

    def _template(self) -> ec2.LaunchTemplate:
        args, pool = self._args, self._args.pool.settings
        is_block = pool.capacity_type is CapacityType.CAPACITY_BLOCK
        tags = {**args.tags, "Name": f"{args.cluster_name}-{pool.name}"}
        return ec2.LaunchTemplate(
            f"{self._name}-template",
            name=f"{args.cluster_name}-{pool.name}",
            description=f"Nodes of {pool.name} in {args.cluster_name}",
            update_default_version=True,
            instance_type=pool.instance_type if is_block else None,
            instance_market_options={"market_type": "capacity-block"} if is_block else None,
            capacity_reservation_specification=self._reservation(),
            metadata_options={
                "http_endpoint": "enabled",
                "http_tokens": "required",
                "http_put_response_hop_limit": HOP_LIMIT,
            },
            block_device_mappings=[
                self._disk(device, size) for device, size in plans.root_devices(pool).items()
            ],
            network_interfaces=self._interfaces() if pool.efa else None,
            vpc_security_group_ids=None if pool.efa else list(args.security_groups),
            user_data=plans.user_data(args.region, pool),
            # The provider's default tags reach the template, not what is made from it.
            tag_specifications=[
                {"resource_type": kind, "tags": tags}
                for kind in ("instance", "volume", "network-interface")
            ],
            tags=dict(args.tags),
            opts=ResourceOptions(parent=self),
        )

    def _reservation(
        self,
    ) -> ec2.LaunchTemplateCapacityReservationSpecificationArgsDict | None:
        reservation = self._args.pool.settings.capacity_reservation
        if reservation is None:
            return None
        return {"capacity_reservation_target": {"capacity_reservation_id": reservation}}

    def _disk(
        self, device: str, size_gib: int | None
    ) -> ec2.LaunchTemplateBlockDeviceMappingArgsDict:
        ebs: ec2.LaunchTemplateBlockDeviceMappingEbsArgsDict = {
            "volume_type": "gp3",
            "iops": _VOLUME_IOPS,
            "throughput": _VOLUME_MIB_PER_SEC,
            "encrypted": "true",
            "kms_key_id": self._args.ebs_key_arn,
            "delete_on_termination": "true",
        }
        if size_gib is not None:
            ebs["volume_size"] = size_gib
        return {"device_name": device, "ebs": ebs}

    def _interfaces(self) -> list[ec2.LaunchTemplateNetworkInterfaceArgsDict]:
        """Return one EFA interface per network card; only the first takes addresses.

        Cards and device indices as EC2 user guide, "EFA" has them for accelerated types. No
        subnet (EKS gives it) and no public address (none may be asked of several interfaces).
        """
        return [
            {
                "device_index": 0 if card == 0 else 1,
                "network_card_index": card,
                "interface_type": "efa" if card == 0 else "efa-only",
                "security_groups": list(self._args.security_groups),
                "delete_on_termination": "true",
            }
            for card in range(self._args.pool.efa_interfaces)
        ]

    def _group(self, plan: GroupPlan, template: ec2.LaunchTemplate) -> eks.NodeGroup:
        args, pool = self._args, self._args.pool.settings
        is_block = pool.capacity_type is CapacityType.CAPACITY_BLOCK
        return eks.NodeGroup(
            f"{self._name}-{plan.zone}",
            cluster_name=args.cluster_name,
            node_group_name=plan.name,
            node_role_arn=args.role_arn,
            subnet_ids=[args.subnets[plan.zone]],
            version=args.version,
            ami_type=plans.image(pool),
            capacity_type=plans.capacity(pool),
            # EKS takes the type of a capacity block from the template only.
            instance_types=None if is_block else [pool.instance_type or ""],
            launch_template={
                "id": template.id,
                "version": template.latest_version.apply(str),
            },
            scaling_config={
                "min_size": plan.min,
                "max_size": plan.max,
                "desired_size": plan.min,
            },
            update_config={
                "max_unavailable": 1,
                "update_strategy": plans.update_strategy(args.pool),
            },
            labels=plans.labels(args.region, args.pool),
            taints=[
                {"key": each["key"], "value": each.get("value"), "effect": each["effect"]}
                for each in plans.taints(pool)
            ],
            tags={**args.tags, "Name": plan.name},
            # The autoscaler's number, once the group exists (EKS-05).
            opts=ResourceOptions(parent=self, ignore_changes=["scalingConfig.desiredSize"]),
        )

    def _describe(self, zone: str, group: eks.NodeGroup) -> None:
        scaling = group.resources.apply(_scaling_group)
        for key, value in plans.template_tags(self._args.region, self._args.pool).items():
            fact = key.removeprefix(f"{NODE_TEMPLATE}/").replace("/", "-")
            autoscaling.Tag(
                f"{self._name}-{zone}-{fact}",
                autoscaling_group_name=scaling,
                tag={"key": key, "value": value, "propagate_at_launch": False},
                opts=ResourceOptions(parent=self),
            )


def _scaling_group(made: Sequence[eks.outputs.NodeGroupResource]) -> str:
    """Return the name of the Auto Scaling group that EKS made for a node group."""
    groups = made[0].autoscaling_groups or []
    return groups[0].name or ""
