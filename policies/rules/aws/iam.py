"""IAM documents: least privilege (whom they let in is in `trust.py`).

Actions, their levels and whether they can be limited to resources come from AWS's own list
(`policies/views/aws/iam_actions.py`). Only `Allow` counts: what a `Deny` takes back is not worked
out, so a document that needs one to be narrow is refused.
"""

import re
from collections.abc import Iterator
from typing import Final

from catalog.readers.tables import iam_risks
from models.core.findings import Finding, Severity
from models.facts.rule_tables import PolicyRisk
from policies.core.context import Context
from policies.core.nodes import Node, leaves
from policies.core.rule import RuleWeight, rule
from policies.core.unknowns import Unknown
from policies.views.aws import iam_actions
from policies.views.aws.iam import (
    DocumentUse,
    PolicyDocument,
    PolicyStatement,
    documents,
    is_wide,
    requires,
)
from policies.views.aws.resource import AwsResource

_NARROWING: Final = re.compile(
    r"^(?:aws:(?:resourcetag/.+|requesttag/.+|resourceaccount|resourceorgid|resourceorgpaths)"
    r"|[a-z0-9-]+:(?:resourcetag/.+|resourceaccount|cluster|vpc)"
    r"|iam:passedtoservice|kms:grantisforawsresource|kms:viaservice"
    r"|ec2:(?:parentsnapshot|parentvolume|createaction))$"
)
"""Condition keys that limit a statement to resources, tags or services of one's own."""


