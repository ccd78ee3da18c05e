"""What every resource type of the stand-in is made of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from models.core.findings import Finding
from sandbox.aws.core.api import Aws
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props


def nothing_to_check(_: Props) -> Iterator[Finding]:
    """Find no problem."""
    yield from ()


def nothing_to_do(_aws: Aws, _identity: str, _inputs: Props) -> None:
    """Leave a resource as its creation made it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsKind:
    """One resource type.

    `type` is its Pulumi token, `sdk` its class in pulumi_aws ("ec2.Vpc"). `create` makes it and
    returns its id as soon as there is one; `settle` brings it into the asked-for state and may be
    repeated; `update` gets the old state and the new inputs; `read` returns all properties, tags as
    `tagsAll`, or None where AWS says that it does not exist; `delete` ends well where it is gone.
    `check` looks at what only this type knows.
    """

    type: str
    sdk: str
    rules: Rules
    create: Callable[[Aws, Props], str]
    read: Callable[[Aws, str, Props], Props | None]
    delete: Callable[[Aws, str, Props], None]
    update: Callable[[Aws, str, Props, Props], None] | None = None
    settle: Callable[[Aws, str, Props], None] = nothing_to_do
    check: Callable[[Props], Iterator[Finding]] = nothing_to_check
