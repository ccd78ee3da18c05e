"""The Auto Scaling group behind a node group, and tags on it.

EKS makes the group; moto only makes its name up. It is made here with nobody in it, so that tags
land on something that exists.
"""

from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, items

_GROUP: Final = "auto-scaling-group"


def _name(described: dict[str, Any]) -> str:
    return str(described["resources"]["autoScalingGroups"][0]["name"])


def _find(aws: Aws, name: str) -> dict[str, Any] | None:
    told = aws.call("autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=[name])
    listed = told["AutoScalingGroups"]
    return listed[0] if listed else None


def make_group(aws: Aws, described: dict[str, Any], inputs: Props) -> None:
    """Make the group of a node group where there is none yet."""
    name, cluster = _name(described), str(described["clusterName"])
    if _find(aws, name) is not None:
        return
    template = _template(aws, described, name)
    own = {
        "eks:cluster-name": cluster,
        "eks:nodegroup-name": str(described["nodegroupName"]),
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        f"kubernetes.io/cluster/{cluster}": "owned",
    }
    aws.call(
        "autoscaling",
        "create_auto_scaling_group",
        AutoScalingGroupName=name,
        LaunchTemplate=template,
        MinSize=0,
        DesiredCapacity=0,
        MaxSize=inputs["scalingConfig"]["maxSize"],
        VPCZoneIdentifier=",".join(sorted(inputs["subnetIds"])),
        Tags=[_tag(name, key, value) for key, value in own.items()],
    )


def _template(aws: Aws, described: dict[str, Any], name: str) -> dict[str, str]:
    """Return a launch template for the group: EKS makes one of its own for every node group."""
    data = {"InstanceType": described["instanceTypes"][0]}
    made = aws.call(
        "ec2", "create_launch_template", LaunchTemplateName=name, LaunchTemplateData=data
    )
    return {"LaunchTemplateId": made["LaunchTemplate"]["LaunchTemplateId"], "Version": "1"}


def _tag(group: str, key: str, value: str, *, propagate: bool = True) -> dict[str, Any]:
    return {
        "ResourceId": group,
        "ResourceType": _GROUP,
        "Key": key,
        "Value": value,
        "PropagateAtLaunch": propagate,
    }


def resize_group(aws: Aws, described: dict[str, Any], inputs: Props) -> None:
    """Set the greatest size of a node group's group."""
    aws.call(
        "autoscaling",
        "update_auto_scaling_group",
        AutoScalingGroupName=_name(described),
        MaxSize=inputs["scalingConfig"]["maxSize"],
    )


def delete_group(aws: Aws, described: dict[str, Any]) -> None:
    """Remove the group of a node group and its launch template."""
    name = _name(described)
    if _find(aws, name) is None:
        return
    aws.call(
        "autoscaling", "delete_auto_scaling_group", AutoScalingGroupName=name, ForceDelete=True
    )
    aws.call("ec2", "delete_launch_template", LaunchTemplateName=name)


def _put_tag(aws: Aws, inputs: Props) -> str:
    group, tag = str(inputs["autoscalingGroupName"]), inputs["tag"]
    if _find(aws, group) is None:
        message = f"AutoScalingGroup name not found - AutoScalingGroup: {group}"
        raise AwsError("CreateOrUpdateTags", "ValidationError", message)
    wanted = _tag(group, tag["key"], tag["value"], propagate=bool(tag["propagateAtLaunch"]))
    aws.call("autoscaling", "create_or_update_tags", Tags=[wanted])
    return f"{group},{tag['key']}"


def _settle_tag(aws: Aws, _identity: str, inputs: Props) -> None:
    _put_tag(aws, inputs)


def _read_tag(aws: Aws, identity: str, _: Props) -> Props | None:
    group, key = identity.split(",")
    for each in items(_find(aws, group), "Tags"):
        if each["Key"] == key:
            found = {"key": key, "value": each["Value"]}
            return {
                "autoscalingGroupName": group,
                "tag": {**found, "propagateAtLaunch": each["PropagateAtLaunch"]},
            }
    return None


def _delete_tag(aws: Aws, identity: str, state: Props) -> None:
    group, key = identity.split(",")
    if _read_tag(aws, identity, state) is not None:
        tag = _tag(group, key, str(state["tag"]["value"]))
        aws.call("autoscaling", "delete_tags", Tags=[tag])


TAG: Final = AwsKind(
    type="aws:autoscaling/tag:Tag",
    sdk="autoscaling.Tag",
    rules=Rules(
        source="internal/service/autoscaling/group_tag.go",
        replace=("autoscalingGroupName", "tag.key"),
        update=("tag.value", "tag.propagateAtLaunch"),
        tagged=False,
    ),
    create=_put_tag,
    settle=_settle_tag,
    read=_read_tag,
    delete=_delete_tag,
)
KINDS: Final = (TAG,)
