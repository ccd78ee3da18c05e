"""CloudWatch log groups, and flow logs that are written to them."""

from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props
from sandbox.aws.kinds.iam import require_role
from sandbox.aws.kinds.tools import (
    chosen,
    ec2_tags,
    one,
    require,
    settle_ec2_tags,
    specification,
    tag_changes,
    unless_gone,
    wanted_tags,
)

_GONE: Final = ("ResourceNotFoundException",)


def _create(aws: Aws, inputs: Props) -> str:
    name = str(inputs["name"])
    aws.call(
        "logs",
        "create_log_group",
        logGroupName=name,
        **chosen({**inputs, "tags": wanted_tags(inputs) or None}, _NAMES),
    )
    return name


_NAMES: Final = {"kmsKeyId": "kmsKeyId", "tags": "tags"}


def _find(aws: Aws, name: str) -> dict[str, Any] | None:
    listed = aws.pages("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=name)
    return next((each for each in listed if each["logGroupName"] == name), None)


def _settle(aws: Aws, identity: str, inputs: Props) -> None:
    if inputs.get("retentionInDays"):
        days = inputs["retentionInDays"]
        aws.call("logs", "put_retention_policy", logGroupName=identity, retentionInDays=days)
    else:
        aws.call("logs", "delete_retention_policy", logGroupName=identity)
    arn = aws.arn("logs", f"log-group:{identity}")
    actual = aws.call("logs", "list_tags_for_resource", resourceArn=arn)["tags"]
    put, remove = tag_changes(actual, wanted_tags(inputs))
    if put:
        aws.call("logs", "tag_resource", resourceArn=arn, tags=put)
    if remove:
        aws.call("logs", "untag_resource", resourceArn=arn, tagKeys=remove)


def _update(_aws: Aws, identity: str, old: Props, new: Props) -> None:
    if old.get("kmsKeyId") != new.get("kmsKeyId"):
        message = (
            f"log group {identity}: moto cannot change a log group's key (AssociateKmsKey); "
            "AWS can. Replace the resource, or leave the key"
        )
        raise StandInError(message)


def _read(aws: Aws, identity: str, _: Props) -> Props | None:
    found = _find(aws, identity)
    if found is None:
        return None
    arn = aws.arn("logs", f"log-group:{identity}")
    return {
        "arn": arn,
        "kmsKeyId": found.get("kmsKeyId"),
        "name": identity,
        "retentionInDays": found.get("retentionInDays"),
        "tagsAll": aws.call("logs", "list_tags_for_resource", resourceArn=arn)["tags"],
    }


def _delete(aws: Aws, identity: str, _: Props) -> None:
    unless_gone(aws, "logs", "delete_log_group", _GONE, logGroupName=identity)


def _create_flow(aws: Aws, inputs: Props) -> str:
    require_role(aws, str(inputs["iamRoleArn"]), "CreateFlowLogs")
    group = str(inputs["logDestination"]).partition(":log-group:")[2].removesuffix(":*")
    message = f"LogDestination: {group} does not exist"
    require(_find(aws, group), "CreateFlowLogs", "InvalidParameter", message)
    names = {
        "trafficType": "TrafficType",
        "logDestinationType": "LogDestinationType",
        "logDestination": "LogDestination",
        "iamRoleArn": "DeliverLogsPermissionArn",
        "maxAggregationInterval": "MaxAggregationInterval",
    }
    made = aws.call(
        "ec2",
        "create_flow_logs",
        ResourceIds=[inputs["vpcId"]],
        ResourceType="VPC",
        TagSpecifications=specification("vpc-flow-log", inputs),
        **chosen(inputs, names),
    )
    return str(made["FlowLogIds"][0])


def _read_flow(aws: Aws, identity: str, _: Props) -> Props | None:
    found = one(aws, "describe_flow_logs", "FlowLogs", (), FlowLogIds=[identity])
    if found is None:
        return None
    return {
        "arn": aws.arn("ec2", f"vpc-flow-log/{identity}"),
        "iamRoleArn": found.get("DeliverLogsPermissionArn"),
        "logDestination": found["LogDestination"],
        "logDestinationType": found["LogDestinationType"],
        "logFormat": found["LogFormat"],
        "maxAggregationInterval": int(found["MaxAggregationInterval"]),
        "trafficType": found["TrafficType"],
        "vpcId": found["ResourceId"],
        "tagsAll": ec2_tags(aws, identity),
    }


def _delete_flow(aws: Aws, identity: str, _: Props) -> None:
    if one(aws, "describe_flow_logs", "FlowLogs", (), FlowLogIds=[identity]) is not None:
        aws.call("ec2", "delete_flow_logs", FlowLogIds=[identity])


LOG_GROUP: Final = AwsKind(
    type="aws:cloudwatch/logGroup:LogGroup",
    sdk="cloudwatch.LogGroup",
    rules=Rules(
        source="internal/service/logs/group.go",
        replace=("name",),
        update=("kmsKeyId", "retentionInDays"),
        name="name",
        name_limit=512,
    ),
    create=_create,
    settle=_settle,
    update=_update,
    read=_read,
    delete=_delete,
)
FLOW_LOG: Final = AwsKind(
    type="aws:ec2/flowLog:FlowLog",
    sdk="ec2.FlowLog",
    rules=Rules(
        source="internal/service/ec2/vpc_flow_log.go",
        replace=(
            "iamRoleArn",
            "logDestination",
            "logDestinationType",
            "maxAggregationInterval",
            "trafficType",
            "vpcId",
        ),
        defaults={"logDestinationType": "cloud-watch-logs", "maxAggregationInterval": 600},
        enums={
            "trafficType": ("ACCEPT", "REJECT", "ALL"),
            "logDestinationType": ("cloud-watch-logs",),
        },
    ),
    create=_create_flow,
    settle=settle_ec2_tags,
    read=_read_flow,
    delete=_delete_flow,
)
KINDS: Final = (LOG_GROUP, FLOW_LOG)
