"""EKS add-ons, access entries, access policies and pod identities."""

from collections.abc import Iterator
from typing import Any, Final

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import UNKNOWN, Props, items
from sandbox.aws.kinds.eks.cluster import GONE, settle_tags
from sandbox.aws.kinds.eks.values import ACCESS_POLICIES, ADD_ON_VERSION, ADD_ONS
from sandbox.aws.kinds.iam import require_role
from sandbox.aws.kinds.tools import chosen, unless_gone, wanted_tags

_NO_RIGHTS: Final = "whoever asks gets the administrator's token"


def check_addon(inputs: Props) -> Iterator[Finding]:
    """Find versions that are none of AWS's; whether AWS offers this one is not known here."""
    version = inputs.get("addonVersion")
    if version not in (None, UNKNOWN) and not ADD_ON_VERSION.fullmatch(str(version)):
        yield Finding(
            path="addonVersion",
            message="not a version of an add-on as AWS writes them",
            value=shown(version),
            allowed="such as v1.20.4-eksbuild.2",
        )


def _create_addon(aws: Aws, inputs: Props) -> str:
    cluster, name = str(inputs["clusterName"]), str(inputs["addonName"])
    if inputs.get("serviceAccountRoleArn"):
        require_role(aws, str(inputs["serviceAccountRoleArn"]), "CreateAddon")
    given = chosen(inputs, {**_ADDON, "resolveConflictsOnCreate": "resolveConflicts"})
    aws.call(
        "eks",
        "create_addon",
        clusterName=cluster,
        addonName=name,
        tags=wanted_tags(inputs),
        **given,
    )
    return f"{cluster}:{name}"


_ADDON: Final = {
    "addonVersion": "addonVersion",
    "configurationValues": "configurationValues",
    "serviceAccountRoleArn": "serviceAccountRoleArn",
}


def _addon(aws: Aws, identity: str) -> dict[str, Any] | None:
    cluster, name = identity.split(":")
    told = aws.find("eks", "describe_addon", GONE, clusterName=cluster, addonName=name)
    return None if told is None else told["addon"]


def _update_addon(aws: Aws, identity: str, old: Props, new: Props) -> None:
    cluster, name = identity.split(":")
    if any(old.get(each) != new.get(each) for each in _ADDON if each in new):
        given = chosen(new, {**_ADDON, "resolveConflictsOnUpdate": "resolveConflicts"})
        aws.call("eks", "update_addon", clusterName=cluster, addonName=name, **given)
    found = _addon(aws, identity) or {}
    settle_tags(aws, str(found["addonArn"]), found.get("tags") or {}, new)


def _read_addon(aws: Aws, identity: str, _: Props) -> Props | None:
    found = _addon(aws, identity)
    if found is None:
        return None
    return {
        "addonName": found["addonName"],
        "addonVersion": found["addonVersion"],
        "arn": found["addonArn"],
        "clusterName": found["clusterName"],
        "configurationValues": found.get("configurationValues"),
        "createdAt": found["createdAt"].isoformat(),
        "modifiedAt": found["modifiedAt"].isoformat(),
        "serviceAccountRoleArn": found.get("serviceAccountRoleArn"),
        "tagsAll": found["tags"],
    }


def _delete_addon(aws: Aws, identity: str, _: Props) -> None:
    cluster, name = identity.split(":")
    unless_gone(aws, "eks", "delete_addon", GONE, clusterName=cluster, addonName=name)


def _both(identity: str) -> dict[str, str]:
    cluster, _, principal = identity.partition(":")
    return {"clusterName": cluster, "principalArn": principal}


def _create_entry(aws: Aws, inputs: Props) -> str:
    names = {
        "clusterName": "clusterName",
        "principalArn": "principalArn",
        "kubernetesGroups": "kubernetesGroups",
        "type": "type",
        "userName": "username",
    }
    aws.call("eks", "create_access_entry", tags=wanted_tags(inputs), **chosen(inputs, names))
    return f"{inputs['clusterName']}:{inputs['principalArn']}"


