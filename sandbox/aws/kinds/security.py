"""Security groups and their rules."""

from functools import partial
from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, part
from sandbox.aws.kinds.listed import Listed
from sandbox.aws.kinds.tools import (
    chosen,
    ec2_tags,
    require,
    settle_ec2_tags,
    specification,
    unless_gone,
)

_NO_GROUP: Final = ("InvalidGroup.NotFound",)
_NO_RULE: Final = ("InvalidSecurityGroupRuleId.NotFound",)
_RULE: Final = Listed(noun="SecurityGroupRule", gone=_NO_RULE)
GROUP: Final = Listed(
    noun="SecurityGroup",
    gone=_NO_GROUP,
    creates=("description", "vpcId"),
    reads=("description", "vpcId"),
    more=lambda _aws, _identity, described: {
        "name": described["GroupName"],
        "egress": [],
        "ingress": [],
    },
    key="GroupId",
)


def _create_group(aws: Aws, inputs: Props) -> str:
    identity = GROUP.make(aws, inputs, GroupName=inputs["name"])
    # EC2 lets a new group out to everywhere; the Terraform provider takes that away.
    _revoke_all(aws, identity, egress=True)
    return identity


def _rules_of(aws: Aws, group: str) -> list[dict[str, Any]]:
    filters = [{"Name": "group-id", "Values": [group]}]
    return list(
        aws.pages("ec2", "describe_security_group_rules", "SecurityGroupRules", Filters=filters)
    )


def _revoke_all(aws: Aws, group: str, *, egress: bool) -> None:
    known = [each for each in _rules_of(aws, group) if each["IsEgress"] is egress]
    if known:
        operation = f"revoke_security_group_{'egress' if egress else 'ingress'}"
        ids = [each["SecurityGroupRuleId"] for each in known]
        aws.call("ec2", operation, GroupId=group, SecurityGroupRuleIds=ids)


def _users(aws: Aws, identity: str) -> list[str]:
    """Return what still uses a group: moto would delete it all the same."""
    filters = [{"Name": "group-id", "Values": [identity]}]
    interfaces = aws.call("ec2", "describe_network_interfaces", Filters=filters)
    used = [each["NetworkInterfaceId"] for each in interfaces["NetworkInterfaces"]]
    for each in aws.call("ec2", "describe_security_group_rules")["SecurityGroupRules"]:
        other = part(each, "ReferencedGroupInfo").get("GroupId")
        if other == identity and each["GroupId"] != identity:
            used.append(each["SecurityGroupRuleId"])
    return used


def _delete_group(aws: Aws, identity: str, state: Props) -> None:
    if state.get("revokeRulesOnDelete") and GROUP.find(aws, identity) is not None:
        _revoke_all(aws, identity, egress=True)
        _revoke_all(aws, identity, egress=False)
    if used := _users(aws, identity):
        message = f"resource {identity} has a dependent object ({', '.join(used)})"
        raise AwsError("DeleteSecurityGroup", "DependencyViolation", message)
    GROUP.delete(aws, identity, state)


def _default_of(aws: Aws, inputs: Props) -> str:
    filters = [
        {"Name": "group-name", "Values": ["default"]},
        {"Name": "vpc-id", "Values": [inputs["vpcId"]]},
    ]
    listed = aws.call("ec2", "describe_security_groups", Filters=filters)["SecurityGroups"]
    message = f"The vpc ID '{inputs['vpcId']}' does not exist"
    require(listed, "DescribeSecurityGroups", "InvalidVpcID.NotFound", message)
    return str(listed[0]["GroupId"])


def _close(aws: Aws, identity: str, inputs: Props) -> None:
    _revoke_all(aws, identity, egress=True)
    _revoke_all(aws, identity, egress=False)
    settle_ec2_tags(aws, identity, inputs)


def _read_default(aws: Aws, identity: str, known: Props) -> Props | None:
    found = GROUP.read(aws, identity, known)
    if found is None:
        return None
    open_rules = _rules_of(aws, identity)
    told = {
        direction: [_inline(each) for each in open_rules if each["IsEgress"] is egress]
        for direction, egress in (("egress", True), ("ingress", False))
    }
    return {**found, **told}


def _inline(rule: dict[str, Any]) -> Props:
    names = {"FromPort": "fromPort", "ToPort": "toPort", "IpProtocol": "protocol"}
    found = {name: rule[api] for api, name in names.items() if api in rule}
    return {**found, "cidrBlocks": [rule["CidrIpv4"]] if "CidrIpv4" in rule else []}


def _leave(_aws: Aws, _identity: str, _: Props) -> None:
    """A VPC's default group cannot be deleted: it is only no longer looked after."""


_SOURCES: Final = ("cidrIpv4", "cidrIpv6", "referencedSecurityGroupId")
_RULE_NAMES: Final = {"ipProtocol": "IpProtocol", "fromPort": "FromPort", "toPort": "ToPort"}


