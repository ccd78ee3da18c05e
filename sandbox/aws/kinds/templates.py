"""EC2 launch templates."""

from collections.abc import Mapping
from typing import Any, Final, cast

from sandbox.aws.api import Aws
from sandbox.aws.kind import Kind
from sandbox.aws.kinds.tools import (
    ec2_tags,
    one,
    require,
    settle_ec2_tags,
    specification,
    unless_gone,
)
from sandbox.aws.rules import Rules
from sandbox.aws.values import Props, is_empty

_GONE: Final = ("InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.NotFoundException")

DATA: Final = {
    "blockDeviceMappings": "BlockDeviceMappings",
    "capacityReservationSpecification": "CapacityReservationSpecification",
    "ebsOptimized": "EbsOptimized",
    "imageId": "ImageId",
    "instanceMarketOptions": "InstanceMarketOptions",
    "instanceType": "InstanceType",
    "keyName": "KeyName",
    "metadataOptions": "MetadataOptions",
    "monitoring": "Monitoring",
    "networkInterfaces": "NetworkInterfaces",
    "placement": "Placement",
    "tagSpecifications": "TagSpecifications",
    "userData": "UserData",
    "vpcSecurityGroupIds": "SecurityGroupIds",
}
"""Properties of a version of a template, by their API names."""

_RENAMED: Final = {"securityGroups": "Groups", "kmsKeyId": "KmsKeyId", "snapshotId": "SnapshotId"}
_BOOLEANS: Final = frozenset({"encrypted", "deleteOnTermination", "ebsOptimized"})
"""Texts in Pulumi, since they have three states; booleans in the API."""


def _api(value: Any) -> Any:
    """Return a value with API spelling: capital first letters, keys of tags left alone."""
    if isinstance(value, list):
        return [_api(each) for each in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        return {_name(key): _entry(key, each) for key, each in given.items() if not is_empty(each)}
    return value


def _name(key: str) -> str:
    return _RENAMED.get(key, key[0].upper() + key[1:])


def _entry(key: str, value: Any) -> Any:
    if key == "tags":
        return [{"Key": each, "Value": text} for each, text in sorted(value.items())]
    if key in _BOOLEANS and isinstance(value, str):
        return value == "true"
    return _api(value)


def data(inputs: Props) -> dict[str, Any]:
    """Return LaunchTemplateData."""
    return {
        api: _entry(name, inputs[name])
        for name, api in DATA.items()
        if not is_empty(inputs.get(name))
    }


def _require_groups(aws: Aws, inputs: Props) -> None:
    named = set(inputs.get("vpcSecurityGroupIds") or ())
    for interface in inputs.get("networkInterfaces") or ():
        named |= set(interface.get("securityGroups") or ())
    for each in sorted(named):
        gone = ("InvalidGroup.NotFound",)
        found = one(aws, "describe_security_groups", "SecurityGroups", gone, GroupIds=[each])
        message = f"The security group '{each}' does not exist"
        require(found, "CreateLaunchTemplate", gone[0], message)


def _create(aws: Aws, inputs: Props) -> str:
    _require_groups(aws, inputs)
    description = {"VersionDescription": inputs["description"]} if inputs.get("description") else {}
    made = aws.call(
        "ec2",
        "create_launch_template",
        LaunchTemplateName=inputs["name"],
        LaunchTemplateData=data(inputs),
        TagSpecifications=specification("launch-template", inputs),
        **description,
    )
    return str(made["LaunchTemplate"]["LaunchTemplateId"])


def _find(aws: Aws, identity: str) -> dict[str, Any] | None:
    operation, key = "describe_launch_templates", "LaunchTemplates"
    return one(aws, operation, key, _GONE, LaunchTemplateIds=[identity])


def _version(aws: Aws, identity: str) -> dict[str, Any]:
    return aws.call(
        "ec2",
        "describe_launch_template_versions",
        LaunchTemplateId=identity,
        Versions=["$Latest"],
    )["LaunchTemplateVersions"][0]


def _update(aws: Aws, identity: str, _old: Props, new: Props) -> None:
    """Make a new version where the data differ, and the default one where that is asked for."""
    _require_groups(aws, new)
    latest = _version(aws, identity)
    wanted = data(new)
    number = latest["VersionNumber"]
    if latest["LaunchTemplateData"] != wanted or latest.get("VersionDescription") != new.get(
        "description"
    ):
        made = aws.call(
            "ec2",
            "create_launch_template_version",
            LaunchTemplateId=identity,
            LaunchTemplateData=wanted,
            **({"VersionDescription": new["description"]} if new.get("description") else {}),
        )
        number = made["LaunchTemplateVersion"]["VersionNumber"]
    if not new.get("updateDefaultVersion"):
        number = new.get("defaultVersion")
    if number is not None:
        aws.call(
            "ec2",
            "modify_launch_template",
            LaunchTemplateId=identity,
            DefaultVersion=str(number),
        )


def _read(aws: Aws, identity: str, known: Props) -> Props | None:
    found = _find(aws, identity)
    if found is None:
        return None
    latest = _version(aws, identity)
    given = {name: known[name] for name in DATA if not is_empty(known.get(name))}
    actual = latest["LaunchTemplateData"]
    drifted = {name: None for name, api in DATA.items() if name in given and api not in actual}
    return {
        "arn": aws.arn("ec2", f"launch-template/{identity}"),
        "defaultVersion": found["DefaultVersionNumber"],
        "description": latest.get("VersionDescription"),
        "latestVersion": found["LatestVersionNumber"],
        "name": found["LaunchTemplateName"],
        "tagsAll": ec2_tags(aws, identity),
        **drifted,
    }


def _delete(aws: Aws, identity: str, _: Props) -> None:
    # moto answers with the code for a name, also where it was given an id.
    gone = (*_GONE, "InvalidLaunchTemplateName.NotFoundException")
    unless_gone(aws, "ec2", "delete_launch_template", gone, LaunchTemplateId=identity)


LAUNCH_TEMPLATE: Final = Kind(
    type="aws:ec2/launchTemplate:LaunchTemplate",
    sdk="ec2.LaunchTemplate",
    rules=Rules(
        source="internal/service/ec2/ec2_launch_template.go",
        replace=("name",),
        update=("description", "updateDefaultVersion", "defaultVersion", *DATA),
        sets=("vpcSecurityGroupIds", "networkInterfaces.securityGroups"),
        enums={
            "metadataOptions.httpTokens": ("optional", "required"),
            "metadataOptions.httpEndpoint": ("enabled", "disabled"),
            "blockDeviceMappings.ebs.volumeType": (
                "gp2",
                "gp3",
                "io1",
                "io2",
                "sc1",
                "st1",
                "standard",
            ),
            "instanceMarketOptions.marketType": ("spot", "capacity-block"),
        },
        exclusive=(("updateDefaultVersion", "defaultVersion"),),
        name="name",
        name_limit=125,
        recomputed=("latestVersion", "defaultVersion"),
    ),
    create=_create,
    settle=settle_ec2_tags,
    update=_update,
    read=_read,
    delete=_delete,
)
KINDS: Final = (LAUNCH_TEMPLATE,)
