"""`RegionKey`: the KMS key of a region's cluster, its disks and its logs."""

import json
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_aws import kms

from models.aws import names
from models.aws.cluster_policies import key_policy
from models.settings.eks import EksClusterSettings

DELETION_DAYS = 30
"""The longest time that KMS lets pass before a key is gone; until then it can be taken back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionKeyArgs:
    """The cluster's settings and name. `protect` refuses to delete or replace the key."""

    cluster: EksClusterSettings
    cluster_name: str
    protect: bool


class RegionKey(pulumi.ComponentResource):
    """A rotated key with an alias. What it encrypted is lost with it."""

    arn: Output[str]

    def __init__(self, name: str, args: RegionKeyArgs, opts: ResourceOptions | None = None) -> None:
        """Register key and alias."""
        super().__init__("triplane:aws:RegionKey", name, None, opts)
        key = kms.Key(
            f"{name}-key",
            description=f"Secrets, disks and logs of {args.cluster_name}",
            enable_key_rotation=True,
            deletion_window_in_days=DELETION_DAYS,
            policy=json.dumps(key_policy(args.cluster, args.cluster_name)),
            opts=ResourceOptions(parent=self, protect=args.protect),
        )
        kms.Alias(
            f"{name}-alias",
            name=names.key_alias(args.cluster_name),
            target_key_id=key.key_id,
            opts=ResourceOptions(parent=self),
        )
        self.arn = key.arn
        self.register_outputs({"arn": self.arn})
