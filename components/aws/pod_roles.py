"""`PodRoles`: the identities of a region's own pods on AWS."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from components.aws.identity import PodIdentity, PodIdentityArgs
from models.aws.names import role_name
from models.plan.aws.pod_roles import RoleRequest, pod_roles
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.eks import EksClusterSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class PodRolesArgs:
    """The stack's plan, the region, its cluster's settings and name."""

    plan: PlatformPlan
    region: PlannedRegion
    cluster: EksClusterSettings
    cluster_name: str
    tags: Mapping[str, str]


class PodRoles(pulumi.ComponentResource):
    """A role for each service account that `models/plan/aws/pod_roles.py` gives one."""

    def __init__(self, name: str, args: PodRolesArgs, opts: ResourceOptions | None = None) -> None:
        """Register the identities; the cluster must exist."""
        super().__init__("triplane:aws:PodRoles", name, None, opts)
        asked = RoleRequest(
            plan=args.plan,
            region=args.region,
            cluster=args.cluster,
            cluster_name=args.cluster_name,
        )
        identities = {
            row.service_account: PodIdentity(
                f"{name}-{row.purpose}",
                PodIdentityArgs(
                    cluster_name=args.cluster_name,
                    namespace=row.namespace,
                    service_account=row.service_account,
                    role_name=role_name(args.cluster_name, row.purpose),
                    policy=row.policy(asked),
                    tags=args.tags,
                ),
                ResourceOptions(parent=self),
            )
            for row in pod_roles(asked)
        }
        roles = {account: each.role.arn for account, each in identities.items()}
        self.register_outputs({"roleArns": roles})
