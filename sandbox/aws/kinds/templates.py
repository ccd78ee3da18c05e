"""EC2 launch templates."""

from collections.abc import Mapping
from typing import Any, Final, cast

from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, is_empty, items
from sandbox.aws.kinds.listed import Listed
from sandbox.aws.kinds.security import GROUP
from sandbox.aws.kinds.tools import (
    ec2_tags,
    settle_ec2_tags,
    unless_gone,
)

_GONE: Final = ("InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.NotFoundException")
_TEMPLATE: Final = Listed(noun="LaunchTemplate", gone=_GONE)

DATA: Final = (
    "blockDeviceMappings.deviceName",
    "blockDeviceMappings.ebs.deleteOnTermination",
    "blockDeviceMappings.ebs.encrypted",
    "blockDeviceMappings.ebs.iops",
    "blockDeviceMappings.ebs.kmsKeyId",
    "blockDeviceMappings.ebs.throughput",
    "blockDeviceMappings.ebs.volumeSize",
    "blockDeviceMappings.ebs.volumeType",
    "capacityReservationSpecification.capacityReservationTarget.capacityReservationId",
    "imageId",
    "instanceMarketOptions.marketType",
    "instanceType",
    "metadataOptions.httpEndpoint",
    "metadataOptions.httpPutResponseHopLimit",
    "metadataOptions.httpTokens",
    "networkInterfaces.deleteOnTermination",
    "networkInterfaces.deviceIndex",
    "networkInterfaces.interfaceType",
    "networkInterfaces.networkCardIndex",
    "networkInterfaces.securityGroups",
    "tagSpecifications.resourceType",
    "tagSpecifications.tags",
    "userData",
    "vpcSecurityGroupIds",
)
"""What a version of a template holds, as far as a node group of ours needs it."""

_TOP: Final = tuple(sorted({path.partition(".")[0] for path in DATA}))
_RENAMED: Final = {"securityGroups": "Groups", "vpcSecurityGroupIds": "SecurityGroupIds"}
_GIVEN: Final = {api: name for name, api in _RENAMED.items()}
_BOOLEANS: Final = frozenset({"encrypted", "deleteOnTermination"})
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
        _name(name): _entry(name, inputs[name]) for name in _TOP if not is_empty(inputs.get(name))
    }


def _plain(value: Any) -> Any:
    """Return a part of LaunchTemplateData as a program gives it: `data` the other way round."""
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    found: Props = {}
    for api, each in cast("Mapping[str, Any]", value).items():
        name = _GIVEN.get(api, api[0].lower() + api[1:])
        if api == "Tags":
            found[name] = {str(tag["Key"]): str(tag["Value"]) for tag in each}
        elif name in _BOOLEANS:
            found[name] = str(each).lower()
        else:
            found[name] = _plain(each)
    return found


def _require_groups(aws: Aws, inputs: Props) -> None:
    named = set(inputs.get("vpcSecurityGroupIds") or ())
    for interface in inputs.get("networkInterfaces") or ():
        named |= set(interface.get("securityGroups") or ())
    for each in sorted(named):
        GROUP.require(aws, each, "CreateLaunchTemplate", noun="security group")


def _create(aws: Aws, inputs: Props) -> str:
    _require_groups(aws, inputs)
    return _TEMPLATE.make(
        aws,
        inputs,
        LaunchTemplateName=inputs["name"],
        LaunchTemplateData=data(inputs),
        **_description(inputs),
    )


def _description(inputs: Props) -> dict[str, str]:
    return {"VersionDescription": inputs["description"]} if inputs.get("description") else {}


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
            **_description(new),
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


def _read(aws: Aws, identity: str, _: Props) -> Props | None:
    found = _TEMPLATE.find(aws, identity)
    if found is None:
        return None
    latest = _version(aws, identity)
    actual = _plain(latest["LaunchTemplateData"])
    # moto keeps the tags of the template itself among those of what is made from it.
    own = [
        each
        for each in items(actual, "tagSpecifications")
        if each["resourceType"] != "launch-template"
    ]
    actual["tagSpecifications"] = own
    return {
        "arn": aws.arn("ec2", f"launch-template/{identity}"),
        "defaultVersion": found["DefaultVersionNumber"],
        "description": latest.get("VersionDescription"),
        "latestVersion": found["LatestVersionNumber"],
        "name": found["LaunchTemplateName"],
        "tagsAll": ec2_tags(aws, identity),
        **{name: actual.get(name) for name in _TOP},
    }


def _delete(aws: Aws, identity: str, _: Props) -> None:
    # moto answers with the code for a name, also where it was given an id.
    gone = (*_GONE, "InvalidLaunchTemplateName.NotFoundException")
    unless_gone(aws, "ec2", "delete_launch_template", gone, LaunchTemplateId=identity)


LAUNCH_TEMPLATE: Final = AwsKind(
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
        unread={"updateDefaultVersion": "an update makes its version the default one"},
    ),
    create=_create,
    settle=settle_ec2_tags,
    update=_update,
    read=_read,
    delete=_delete,
)
KINDS: Final = (LAUNCH_TEMPLATE,)