def _entry(aws: Aws, identity: str) -> dict[str, Any] | None:
    told = aws.find("eks", "describe_access_entry", GONE, **_both(identity))
    return None if told is None else told["accessEntry"]


def _update_entry(aws: Aws, identity: str, _old: Props, new: Props) -> None:
    names = {"userName": "username"}
    groups = {"kubernetesGroups": sorted(new.get("kubernetesGroups") or ())}
    aws.call("eks", "update_access_entry", **_both(identity), **groups, **chosen(new, names))
    found = _entry(aws, identity) or {}
    settle_tags(aws, str(found["accessEntryArn"]), found.get("tags") or {}, new)


def _read_entry(aws: Aws, identity: str, _: Props) -> Props | None:
    found = _entry(aws, identity)
    if found is None:
        return None
    return {
        "accessEntryArn": found["accessEntryArn"],
        "clusterName": found["clusterName"],
        "createdAt": found["createdAt"].isoformat(),
        "kubernetesGroups": sorted(found["kubernetesGroups"]),
        "modifiedAt": found["modifiedAt"].isoformat(),
        "principalArn": found["principalArn"],
        "type": found["type"],
        "userName": found["username"],
        "tagsAll": found["tags"],
    }


def _delete_entry(aws: Aws, identity: str, _: Props) -> None:
    unless_gone(aws, "eks", "delete_access_entry", GONE, **_both(identity))


def _associate(aws: Aws, inputs: Props) -> str:
    scope = inputs["accessScope"]
    cluster, principal = inputs["clusterName"], inputs["principalArn"]
    aws.call(
        "eks",
        "associate_access_policy",
        clusterName=cluster,
        principalArn=principal,
        policyArn=inputs["policyArn"],
        accessScope={"type": scope["type"], "namespaces": sorted(scope.get("namespaces") or ())},
    )
    return f"{cluster}#{principal}#{inputs['policyArn']}"


def _read_association(aws: Aws, identity: str, _: Props) -> Props | None:
    cluster, principal, policy = identity.split("#")
    who = {"clusterName": cluster, "principalArn": principal}
    told = aws.find("eks", "list_associated_access_policies", GONE, **who)
    for each in items(told, "associatedAccessPolicies"):
        if each["policyArn"] == policy:
            scope = each["accessScope"]
            return {
                **who,
                "policyArn": policy,
                "accessScope": {
                    "type": scope["type"],
                    **chosen(scope, {"namespaces": "namespaces"}),
                },
                "associatedAt": each["associatedAt"].isoformat(),
                "modifiedAt": each["modifiedAt"].isoformat(),
            }
    return None


def _disassociate(aws: Aws, identity: str, _: Props) -> None:
    cluster, principal, policy = identity.split("#")
    who = {"clusterName": cluster, "principalArn": principal, "policyArn": policy}
    unless_gone(aws, "eks", "disassociate_access_policy", GONE, **who)


def _create_identity(aws: Aws, inputs: Props) -> str:
    require_role(aws, str(inputs["roleArn"]), "CreatePodIdentityAssociation")
    names = {
        "clusterName": "clusterName",
        "namespace": "namespace",
        "serviceAccount": "serviceAccount",
        "roleArn": "roleArn",
    }
    tags = wanted_tags(inputs)
    made = aws.call("eks", "create_pod_identity_association", tags=tags, **chosen(inputs, names))
    return str(made["association"]["associationId"])


def _identity(aws: Aws, identity: str, state: Props) -> dict[str, Any] | None:
    which = {"clusterName": state["clusterName"], "associationId": identity}
    told = aws.find("eks", "describe_pod_identity_association", GONE, **which)
    return None if told is None else told["association"]


def _update_identity(aws: Aws, identity: str, old: Props, new: Props) -> None:
    if old.get("roleArn") != new["roleArn"]:
        require_role(aws, str(new["roleArn"]), "UpdatePodIdentityAssociation")
        aws.call(
            "eks",
            "update_pod_identity_association",
            clusterName=new["clusterName"],
            associationId=identity,
            roleArn=new["roleArn"],
        )
    found = _identity(aws, identity, new) or {}
    settle_tags(aws, str(found["associationArn"]), found.get("tags") or {}, new)


