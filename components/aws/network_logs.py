"""`NetworkLogs`: the VPC's flow logs."""

import json
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_aws import cloudwatch, ec2, iam

from models.aws import names
from models.aws.cluster_policies import flow_log_policy, service_trust
from models.settings.eks import EksClusterSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkLogsArgs:
    """The VPC whose traffic is recorded, and the key of the log group."""

    cluster: EksClusterSettings
    cluster_name: str
    vpc_id: Output[str]
    key_arn: Output[str]


class NetworkLogs(pulumi.ComponentResource):
    """A log group, a role that may write to it and to nothing else, and the flow log."""

    def __init__(
        self, name: str, args: NetworkLogsArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register group, role and flow log."""
        super().__init__("triplane:aws:NetworkLogs", name, None, opts)
        child = ResourceOptions(parent=self)
        group = cloudwatch.LogGroup(
            f"{name}-group",
            name=names.flow_logs(args.cluster_name),
            retention_in_days=args.cluster.log_retention_days,
            kms_key_id=args.key_arn,
            opts=child,
        )
        role = iam.Role(
            f"{name}-role",
            name=names.role_name(args.cluster_name, names.FLOW_LOG_ROLE),
            assume_role_policy=json.dumps(
                service_trust("vpc-flow-logs.amazonaws.com", args.cluster)
            ),
            opts=child,
        )
        policy = iam.RolePolicy(
            f"{name}-policy",
            name="write",
            role=role.name,
            policy=json.dumps(flow_log_policy(args.cluster, names.flow_logs(args.cluster_name))),
            opts=child,
        )
        ec2.FlowLog(
            f"{name}-flow",
            vpc_id=args.vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            # Ten minutes rather than one: a tenth of the records.
            max_aggregation_interval=600,
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.register_outputs({"logGroupArn": group.arn})
