"""What the types of several services share: tags, lookups, listings of one."""

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.values import Props, items

Tags = Mapping[str, str]


def pairs(tags: Tags) -> list[dict[str, str]]:
    """Return tags as most services write them."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def from_pairs(tags: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return tags as a map, without AWS's own (`aws:...`)."""
    found = {str(each["Key"]): str(each["Value"]) for each in tags}
    return {key: value for key, value in found.items() if not key.startswith("aws:")}


def wanted_tags(inputs: Props) -> dict[str, str]:
    """Return all tags that a resource is to have."""
    return dict(inputs.get("tagsAll") or inputs.get("tags") or {})


def tag_changes(actual: Tags, wanted: Tags) -> tuple[dict[str, str], list[str]]:
    """Return which tags to set and which keys to remove."""
    put = {key: value for key, value in wanted.items() if actual.get(key) != value}
    return put, sorted(set(actual) - set(wanted))


def specification(kind: str, inputs: Props) -> list[dict[str, Any]]:
    """Return EC2's TagSpecifications; none without tags, since empty ones are refused."""
    tags = wanted_tags(inputs)
    return [{"ResourceType": kind, "Tags": pairs(tags)}] if tags else []


def ec2_tags(aws: Aws, identity: str) -> dict[str, str]:
    """Return the tags of an EC2 resource."""
    filters = [{"Name": "resource-id", "Values": [identity]}]
    return from_pairs(aws.pages("ec2", "describe_tags", "Tags", Filters=filters))


def settle_ec2_tags(aws: Aws, identity: str, inputs: Props) -> None:
    """Make the tags of an EC2 resource exactly what is wanted."""
    put, remove = tag_changes(ec2_tags(aws, identity), wanted_tags(inputs))
    if put:
        aws.call("ec2", "create_tags", Resources=[identity], Tags=pairs(put))
    if remove:
        keys = [{"Key": key} for key in remove]
        aws.call("ec2", "delete_tags", Resources=[identity], Tags=keys)


def one(
    aws: Aws, operation: str, key: str, gone: tuple[str, ...], **arguments: Any
) -> dict[str, Any] | None:
    """Return the only entry of an EC2 listing; None where EC2 says that there is none."""
    told = aws.find("ec2", operation, gone, **arguments)
    listed = items(told, key)
    return listed[0] if listed else None


def unless_gone(aws: Aws, service: str, operation: str, gone: tuple[str, ...], **rest: Any) -> None:
    """Call an operation; what is gone already is no error."""
    aws.find(service, operation, gone, **rest)


def require(found: object, operation: str, code: str, message: str) -> None:
    """Raise what AWS says where something that is referred to does not exist."""
    if not found:
        raise AwsError(operation, code, message)


def chosen(inputs: Props, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the given properties under their API names."""
    return {api: inputs[name] for name, api in names.items() if inputs.get(name) is not None}
