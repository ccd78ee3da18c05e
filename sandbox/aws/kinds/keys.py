"""KMS keys and their aliases."""

import json
from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props
from sandbox.aws.kinds.iam import text
from sandbox.aws.kinds.tools import chosen, require, tag_changes, unless_gone, wanted_tags

_GONE: Final = ("NotFoundException",)


def _tags(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"TagKey": key, "TagValue": value} for key, value in sorted(tags.items())]


def _create(aws: Aws, inputs: Props) -> str:
    policy = {"Policy": text(inputs["policy"])} if inputs.get("policy") else {}
    names = {"description": "Description", "keyUsage": "KeyUsage"}
    made = aws.call(
        "kms",
        "create_key",
        Tags=_tags(wanted_tags(inputs)),
        **policy,
        **chosen(inputs, names),
    )
    return str(made["KeyMetadata"]["KeyId"])


def _find(aws: Aws, identity: str) -> dict[str, Any] | None:
    told = aws.find("kms", "describe_key", _GONE, KeyId=identity)
    if told is None or told["KeyMetadata"]["KeyState"] == "PendingDeletion":
        return None
    return told["KeyMetadata"]


def _actual_tags(aws: Aws, identity: str) -> dict[str, str]:
    listed = aws.pages("kms", "list_resource_tags", "Tags", KeyId=identity)
    return {str(each["TagKey"]): str(each["TagValue"]) for each in listed}


def _settle(aws: Aws, identity: str, inputs: Props) -> None:
    if inputs.get("policy"):
        document = text(inputs["policy"])
        aws.call("kms", "put_key_policy", KeyId=identity, PolicyName="default", Policy=document)
    rotate = "enable_key_rotation" if inputs.get("enableKeyRotation") else "disable_key_rotation"
    aws.call("kms", rotate, KeyId=identity)
    if "description" in inputs:
        description = inputs["description"]
        aws.call("kms", "update_key_description", KeyId=identity, Description=description)
    put, remove = tag_changes(_actual_tags(aws, identity), wanted_tags(inputs))
    if put:
        aws.call("kms", "tag_resource", KeyId=identity, Tags=_tags(put))
    if remove:
        aws.call("kms", "untag_resource", KeyId=identity, TagKeys=remove)


def _read(aws: Aws, identity: str, _: Props) -> Props | None:
    found = _find(aws, identity)
    if found is None:
        return None
    policy = aws.call("kms", "get_key_policy", KeyId=identity, PolicyName="default")["Policy"]
    rotation = aws.call("kms", "get_key_rotation_status", KeyId=identity)
    return {
        "arn": found["Arn"],
        "customerMasterKeySpec": found["CustomerMasterKeySpec"],
        "description": found["Description"],
        "enableKeyRotation": rotation["KeyRotationEnabled"],
        "isEnabled": found["Enabled"],
        "keyId": identity,
        "keyUsage": found.get("KeyUsage", "ENCRYPT_DECRYPT"),
        "policy": policy if isinstance(policy, str) else json.dumps(policy),
        "tagsAll": _actual_tags(aws, identity),
    }


def _delete(aws: Aws, identity: str, state: Props) -> None:
    if _find(aws, identity) is not None:
        days = chosen(state, {"deletionWindowInDays": "PendingWindowInDays"})
        aws.call("kms", "schedule_key_deletion", KeyId=identity, **days)


def _create_alias(aws: Aws, inputs: Props) -> str:
    key = str(inputs["targetKeyId"])
    message = f"Key '{key}' does not exist"
    require(_find(aws, key), "CreateAlias", _GONE[0], message)
    aws.call("kms", "create_alias", AliasName=inputs["name"], TargetKeyId=key)
    return str(inputs["name"])


def _update_alias(aws: Aws, identity: str, old: Props, new: Props) -> None:
    if old.get("targetKeyId") != new["targetKeyId"]:
        aws.call("kms", "update_alias", AliasName=identity, TargetKeyId=new["targetKeyId"])


def _read_alias(aws: Aws, identity: str, known: Props) -> Props | None:
    for each in aws.pages("kms", "list_aliases", "Aliases"):
        if each["AliasName"] == identity and "TargetKeyId" in each:
            key = each["TargetKeyId"]
            arn = aws.arn("kms", f"key/{key}")
            given = known.get("targetKeyId")
            return {
                "arn": each["AliasArn"],
                "name": identity,
                "targetKeyArn": arn,
                "targetKeyId": given if given == arn else key,
            }
    return None


def _delete_alias(aws: Aws, identity: str, _: Props) -> None:
    unless_gone(aws, "kms", "delete_alias", _GONE, AliasName=identity)


KEY: Final = AwsKind(
    type="aws:kms/key:Key",
    sdk="kms.Key",
    rules=Rules(
        source="internal/service/kms/key.go",
        replace=("keyUsage",),
        update=("deletionWindowInDays", "description", "enableKeyRotation", "policy"),
        documents=("policy",),
        unread={"deletionWindowInDays": "so many days later a deleted key is gone"},
        defaults={"enableKeyRotation": False},
        enums={"keyUsage": ("ENCRYPT_DECRYPT", "SIGN_VERIFY", "GENERATE_VERIFY_MAC")},
    ),
    create=_create,
    settle=_settle,
    read=_read,
    delete=_delete,
)
ALIAS: Final = AwsKind(
    type="aws:kms/alias:Alias",
    sdk="kms.Alias",
    rules=Rules(
        source="internal/service/kms/alias.go",
        replace=("name",),
        update=("targetKeyId",),
        name="name",
        tagged=False,
    ),
    create=_create_alias,
    update=_update_alias,
    read=_read_alias,
    delete=_delete_alias,
)
KINDS: Final = (KEY, ALIAS)
