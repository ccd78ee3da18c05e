"""`NodeRole` and `PodIdentity`: who machines and pods are on AWS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_aws import eks, iam

from models.aws import iam as documents

NODE_POLICIES: Final = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
"""What a node needs: find its cluster, get credentials for pods, pull images. The CNI's rights are
its own pod's (EKS user guide, create-node-role), and nobody logs in to a node."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRoleArgs:
    """The role's name; `partition` is the one of its account's ARNs."""

    name: str
    tags: Mapping[str, str]
    partition: str = "aws"


class NodeRole(pulumi.ComponentResource):
    """The role of all nodes of a cluster."""

    arn: Output[str]

    def __init__(self, name: str, args: NodeRoleArgs, opts: ResourceOptions | None = None) -> None:
        """Register the role and its policies."""
        super().__init__("triplane:aws:NodeRole", name, None, opts)
        child = ResourceOptions(parent=self)
        role = iam.Role(
            f"{name}-role",
            name=args.name,
            assume_role_policy=documents.text(documents.machine_trust()),
            tags=dict(args.tags),
            opts=child,
        )
        attached = [
            iam.RolePolicyAttachment(
                f"{name}-{policy}",
                role=role.name,
                policy_arn=f"arn:{args.partition}:iam::aws:policy/{policy}",
                opts=child,
            )
            for policy in NODE_POLICIES
        ]
        # Whoever uses the ARN needs the rights as well.
        self.arn = Output.all(role.arn, *(each.policy_arn for each in attached)).apply(_first)
        self.register_outputs({"arn": self.arn})


def _first(values: list[Any]) -> str:
    return str(values[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class PodIdentityArgs:
    """Which pods take which role.

    `policy` is a document of `models/aws/iam.py` (None: none of its own), `managed_policies` are
    ARNs of AWS's.
    """

    cluster_name: str
    namespace: str
    service_account: str
    role_name: str
    policy: Mapping[str, Any] | None
    managed_policies: Sequence[str] = ()
    tags: Mapping[str, str]


class PodIdentity(pulumi.ComponentResource):
    """A role for the pods of one service account, by EKS Pod Identity.

    The service account need not exist yet; pods that start before the association do have no
    credentials until they are started again.
    """

    role: iam.Role

    def __init__(
        self, name: str, args: PodIdentityArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register role, policies, and then the association."""
        super().__init__("triplane:aws:PodIdentity", name, None, opts)
        child = ResourceOptions(parent=self)
        trust = documents.pod_trust(args.cluster_name, args.namespace, args.service_account)
        self.role = iam.Role(
            f"{name}-role",
            name=args.role_name,
            assume_role_policy=documents.text(trust),
            tags=dict(args.tags),
            opts=child,
        )
        eks.PodIdentityAssociation(
            f"{name}-association",
            cluster_name=args.cluster_name,
            namespace=args.namespace,
            service_account=args.service_account,
            role_arn=self.role.arn,
            tags=dict(args.tags),
            # Pods must not start with a role that may do nothing yet.
            opts=ResourceOptions(parent=self, depends_on=self._policies(name, args)),
        )
        self.register_outputs({"roleArn": self.role.arn})

    def _policies(self, name: str, args: PodIdentityArgs) -> list[pulumi.Resource]:
        child = ResourceOptions(parent=self)
        made: list[pulumi.Resource] = [
            iam.RolePolicyAttachment(
                f"{name}-{arn.rsplit('/', 1)[-1]}",
                role=self.role.name,
                policy_arn=arn,
                opts=child,
            )
            for arn in args.managed_policies
        ]
        if args.policy is not None:
            made.append(
                iam.RolePolicy(
                    f"{name}-policy",
                    role=self.role.name,
                    name=args.role_name,
                    policy=documents.text(args.policy),
                    opts=child,
                )
            )
        return made
