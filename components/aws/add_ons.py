"""`AddOns`: add-ons of EKS, with the identities of their pods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_aws import eks

from components.aws.identity import PodIdentity, PodIdentityArgs
from models.aws import names
from models.aws.addons import SYSTEM_NAMESPACE, AddOn, Identity
from models.settings.eks import EksClusterSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class AddOnsArgs:
    """The cluster's settings and name, and what to install."""

    cluster: EksClusterSettings
    cluster_name: str
    add_ons: Sequence[AddOn]
    tags: Mapping[str, str]


class AddOns(pulumi.ComponentResource):
    """One stage of add-ons; they do not wait for each other."""

    def __init__(self, name: str, args: AddOnsArgs, opts: ResourceOptions | None = None) -> None:
        """Register the add-ons."""
        super().__init__("triplane:aws:AddOns", name, None, opts)
        self._name, self._args = name, args
        for add_on in args.add_ons:
            eks.Addon(
                f"{name}-{add_on.name}",
                cluster_name=args.cluster_name,
                addon_name=add_on.name,
                configuration_values=add_on.configuration,
                # What stands here wins over what somebody changed in the cluster.
                resolve_conflicts_on_create="OVERWRITE",
                resolve_conflicts_on_update="OVERWRITE",
                opts=ResourceOptions(parent=self, depends_on=self._identity(add_on.identity)),
            )
        self.register_outputs({"addOns": [each.name for each in args.add_ons]})

    def _identity(self, identity: Identity | None) -> list[pulumi.Resource]:
        """Register a pod's identity; pods that start before it run without credentials."""
        if identity is None:
            return []
        args = PodIdentityArgs(
            cluster_name=self._args.cluster_name,
            namespace=SYSTEM_NAMESPACE,
            service_account=identity.service_account,
            role_name=names.role_name(self._args.cluster_name, identity.purpose),
            policy=None,
            managed_policies=(names.managed_policy(self._args.cluster, identity.policy),),
            tags=self._args.tags,
        )
        name = f"{self._name}-{identity.purpose}"
        return [PodIdentity(name, args, ResourceOptions(parent=self))]
