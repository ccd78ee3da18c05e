"""IAM: roles, their policies, instance profiles."""

import json
from typing import Any, Final
from urllib.parse import unquote

from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, items, part
from sandbox.aws.kinds.tools import (
    chosen,
    from_pairs,
    pairs,
    require,
    tag_changes,
    unless_gone,
    wanted_tags,
)

_GONE: Final = ("NoSuchEntity",)


def text(policy: Any) -> str:
    """Return a policy document as text: boto3 opens it, programs may give either."""
    return unquote(policy) if isinstance(policy, str) else json.dumps(policy)


def role(aws: Aws, name: str) -> dict[str, Any] | None:
    """Return a role; None where there is none."""
    told = aws.find("iam", "get_role", _GONE, RoleName=name)
    return None if told is None else told["Role"]


def require_role(aws: Aws, arn: str, operation: str) -> None:
    """Raise what EKS and others say of a role of this account that does not exist."""
    account, _, name = arn.partition(":role/")
    if account.endswith(f":{aws.account}"):
        found = role(aws, name.rpartition("/")[2])
        message = f"Role with arn: {arn}, could not be found"
        require(found, operation, "InvalidParameterException", message)


def _create_role(aws: Aws, inputs: Props) -> str:
    names = {
        "description": "Description",
        "maxSessionDuration": "MaxSessionDuration",
        "path": "Path",
        "permissionsBoundary": "PermissionsBoundary",
    }
    made = aws.call(
        "iam",
        "create_role",
        RoleName=inputs["name"],
        AssumeRolePolicyDocument=text(inputs["assumeRolePolicy"]),
        Tags=pairs(wanted_tags(inputs)),
        **chosen(inputs, names),
    )
    return str(made["Role"]["RoleName"])


def _settle_role(aws: Aws, identity: str, inputs: Props) -> None:
    document = text(inputs["assumeRolePolicy"])
    aws.call("iam", "update_assume_role_policy", RoleName=identity, PolicyDocument=document)
    names = {"description": "Description", "maxSessionDuration": "MaxSessionDuration"}
    aws.call("iam", "update_role", RoleName=identity, **chosen(inputs, names))
    if inputs.get("permissionsBoundary"):
        boundary = inputs["permissionsBoundary"]
        aws.call(
            "iam", "put_role_permissions_boundary", RoleName=identity, PermissionsBoundary=boundary
        )
    elif part(role(aws, identity), "PermissionsBoundary"):
        aws.call("iam", "delete_role_permissions_boundary", RoleName=identity)
    actual = from_pairs(aws.pages("iam", "list_role_tags", "Tags", RoleName=identity))
    put, remove = tag_changes(actual, wanted_tags(inputs))
    if put:
        aws.call("iam", "tag_role", RoleName=identity, Tags=pairs(put))
    if remove:
        aws.call("iam", "untag_role", RoleName=identity, TagKeys=remove)


def _read_role(aws: Aws, identity: str, _: Props) -> Props | None:
    found = role(aws, identity)
    if found is None:
        return None
    tags = from_pairs(aws.pages("iam", "list_role_tags", "Tags", RoleName=identity))
    return {
        "arn": found["Arn"],
        "assumeRolePolicy": json.dumps(found["AssumeRolePolicyDocument"]),
        "createDate": found["CreateDate"].isoformat(),
        "description": found.get("Description") or None,
        "maxSessionDuration": found["MaxSessionDuration"],
        "name": found["RoleName"],
        "path": found["Path"],
        "permissionsBoundary": found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn"),
        "uniqueId": found["RoleId"],
        "tagsAll": tags,
    }


def _delete_role(aws: Aws, identity: str, state: Props) -> None:
    if state.get("forceDetachPolicies") and role(aws, identity) is not None:
        attached = aws.pages(
            "iam", "list_attached_role_policies", "AttachedPolicies", RoleName=identity
        )
        for each in list(attached):
            _detach(aws, f"{identity}/{each['PolicyArn']}", state)
        for name in list(aws.pages("iam", "list_role_policies", "PolicyNames", RoleName=identity)):
            _delete_inline(aws, f"{identity}:{name}", state)
    unless_gone(aws, "iam", "delete_role", _GONE, RoleName=identity)


def _attach(aws: Aws, inputs: Props) -> str:
    arn = str(inputs["policyArn"])
    policy = aws.find("iam", "get_policy", _GONE, PolicyArn=arn)
    message = f"Policy {arn} does not exist or is not attachable."
    require(policy, "AttachRolePolicy", "NoSuchEntity", message)
    aws.call("iam", "attach_role_policy", RoleName=inputs["role"], PolicyArn=arn)
    return f"{inputs['role']}/{arn}"