def _permission(inputs: Props) -> dict[str, Any]:
    told = {"Description": inputs["description"]} if inputs.get("description") else {}
    sources: dict[str, Any] = {}
    if inputs.get("cidrIpv4"):
        sources["IpRanges"] = [{"CidrIp": inputs["cidrIpv4"], **told}]
    if inputs.get("cidrIpv6"):
        sources["Ipv6Ranges"] = [{"CidrIpv6": inputs["cidrIpv6"], **told}]
    if inputs.get("referencedSecurityGroupId"):
        group = {"GroupId": inputs["referencedSecurityGroupId"]}
        sources["UserIdGroupPairs"] = [{**group, **told}]
    return {**chosen(inputs, _RULE_NAMES), **sources}


def _create_rule(direction: str, aws: Aws, inputs: Props) -> str:
    group = str(inputs["securityGroupId"])
    for each in {group, str(inputs.get("referencedSecurityGroupId") or group)}:
        operation = f"AuthorizeSecurityGroup{direction.title()}"
        GROUP.require(aws, each, operation, noun="security group")
    made = aws.call(
        "ec2",
        f"authorize_security_group_{direction}",
        GroupId=group,
        IpPermissions=[_permission(inputs)],
        TagSpecifications=specification("security-group-rule", inputs),
    )
    return str(made["SecurityGroupRules"][0]["SecurityGroupRuleId"])


def _update_rule(aws: Aws, identity: str, _old: Props, new: Props) -> None:
    names = {
        **_RULE_NAMES,
        "cidrIpv4": "CidrIpv4",
        "cidrIpv6": "CidrIpv6",
        "description": "Description",
        "referencedSecurityGroupId": "ReferencedGroupId",
    }
    changed = {"SecurityGroupRuleId": identity, "SecurityGroupRule": chosen(new, names)}
    group = new["securityGroupId"]
    aws.call("ec2", "modify_security_group_rules", GroupId=group, SecurityGroupRules=[changed])


def _read_rule(aws: Aws, identity: str, known: Props) -> Props | None:
    found = _RULE.find(aws, identity)
    if found is None:
        return None
    read: Props = {
        "arn": aws.arn("ec2", f"security-group-rule/{identity}"),
        "cidrIpv4": found.get("CidrIpv4"),
        "cidrIpv6": found.get("CidrIpv6"),
        "ipProtocol": found["IpProtocol"],
        "referencedSecurityGroupId": part(found, "ReferencedGroupInfo").get("GroupId"),
        "securityGroupId": found["GroupId"],
        "securityGroupRuleId": identity,
        "tagsAll": ec2_tags(aws, identity),
    }
    if found["IpProtocol"] != "-1":
        read |= {"fromPort": found.get("FromPort"), "toPort": found.get("ToPort")}
    if "Description" in found or "cidrIpv4" in known:
        # moto keeps descriptions of address ranges only.
        read["description"] = found.get("Description")
    return read


def _delete_rule(direction: str, aws: Aws, identity: str, state: Props) -> None:
    operation = f"revoke_security_group_{direction}"
    rest = {"GroupId": state["securityGroupId"], "SecurityGroupRuleIds": [identity]}
    # The last is moto's answer to the id of a rule that is gone.
    gone = (*_NO_RULE, *_NO_GROUP, "InvalidPermission.NotFound")
    unless_gone(aws, "ec2", operation, gone, **rest)


def _rule_kind(direction: str) -> AwsKind:
    name = f"SecurityGroup{direction.title()}Rule"
    return AwsKind(
        type=f"aws:vpc/{name[0].lower()}{name[1:]}:{name}",
        sdk=f"vpc.{name}",
        rules=Rules(
            # The egress rule has the same schema.
            source="internal/service/ec2/vpc_security_group_ingress_rule.go",
            replace=("securityGroupId",),
            update=(
                "cidrIpv4",
                "cidrIpv6",
                "description",
                "fromPort",
                "ipProtocol",
                "referencedSecurityGroupId",
                "toPort",
            ),
            exclusive=(_SOURCES,),
            alternatives=_SOURCES,
        ),
        create=partial(_create_rule, direction),
        settle=settle_ec2_tags,
        update=_update_rule,
        read=_read_rule,
        delete=partial(_delete_rule, direction),
    )


SECURITY_GROUP: Final = AwsKind(
    type="aws:ec2/securityGroup:SecurityGroup",
    sdk="ec2.SecurityGroup",
    rules=Rules(
        source="internal/service/ec2/vpc_security_group.go",
        replace=("description", "name", "vpcId"),
        update=("revokeRulesOnDelete",),
        unread={"revokeRulesOnDelete": "a delete takes the group's rules away first"},
        defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        name="name",
    ),
    create=_create_group,
    settle=settle_ec2_tags,
    read=GROUP.read,
    delete=_delete_group,
)
DEFAULT_SECURITY_GROUP: Final = AwsKind(
    type="aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    sdk="ec2.DefaultSecurityGroup",
    rules=Rules(
        source="internal/service/ec2/vpc_default_security_group.go",
        replace=("vpcId",),
        update=("revokeRulesOnDelete",),
        unread={"revokeRulesOnDelete": "nothing: no API tells it"},
        inert={"revokeRulesOnDelete": "a VPC's own group is never deleted, there as here"},
        defaults={"revokeRulesOnDelete": False},
    ),
    create=_default_of,
    settle=_close,
    read=_read_default,
    delete=_leave,
)
KINDS: Final = (
    SECURITY_GROUP,
    DEFAULT_SECURITY_GROUP,
    _rule_kind("ingress"),
    _rule_kind("egress"),
)
