"""What EC2 makes, lists by its id and deletes, as rows: operations are named after the noun."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore import xform_name

from sandbox.aws.core.api import Aws
from sandbox.aws.core.values import Props
from sandbox.aws.kinds.tools import chosen, ec2_tags, one, require, specification, unless_gone


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One kind of EC2 object.

    `noun` names it in operations and answers ("RouteTable": create_route_table, RouteTables).
    `gone`: EC2's codes for one that does not exist. `creates`: properties that its creation takes,
    `reads`: those that its description has, each under the same name with a capital letter.
    `more`: outputs that are found in another way.
    `key` and `tag`: the name of its id and of its tags' target, where they are not the noun's.
    """

    noun: str
    gone: tuple[str, ...]
    creates: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    more: Callable[[Aws, str, Props], Props] | None = None
    key: str | None = None
    tag: str | None = None

    def make(self, aws: Aws, inputs: Props, **rest: Any) -> str:
        """Create one and return its id."""
        answer = aws.call(
            "ec2",
            xform_name(f"Create{self.noun}"),
            TagSpecifications=specification(self._target, inputs),
            **chosen(inputs, {name: _api(name) for name in self.creates}),
            **rest,
        )
        return str(answer.get(self.noun, answer)[self._key])

    def find(self, aws: Aws, identity: str) -> dict[str, Any] | None:
        """Return its description; None where EC2 says that it does not exist."""
        listing = (xform_name(f"Describe{self.noun}s"), f"{self.noun}s")
        return one(aws, *listing, self.gone, **{f"{self._key}s": [identity]})

    def require(
        self, aws: Aws, identity: str, operation: str, code: str | None = None, *, noun: str
    ) -> None:
        """Raise what EC2 says of an operation that refers to one that does not exist."""
        message = f"The {noun} '{identity}' does not exist"
        require(self.find(aws, identity), operation, code or self.gone[0], message)

    def read(self, aws: Aws, identity: str, _: Props) -> Props | None:
        """Return its properties; None where EC2 says that it does not exist."""
        described = self.find(aws, identity)
        if described is None:
            return None
        return {
            "arn": aws.arn("ec2", f"{self._target}/{identity}"),
            "tagsAll": ec2_tags(aws, identity),
            "ownerId": aws.account,
            **{name: described[_api(name)] for name in self.reads},
            **(self.more(aws, identity, described) if self.more else {}),
        }

    def delete(self, aws: Aws, identity: str, _: Props) -> None:
        """Delete one; what is gone already is no error."""
        rest = {self._key: identity}
        unless_gone(aws, "ec2", xform_name(f"Delete{self.noun}"), self.gone, **rest)

    @property
    def _key(self) -> str:
        return self.key or f"{self.noun}Id"

    @property
    def _target(self) -> str:
        return self.tag or xform_name(self.noun, "-")


def _api(name: str) -> str:
    return name[0].upper() + name[1:]