def _read_attachment(aws: Aws, identity: str, _: Props) -> Props | None:
    name, arn = identity.split("/", 1)
    if role(aws, name) is None:
        return None
    attached = aws.pages("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=name)
    if arn not in {each["PolicyArn"] for each in attached}:
        return None
    return {"role": name, "policyArn": arn}


def _detach(aws: Aws, identity: str, _: Props) -> None:
    name, arn = identity.split("/", 1)
    unless_gone(aws, "iam", "detach_role_policy", _GONE, RoleName=name, PolicyArn=arn)


def _create_inline(aws: Aws, inputs: Props) -> str:
    identity = f"{inputs['role']}:{inputs['name']}"
    _settle_inline(aws, identity, inputs)
    return identity


def _settle_inline(aws: Aws, identity: str, inputs: Props) -> None:
    name, policy = identity.split(":", 1)
    document = text(inputs["policy"])
    aws.call("iam", "put_role_policy", RoleName=name, PolicyName=policy, PolicyDocument=document)


def _read_inline(aws: Aws, identity: str, _: Props) -> Props | None:
    name, policy = identity.split(":", 1)
    told = aws.find("iam", "get_role_policy", _GONE, RoleName=name, PolicyName=policy)
    if told is None:
        return None
    return {"role": name, "name": policy, "policy": json.dumps(told["PolicyDocument"])}


def _delete_inline(aws: Aws, identity: str, _: Props) -> None:
    name, policy = identity.split(":", 1)
    unless_gone(aws, "iam", "delete_role_policy", _GONE, RoleName=name, PolicyName=policy)


def _create_profile(aws: Aws, inputs: Props) -> str:
    name = str(inputs["name"])
    tags = pairs(wanted_tags(inputs))
    path = chosen(inputs, {"path": "Path"})
    aws.call("iam", "create_instance_profile", InstanceProfileName=name, Tags=tags, **path)
    return name


def _settle_profile(aws: Aws, identity: str, inputs: Props) -> None:
    profile = aws.call("iam", "get_instance_profile", InstanceProfileName=identity)
    now = [each["RoleName"] for each in profile["InstanceProfile"]["Roles"]]
    both = {"InstanceProfileName": identity}
    for name in now:
        if name != inputs.get("role"):
            aws.call("iam", "remove_role_from_instance_profile", RoleName=name, **both)
    if inputs.get("role") and inputs["role"] not in now:
        aws.call("iam", "add_role_to_instance_profile", RoleName=inputs["role"], **both)
    actual = from_pairs(items(profile["InstanceProfile"], "Tags"))
    put, remove = tag_changes(actual, wanted_tags(inputs))
    if put:
        aws.call("iam", "tag_instance_profile", Tags=pairs(put), **both)
    if remove:
        aws.call("iam", "untag_instance_profile", TagKeys=remove, **both)


def _read_profile(aws: Aws, identity: str, _: Props) -> Props | None:
    told = aws.find("iam", "get_instance_profile", _GONE, InstanceProfileName=identity)
    if told is None:
        return None
    found = told["InstanceProfile"]
    roles = found["Roles"]
    return {
        "arn": found["Arn"],
        "createDate": found["CreateDate"].isoformat(),
        "name": identity,
        "path": found["Path"],
        "role": roles[0]["RoleName"] if roles else None,
        "uniqueId": found["InstanceProfileId"],
        "tagsAll": from_pairs(found.get("Tags") or []),
    }


def _delete_profile(aws: Aws, identity: str, state: Props) -> None:
    both = {"InstanceProfileName": identity}
    if state.get("role"):
        operation = "remove_role_from_instance_profile"
        unless_gone(aws, "iam", operation, _GONE, RoleName=state["role"], **both)
    unless_gone(aws, "iam", "delete_instance_profile", _GONE, **both)


ROLE: Final = AwsKind(
    type="aws:iam/role:Role",
    sdk="iam.Role",
    rules=Rules(
        source="internal/service/iam/role.go",
        replace=("name", "path"),
        update=(
            "assumeRolePolicy",
            "description",
            "maxSessionDuration",
            "permissionsBoundary",
            "forceDetachPolicies",
        ),
        documents=("assumeRolePolicy",),
        unread={"forceDetachPolicies": "a delete detaches every policy first"},
        defaults={"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": False},
        name="name",
        name_limit=64,
    ),
    create=_create_role,
    settle=_settle_role,
    read=_read_role,
    delete=_delete_role,
)
ROLE_POLICY_ATTACHMENT: Final = AwsKind(
    type="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    sdk="iam.RolePolicyAttachment",
    rules=Rules(
        source="internal/service/iam/role_policy_attachment.go",
        replace=("role", "policyArn"),
        tagged=False,
    ),
    create=_attach,
    read=_read_attachment,
    delete=_detach,
)
ROLE_POLICY: Final = AwsKind(
    type="aws:iam/rolePolicy:RolePolicy",
    sdk="iam.RolePolicy",
    rules=Rules(
        source="internal/service/iam/role_policy.go",
        replace=("name", "role"),
        update=("policy",),
        documents=("policy",),
        name="name",
        name_limit=128,
        tagged=False,
    ),
    create=_create_inline,
    settle=_settle_inline,
    read=_read_inline,
    delete=_delete_inline,
)
INSTANCE_PROFILE: Final = AwsKind(
    type="aws:iam/instanceProfile:InstanceProfile",
    sdk="iam.InstanceProfile",
    rules=Rules(
        source="internal/service/iam/instance_profile.go",
        replace=("name", "path"),
        update=("role",),
        defaults={"path": "/"},
        name="name",
        name_limit=128,
    ),
    create=_create_profile,
    settle=_settle_profile,
    read=_read_profile,
    delete=_delete_profile,
)
KINDS: Final = (ROLE, ROLE_POLICY_ATTACHMENT, ROLE_POLICY, INSTANCE_PROFILE)