def _read_identity(aws: Aws, identity: str, known: Props) -> Props | None:
    found = _identity(aws, identity, known)
    if found is None:
        return None
    return {
        "associationArn": found["associationArn"],
        "associationId": identity,
        "clusterName": found["clusterName"],
        "namespace": found["namespace"],
        "roleArn": found["roleArn"],
        "serviceAccount": found["serviceAccount"],
        "tagsAll": found["tags"],
    }


def _delete_identity(aws: Aws, identity: str, state: Props) -> None:
    which = {"clusterName": state["clusterName"], "associationId": identity}
    unless_gone(aws, "eks", "delete_pod_identity_association", GONE, **which)


ADDON: Final = AwsKind(
    type="aws:eks/addon:Addon",
    sdk="eks.Addon",
    rules=Rules(
        source="internal/service/eks/addon.go",
        replace=("addonName", "clusterName"),
        update=(
            "addonVersion",
            "configurationValues",
            "resolveConflictsOnCreate",
            "resolveConflictsOnUpdate",
            "serviceAccountRoleArn",
        ),
        documents=("configurationValues",),
        unread=dict.fromkeys(
            ("resolveConflictsOnCreate", "resolveConflictsOnUpdate"), "nothing: no API tells it"
        ),
        inert=dict.fromkeys(
            (
                "addonVersion",
                "configurationValues",
                "resolveConflictsOnCreate",
                "resolveConflictsOnUpdate",
            ),
            "nothing of an add-on runs here; of a version only its form is looked at",
        ),
        enums={
            "addonName": ADD_ONS,
            "resolveConflictsOnCreate": ("NONE", "OVERWRITE"),
            "resolveConflictsOnUpdate": ("NONE", "OVERWRITE", "PRESERVE"),
        },
    ),
    create=_create_addon,
    update=_update_addon,
    read=_read_addon,
    delete=_delete_addon,
    check=check_addon,
)
ACCESS_ENTRY: Final = AwsKind(
    type="aws:eks/accessEntry:AccessEntry",
    sdk="eks.AccessEntry",
    rules=Rules(
        source="internal/service/eks/access_entry.go",
        replace=("clusterName", "principalArn", "type"),
        update=("kubernetesGroups", "userName"),
        sets=("kubernetesGroups",),
        inert=dict.fromkeys(("kubernetesGroups", "type", "userName"), _NO_RIGHTS),
        defaults={"type": "STANDARD"},
        enums={
            "type": ("STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "EC2", "HYBRID_LINUX")
        },
    ),
    create=_create_entry,
    update=_update_entry,
    read=_read_entry,
    delete=_delete_entry,
)
ACCESS_POLICY_ASSOCIATION: Final = AwsKind(
    type="aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    sdk="eks.AccessPolicyAssociation",
    rules=Rules(
        source="internal/service/eks/access_policy_association.go",
        replace=(
            "accessScope.type",
            "accessScope.namespaces",
            "clusterName",
            "policyArn",
            "principalArn",
        ),
        sets=("accessScope.namespaces",),
        inert=dict.fromkeys(("accessScope.namespaces", "accessScope.type"), _NO_RIGHTS),
        enums={
            "accessScope.type": ("cluster", "namespace"),
            "policyArn": tuple(sorted(ACCESS_POLICIES)),
        },
        tagged=False,
    ),
    create=_associate,
    read=_read_association,
    delete=_disassociate,
)
POD_IDENTITY_ASSOCIATION: Final = AwsKind(
    type="aws:eks/podIdentityAssociation:PodIdentityAssociation",
    sdk="eks.PodIdentityAssociation",
    rules=Rules(
        source="internal/service/eks/pod_identity_association.go",
        replace=("clusterName", "namespace", "serviceAccount"),
        update=("roleArn",),
    ),
    create=_create_identity,
    update=_update_identity,
    read=_read_identity,
    delete=_delete_identity,
)
KINDS: Final = (ADDON, ACCESS_ENTRY, ACCESS_POLICY_ASSOCIATION, POD_IDENTITY_ASSOCIATION)
