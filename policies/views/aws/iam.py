"""IAM documents inside AWS resources: where they stand, and what their statements say."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from policies.core.nodes import Node
from policies.core.unknowns import Unknown, plain
from policies.views.aws.resource import AwsResource


class DocumentUse(StrEnum):
    """What a document is for."""

    IDENTITY = "identity"
    TRUST = "trust"
    RESOURCE = "resource"


_PLACES: Final = {
    "iam.Policy": (("policy", DocumentUse.IDENTITY),),
    "iam.RolePolicy": (("policy", DocumentUse.IDENTITY),),
    "iam.UserPolicy": (("policy", DocumentUse.IDENTITY),),
    "iam.GroupPolicy": (("policy", DocumentUse.IDENTITY),),
    "iam.Role": (("assumeRolePolicy", DocumentUse.TRUST),),
    "s3.BucketPolicy": (("policy", DocumentUse.RESOURCE),),
    "s3.Bucket": (("policy", DocumentUse.RESOURCE),),
    "kms.Key": (("policy", DocumentUse.RESOURCE),),
    "kms.KeyPolicy": (("policy", DocumentUse.RESOURCE),),
    "sns.TopicPolicy": (("policy", DocumentUse.RESOURCE),),
    "sqs.Queue": (("policy", DocumentUse.RESOURCE),),
    "sqs.QueuePolicy": (("policy", DocumentUse.RESOURCE),),
    "ecr.RepositoryPolicy": (("policy", DocumentUse.RESOURCE),),
    "secretsmanager.SecretPolicy": (("policy", DocumentUse.RESOURCE),),
    "efs.FileSystemPolicy": (("policy", DocumentUse.RESOURCE),),
    "cloudwatch.LogResourcePolicy": (("policyDocument", DocumentUse.RESOURCE),),
}
"""Properties that hold documents. The policy of a VPC endpoint is left out: it narrows what goes
through the endpoint, and `*` is what stands there where nothing is narrowed."""

_INLINE: Final = "inlinePolicies"


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """One document: its root, and what it is for. An unreadable one has an unknown root."""

    root: Node
    use: DocumentUse

    def statements(self) -> Iterator["PolicyStatement"]:
        """Yield the statements; a single one may stand without a list."""
        node = self.root["Statement"]
        if isinstance(node.value, dict):
            yield PolicyStatement(node)
        elif isinstance(node.value, list):
            yield from (PolicyStatement(node[index]) for index in range(len(node.value)))


@dataclass(frozen=True, slots=True)
class PolicyStatement:
    """One statement. What is not known is left out here, and told by `aws-policy-be-plain`."""

    node: Node

    @property
    def allows(self) -> bool:
        """Whether it allows: everything that is not known to deny."""
        return self.node["Effect"].value != "Deny"

    def actions(self) -> tuple[str, ...]:
        """Return the action patterns that are known."""
        return _texts(self.node["Action"])

    def resources(self) -> tuple[str, ...]:
        """Return the resource patterns that are known."""
        return _texts(self.node["Resource"])

    def principals(self) -> tuple[tuple[str, str], ...]:
        """Return (kind, principal) pairs; `*` alone is of the kind AWS."""
        node = self.node["Principal"]
        if not isinstance(node.value, dict):
            return tuple(("AWS", text) for text in _texts(node))
        return tuple((kind, text) for kind in node.value for text in _texts(node[kind]))

    def conditions(self) -> dict[str, tuple[str, ...]]:
        """Return the condition keys in lower case, with the operators they stand under."""
        found: dict[str, tuple[str, ...]] = {}
        tests = self.node["Condition"].value
        for operator, keys in (tests if isinstance(tests, dict) else {}).items():
            for key in keys if isinstance(keys, dict) else ():
                lowered = key.lower()
                found[lowered] = (*found.get(lowered, ()), operator)
        return found

    def condition_values(self, key: str) -> tuple[str, ...]:
        """Return the known values that a condition key is held against, its case aside."""
        tests = self.node["Condition"]
        found: list[str] = []
        for operator in tests.value if isinstance(tests.value, dict) else ():
            keys = tests[operator]
            for name in keys.value if isinstance(keys.value, dict) else ():
                if name.lower() == key:
                    found += _texts(keys[name])
        return tuple(found)


def documents(resource: AwsResource) -> Iterator[PolicyDocument]:
    """Yield the documents that stand in a resource."""
    for key, use in _PLACES.get(resource.kind, ()):
        node = resource.body[key]
        if node.value is not None:
            yield PolicyDocument(_read(node), use)
    if resource.is_kind("iam.Role") and isinstance(resource.body[_INLINE].value, list):
        for inline in resource.body[_INLINE].items():
            if inline["policy"].value is not None:
                yield PolicyDocument(_read(inline["policy"]), DocumentUse.IDENTITY)


def _read(node: Node) -> Node:
    """Return a document as data, whether it is given as text or as data."""
    if not isinstance(node.value, str):
        return node
    try:
        return Node(plain(json.loads(node.value), node.path), node.path)
    except ValueError:
        return Node(Unknown(node.path, "since it is not JSON"), node.path)


def _texts(node: Node) -> tuple[str, ...]:
    value = node.value
    if isinstance(value, list):
        return tuple(each for each in value if isinstance(each, str))
    return (value,) if isinstance(value, str) else ()


_EQUALITY: Final = re.compile(r"^(?:forallvalues:|foranyvalue:)?(?!.*not).*(?:equals|like|bool|ip)")


def requires(operators: tuple[str, ...]) -> bool:
    """Whether one of the operators requires something; `...IfExists` lets in what has no key."""
    return any(
        _EQUALITY.match(each.lower()) and not each.lower().endswith("ifexists")
        for each in operators
    )


_WILD: Final = re.compile(r"^[*?]+$")


def is_wide(resource: str) -> bool:
    """Whether a resource pattern names everything, or everything of its kind.

    `*`, `arn:aws:s3:::*`, `arn:aws:iam::111122223333:role/*`. An ARN is
    `arn:partition:service:region:account:resource`, the resource often `kind/name` or `kind:name`.
    """
    if _WILD.match(resource):
        return True
    parts = resource.split(":", 5)
    if len(parts) < 6:
        return False
    service, rest = parts[2], parts[5]
    names = re.split(r"[:/]", rest)
    if service in ("s3", "sqs", "sns", "*") or len(names) == 1:
        return all(_WILD.match(name) for name in names)
    return _WILD.match(names[1]) is not None and _WILD.match(names[-1]) is not None
