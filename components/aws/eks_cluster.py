"""`EksCluster`: a control plane, who may use it, and its logs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws import cloudwatch, eks, iam

from models.aws import names
from models.aws.cluster_policies import CLUSTER_POLICIES, service_trust
from models.aws.kubeconfig import kubeconfig
from models.aws.network import service_cidr
from models.settings import eks as settings

LOG_TYPES: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""Every log that a control plane writes (EKS API reference, LogSetup)."""

_ADMIN_POLICY: Final = "AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True, kw_only=True, slots=True)
class EksClusterArgs:
    """The settings and the cluster's name; the key of its Secrets.

    `subnet_ids` and `security_groups` are of the control plane's interfaces; EKS adds a group of
    its own.

    `protect` refuses to delete or replace the cluster, in Pulumi and in AWS.
    """

    cluster: settings.EksClusterSettings
    cluster_name: str
    subnet_ids: Sequence[Input[str]]
    security_groups: Sequence[Input[str]]
    key_arn: Input[str]
    protect: bool


class EksCluster(pulumi.ComponentResource):
    """An EKS cluster that only named roles may use, whoever made it.

    `security_group` is the group that EKS makes for control plane and nodes; `kubeconfig` is secret
    although it holds no token, since it tells where the API is.
    """

    security_group: Output[str]
    kubeconfig: Output[str]

    def __init__(
        self, name: str, args: EksClusterArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register role, log group, cluster and access entries."""
        super().__init__("triplane:aws:EksCluster", name, None, opts)
        self._name, self._args = name, args
        self._child = ResourceOptions(parent=self)
        role, attached = self._role()
        logs = cloudwatch.LogGroup(
            f"{name}-logs",
            name=names.control_plane_logs(args.cluster_name),
            retention_in_days=args.cluster.log_retention_days,
            kms_key_id=args.key_arn,
            opts=self._child,
        )
        cluster = self._cluster(role, [*attached, logs])
        for arn in sorted(args.cluster.admins):
            self._admin(arn, cluster)
        self.security_group = cluster.vpc_config.cluster_security_group_id
        self.kubeconfig = Output.secret(
            Output.all(cluster.endpoint, cluster.certificate_authority.data).apply(
                lambda found: kubeconfig(
                    cluster=args.cluster_name,
                    aws_region=args.cluster.aws_region,
                    endpoint=found[0],
                    certificate=found[1],
                )
            )
        )
        self.register_outputs({"securityGroup": self.security_group})

    def _role(self) -> tuple[iam.Role, list[pulumi.Resource]]:
        role = iam.Role(
            f"{self._name}-role",
            name=names.role_name(self._args.cluster_name, names.CLUSTER_ROLE),
            assume_role_policy=json.dumps(service_trust("eks.amazonaws.com", self._args.cluster)),
            opts=self._child,
        )
        attached: list[pulumi.Resource] = [
            iam.RolePolicyAttachment(
                f"{self._name}-{policy}",
                role=role.name,
                policy_arn=names.managed_policy(self._args.cluster, policy),
                opts=self._child,
            )
            for policy in CLUSTER_POLICIES
        ]
        return role, attached

    def _cluster(self, role: iam.Role, after: list[pulumi.Resource]) -> eks.Cluster:
        given = self._args.cluster
        public = list(given.public_cidrs)
        return eks.Cluster(
            f"{self._name}-cluster",
            name=self._args.cluster_name,
            role_arn=role.arn,
            version=given.version,
            vpc_config={
                "subnet_ids": self._args.subnet_ids,
                "security_group_ids": self._args.security_groups,
                "endpoint_private_access": given.private_endpoint,
                "endpoint_public_access": bool(public),
                "public_access_cidrs": public or None,
            },
            # Access entries only, and none for whoever happens to run the first update (ADR 0012).
            access_config={
                "authentication_mode": "API",
                "bootstrap_cluster_creator_admin_permissions": False,
            },
            bootstrap_self_managed_addons=False,
            enabled_cluster_log_types=list(LOG_TYPES),
            encryption_config={
                "provider": {"key_arn": self._args.key_arn},
                "resources": ["secrets"],
            },
            kubernetes_network_config={"service_ipv4_cidr": service_cidr(given.cidr)},
            deletion_protection=self._args.protect,
            # Extended support costs six times as much an hour; the plan counts standard support.
            upgrade_policy={"support_type": "STANDARD"},
            opts=ResourceOptions(
                parent=self,
                # Without its policies EKS cannot remove its interfaces; without the group it would
                # make one that keeps logs forever.
                depends_on=after,
                protect=self._args.protect,
                # EKS takes subnets of the zones it was created in only, so that a zone that is
                # added later must not reach it (EKS user guide, network-reqs; ADR 0011).
                ignore_changes=["vpcConfig.subnetIds"],
            ),
        )

    def _admin(self, arn: str, cluster: eks.Cluster) -> None:
        role = arn.rsplit("/", 1)[-1]
        entry = eks.AccessEntry(
            f"{self._name}-admin-{role}",
            cluster_name=cluster.name,
            principal_arn=arn,
            type="STANDARD",
            opts=self._child,
        )
        partition = self._args.cluster.partition
        eks.AccessPolicyAssociation(
            f"{self._name}-admin-{role}-policy",
            cluster_name=cluster.name,
            principal_arn=arn,
            policy_arn=f"arn:{partition}:eks::aws:cluster-access-policy/{_ADMIN_POLICY}",
            access_scope={"type": "cluster"},
            # An association of a principal without an entry is refused.
            opts=ResourceOptions(parent=self, depends_on=[entry]),
        )
