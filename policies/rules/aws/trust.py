"""Whom IAM documents let in, and what AWS's own policies are given to."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import leaves
from policies.core.rule import RuleWeight, rule
from policies.core.unknowns import Unknown
from policies.views.aws.iam import DocumentUse, PolicyStatement, documents, requires
from policies.views.aws.resource import AwsPlaced, AwsResource

_CALLER: Final = re.compile(
    r"^(?:aws:(?:principal(?:arn|account|orgid|orgpaths|tag/.+)|source(?:arn|account|vpc|vpce|ip"
    r"|orgid|orgpaths|identity)|userid)|kms:calleraccount|s3:dataaccesspointaccount)$"
)
"""Condition keys that say who may come in where the principal does not."""

_ANYBODY: Final = frozenset({"*", "0.0.0.0/0", "::/0", "arn:aws:iam::*:*"})
"""Values of such a condition that say nothing."""


@rule(
    "aws-policy-name-principals",
    "Every trust policy and every resource policy names who may come in.",
    remedy="name the account, role or service; where it must be `*`, require who calls by a "
    "condition (aws:PrincipalOrgID, aws:SourceArn, aws:SourceAccount)",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "iam"),
)
def name_principals(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """A wildcard means every AWS account in the world, or everybody."""
    for document in documents(resource):
        if document.use is DocumentUse.IDENTITY:
            continue
        for statement in document.statements():
            if statement.allows:
                yield from _principals(statement)


def _principals(statement: PolicyStatement) -> Iterator[Finding]:
    if statement.node["NotPrincipal"].value is not None:
        yield Finding(statement.node["NotPrincipal"].path, "NotPrincipal allows everybody else")
    keys = statement.conditions()
    known = any(
        _CALLER.match(key)
        and requires(keys[key])
        and not _ANYBODY & set(statement.condition_values(key))
        for key in keys
    )
    for kind, principal in statement.principals():
        path = statement.node["Principal"].path
        if "*" in principal and not known:
            yield Finding(path, f"the principal {principal!r} is anybody")
        elif kind == "Federated" and not any(
            key.endswith(":sub")
            and requires(keys[key])
            and not _ANYBODY & set(statement.condition_values(key))
            for key in keys
        ):
            message = f"any identity of {principal!r} may come in: no condition on its subject"
            yield Finding(path, message, remedy="require the subject (...:sub) by a condition")


@rule(
    "aws-role-take-narrow-policies",
    "No role or user takes a managed policy that allows nearly everything.",
    remedy="write a policy with the actions that are needed",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "iam"),
)
def take_narrow_policies(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """A policy that the program makes itself is judged where it is made."""
    resource = placed.resource
    key = "managedPolicyArns" if resource.is_kind("iam.Role") else "policyArn"
    if key == "policyArn" and not resource.is_kind(*_ATTACHMENTS):
        return
    node = resource.body[key]
    made = any(each.is_kind("iam.Policy") for each in placed.stack.sources(resource, key))
    for leaf in leaves(node):
        if isinstance(leaf.value, Unknown):
            if not made:
                message = f"cannot verify the policy, because {leaf.path} is unknown at preview"
                yield Finding(leaf.path, message, Severity.UNKNOWN)
        elif _BROAD.search(str(leaf.value)):
            yield Finding(leaf.path, f"{leaf.value} allows nearly everything")


_ATTACHMENTS: Final = (
    *("iam.RolePolicyAttachment", "iam.UserPolicyAttachment", "iam.GroupPolicyAttachment"),
    "iam.PolicyAttachment",
)
_BROAD: Final = re.compile(
    r":aws:policy/(?:.*/)?(?:AdministratorAccess.*|PowerUserAccess|\w*FullAccess\w*|SystemAdministrator"
    r"|AmazonEC2RoleforSSM)$"
)
"""AWS's own policies that no workload needs whole."""
