"""A view into plain data that knows where it is, and refuses to guess.

Following keys never fails: what is absent reads as absent. Reading a value raises
`UnknownFieldError` where it is unknown and `UnreadableFieldError` where it has another shape; a
`Rule` turns both into findings, so a rule cannot forget them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from policies.core.unknowns import Plain, Unknown, joined


class UnknownFieldError(Exception):
    """A rule needs a value that is not known."""

    def __init__(self, unknown: Unknown) -> None:
        """Keep which one."""
        self.unknown = unknown
        super().__init__(f"{unknown.path} is unknown {unknown.why}")


class UnreadableFieldError(Exception):
    """A field has another shape than Kubernetes gives it."""

    def __init__(self, path: str, expected: str) -> None:
        """Keep where, and what it should be."""
        self.path = path
        self.expected = expected
        super().__init__(f"{path} must be {expected}")


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its path."""

    value: Plain
    path: str = ""

    def __getitem__(self, key: str | int) -> "Node":
        """Return a member; absent (None) where there is none, unknown where this is unknown."""
        value = self.value
        if isinstance(value, Unknown):
            return self
        path = joined(self.path, key)
        if isinstance(key, str):
            return Node(value.get(key) if isinstance(value, dict) else None, path)
        if isinstance(value, list) and key < len(value):
            return Node(value[key], path)
        return Node(None, path)

    def at(self, *keys: str | int) -> "Node":
        """Return the node at the end of several keys."""
        node = self
        for key in keys:
            node = node[key]
        return node

    @property
    def unknown(self) -> bool:
        """Whether the value itself is unknown; asking does not raise."""
        return isinstance(self.value, Unknown)

    @property
    def present(self) -> bool:
        """Whether there is a value other than null."""
        return self._known() is not None

    def _known(self) -> Plain:
        if isinstance(self.value, Unknown):
            raise UnknownFieldError(self.value)
        return self.value

    def items(self) -> Iterator["Node"]:
        """Yield the members of a list; nothing where it is absent."""
        value = self._known()
        if value is None:
            return
        if not isinstance(value, list):
            raise UnreadableFieldError(self.path, "a list")
        for index in range(len(value)):
            yield self[index]

    def pairs(self) -> Iterator[tuple[str, "Node"]]:
        """Yield the members of a mapping; nothing where it is absent."""
        value = self._known()
        if value is None:
            return
        if not isinstance(value, dict):
            raise UnreadableFieldError(self.path, "a mapping")
        for key in value:
            yield key, self[key]

    def text(self) -> str | None:
        """Return a scalar as text; whole numbers without a point."""
        value = self._known()
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            whole = math.isfinite(value) and value == int(value)
            return str(int(value)) if whole else repr(value)
        raise UnreadableFieldError(self.path, "a single value")

    def number(self) -> float | None:
        """Return a number, also where it is written as text."""
        text = self.text()
        if text is None:
            return None
        try:
            number = float(text)
        except (ValueError, OverflowError):
            number = math.inf
        if not math.isfinite(number):
            raise UnreadableFieldError(self.path, "a number")
        return number

    def integer(self, default: int = 0) -> int:
        """Return a whole number, or the default where it is absent."""
        number = self.number()
        return default if number is None else int(number)

    def flag(self) -> bool | None:
        """Return a switch; text such as "True" counts as what it says."""
        text = self.text()
        if text is None:
            return None
        if text.strip().lower() in ("true", "false", "yes", "no", "on", "off", "1", "0"):
            return text.strip().lower() in ("true", "yes", "on", "1")
        raise UnreadableFieldError(self.path, "true or false")

    def strings(self) -> dict[str, str]:
        """Return a mapping of text to text, such as labels."""
        return {key: partly_known(node) or "" for key, node in self.pairs()}

    def words(self) -> list[str]:
        """Return a list of text."""
        return [node.text() or "" for node in self.items()]


def partly_known(node: Node) -> str | None:
    """Return a scalar as text; of a file's placeholder what stands around it, without raising."""
    value = node.value
    return value.text if isinstance(value, Unknown) and value.text else node.text()


def leaves(node: Node) -> Iterator[Node]:
    """Yield every scalar and every unknown below a node, without raising."""
    value = node.value
    if isinstance(value, dict):
        for key in value:
            yield from leaves(node[key])
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from leaves(node[index])
    elif value is not None:
        yield node


def mappings(node: Node) -> Iterator[Node]:
    """Yield every mapping below a node, the outermost first, without raising."""
    value = node.value
    if isinstance(value, dict):
        yield node
        for key in value:
            yield from mappings(node[key])
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from mappings(node[index])