@rule(
    "aws-policy-be-plain",
    "Every IAM document can be read before it is applied.",
    remedy="write names and ARNs as plain values (the account and the names are known), not as "
    "outputs of other resources",
    tags=("aws", "iam"),
)
def be_plain(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """What is not known could be anything, a `*` too."""
    for document in documents(resource):
        for path, why in _hidden(document):
            message = f"cannot verify the document, because {path} is unknown {why}"
            yield Finding(path, message, Severity.UNKNOWN)
        if document.root["Version"].value not in ("2012-10-17", None):
            yield Finding(document.root["Version"].path, "the version is not 2012-10-17")


def _hidden(document: PolicyDocument) -> Iterator[tuple[str, str]]:
    """Yield what is unknown and could hide a breach."""
    for node in (document.root, document.root["Statement"]):
        if isinstance(node.value, Unknown):
            yield node.value.path, node.value.why
            return
    for statement in document.statements():
        for key in ("Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource"):
            yield from _unknowns(statement.node[key])
        yield from _unknowns(statement.node["NotResource"])
        if _needs_condition(statement):
            yield from _unknowns(statement.node["Condition"])


def _unknowns(node: Node) -> Iterator[tuple[str, str]]:
    for leaf in leaves(node):
        if isinstance(leaf.value, Unknown):
            yield leaf.value.path, leaf.value.why


def _needs_condition(statement: PolicyStatement) -> bool:
    """Whether only a condition makes the statement narrow: then its values matter."""
    principals = statement.principals()
    return any(map(is_wide, statement.resources())) or any(
        "*" in principal or kind == "Federated" for kind, principal in principals
    )


@rule(
    "aws-policy-name-known-actions",
    "Every action in an IAM document exists.",
    remedy="write an action of AWS's service authorization reference",
    tags=("aws", "iam"),
)
def name_known_actions(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """A misspelt action allows nothing, and what needs it fails at run time."""
    for document in documents(resource):
        for statement in document.statements():
            for action in statement.actions():
                if _everything(action) or iam_actions.matching(action):
                    continue
                path = statement.node["Action"].path
                yield Finding(path, f"{action!r} is not an action that AWS has")


@rule(
    "aws-policy-list-actions",
    "No IAM document allows whole services, or everything but a few.",
    remedy="list the actions that are needed; a wildcard may stand for reading ones only",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "iam"),
)
def list_actions(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """What a service gets tomorrow would be allowed as well."""
    for document in _of_use(resource, DocumentUse.IDENTITY):
        for statement in filter(_allows, document.statements()):
            for key in ("NotAction", "NotResource"):
                if statement.node[key].value is not None:
                    yield Finding(statement.node[key].path, f"{key} allows everything else")
            for action in statement.actions():
                yield from _wildcard(statement, action)


def _wildcard(statement: PolicyStatement, action: str) -> Iterator[Finding]:
    path = statement.node["Action"].path
    if _everything(action):
        yield Finding(path, f"{action!r} allows every action")
        return
    if "*" not in action and "?" not in action:
        return
    changing = [
        each
        for each in iam_actions.matching(action)
        if iam_actions.level(each) not in iam_actions.READING
    ]
    if changing:
        yield Finding(path, f"{action!r} allows {_some(changing)}, which do more than read")


@rule(
    "aws-policy-limit-resources",
    "Every IAM document limits its actions to resources, where AWS can limit them.",
    remedy="name the resources' ARNs, or require their tags by a condition (aws:ResourceTag/...); "
    "keep actions that take no resource in a statement of their own",
    tags=("aws", "iam"),
)
def limit_resources(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Least privilege: another team's resources in the account are none of ours."""
    for document in _of_use(resource, DocumentUse.IDENTITY):
        for statement in filter(_allows, document.statements()):
            wide = [each for each in statement.resources() if is_wide(each)]
            if not wide or _narrowed(statement):
                continue
            limitable = [
                each for each in _all_actions(statement) if iam_actions.takes_resources(each)
            ]
            if limitable:
                yield Finding(
                    statement.node["Resource"].path,
                    f"{wide[0]!r} stands where {_some(limitable)} can be limited",
                )


@rule(
    "aws-policy-escalate-nothing",
    "No IAM document lets its holder give itself more.",
    remedy="limit the action to named roles, policies or functions, or leave it out; for "
    "iam:PassRole name the role and the service (iam:PassedToService)",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "iam"),
)
def escalate_nothing(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Known ways from few rights to all, where they are not limited to named resources."""
    for document in _of_use(resource, DocumentUse.IDENTITY):
        yield from _methods(
            document, iam_risks().escalations, "its holder can get further rights: "
        )


@rule(
    "aws-policy-manage-no-permissions",
    "No IAM document manages permissions of resources that it does not name.",
    remedy="name the resources' ARNs, or require their tags by a condition",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "iam"),
)
def manage_no_permissions(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Who may write a bucket's or a key's policy can open it to everybody."""
    for document in _of_use(resource, DocumentUse.IDENTITY):
        for statement in filter(_allows, document.statements()):
            if not any(map(is_wide, statement.resources())) or _narrowed(statement):
                continue
            managing = [
                each
                for each in _all_actions(statement)
                if iam_actions.level(each) == iam_actions.MANAGING
                and iam_actions.takes_resources(each)
            ]
            if managing:
                path = statement.node["Action"].path
                yield Finding(path, f"{_some(managing)} on resources that are not named")


@rule(
    "aws-policy-expose-no-data",
    "No IAM document reads data or secrets of resources that it does not name.",
    remedy="name the buckets, parameters, secrets, tables or keys",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "iam"),
)
def expose_no_data(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """One stolen credential would carry every team's data out."""
    for document in _of_use(resource, DocumentUse.IDENTITY):
        yield from _methods(document, iam_risks().data, "reads whatever there is: ")


def _methods(
    document: PolicyDocument, methods: tuple[PolicyRisk, ...], why: str
) -> Iterator[Finding]:
    """Yield methods whose every action the document allows without naming resources."""
    allowed: dict[str, Node] = {}
    for statement in filter(_allows, document.statements()):
        if not any(map(is_wide, statement.resources())) or _narrowed(statement):
            continue
        for action in _all_actions(statement):
            allowed.setdefault(action.lower(), statement.node["Action"])
    for method in methods:
        if all(action.lower() in allowed for action in method.actions):
            path = allowed[method.actions[0].lower()].path
            yield Finding(path, f"{why}{' with '.join(method.actions)} ({method.what})")


def _of_use(resource: AwsResource, use: DocumentUse) -> Iterator[PolicyDocument]:
    return (each for each in documents(resource) if each.use is use)


def _allows(statement: PolicyStatement) -> bool:
    return statement.allows


def _everything(action: str) -> bool:
    """Whether a pattern names whole services: `*`, `*:*`, `s3:*`."""
    service, _, name = action.partition(":")
    return set(action) <= {"*", ":", "?"} or "*" in service or set(name) == {"*"}


def _all_actions(statement: PolicyStatement) -> list[str]:
    """Return every action that the patterns name, in AWS's spelling; `*` alone is left out."""
    return [each for pattern in statement.actions() for each in iam_actions.matching(pattern)]


def _narrowed(statement: PolicyStatement) -> bool:
    """Whether a condition limits what the statement is about; a `*` as value limits nothing."""
    keys = statement.conditions()
    return any(
        _NARROWING.match(key) and requires(keys[key]) and "*" not in statement.condition_values(key)
        for key in keys
    )


def _some(actions: list[str]) -> str:
    shown = ", ".join(actions[:3])
    return shown if len(actions) <= 3 else f"{shown} and {len(actions) - 3} more"
