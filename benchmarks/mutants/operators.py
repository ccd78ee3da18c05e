"""Two kinds of change that cosmic-ray lacks, in the form of its operators.

Half of this project is manifests and tables, which have neither comparisons nor arithmetic in them.
Duck-typed on purpose: cosmic-ray is not installed where types are checked.
"""

from collections.abc import Iterator
from typing import Any, Final, Protocol

Position = tuple[tuple[int, int], tuple[int, int]]


class MutationOperator(Protocol):
    """What cosmic-ray asks of an operator."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the places of a node that can be changed, once for each change."""
        ...

    def mutate(self, node: Any, index: int) -> Any:
        """Return the node with its change of this number."""
        ...


_WORD_SUFFIX: Final = "0"
_REMOVABLE: Final = {"expr_stmt", "atom_expr", "return_stmt", "raise_stmt"}


class ChangeWord:
    """A string without a blank gets one more character; text with blanks is prose, left alone."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the place of a plain string that is neither empty, prose nor a docstring."""
        if node.type == "string" and self._is_word(node):
            yield (node.start_pos, node.end_pos)

    def mutate(self, node: Any, index: int) -> Any:
        """Put a character before the closing quote."""
        del index
        node.value = node.value[:-1] + _WORD_SUFFIX + node.value[-1]
        return node

    @staticmethod
    def _is_word(node: Any) -> bool:
        value: str = node.value
        inner = value[1:-1]
        simple = value[0] in "\"'" and not value.startswith(('"""', "'''")) and bool(inner)
        alone = node.parent.type == "simple_stmt"
        return simple and not alone and not any(each.isspace() for each in inner)


class RemoveStatement:
    """A call, a changed variable, a return or a raise inside a function is replaced by `pass`."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the place of a statement whose absence leaves every name defined."""
        if node.type == "simple_stmt" and _in_function(node) and _is_removable(node.children[0]):
            yield (node.start_pos, node.children[0].end_pos)

    def mutate(self, node: Any, index: int) -> Any:
        """Replace the statement, whatever it spans."""
        del index
        first = node.get_first_leaf()
        statement = node.children[0]
        if statement is first:
            first.value = "pass"
            return node
        for leaf in _leaves(statement):
            leaf.value = "pass" if leaf is first else ""
            leaf.prefix = leaf.prefix if leaf is first else ""
        return node


def _leaves(node: Any) -> list[Any]:
    children = getattr(node, "children", None)
    if children is None:
        return [node]
    return [leaf for child in children for leaf in _leaves(child)]


def _in_function(node: Any) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in {"funcdef", "classdef"}:
            return bool(parent.type == "funcdef")
        parent = parent.parent
    return False


def _is_removable(statement: Any) -> bool:
    """Tell whether later lines still know their names: no first assignment, no docstring."""
    if statement.type not in _REMOVABLE:
        return False
    if statement.type != "expr_stmt":
        return bool(statement.get_code().strip() != "return None")
    name, operator, *values = statement.children
    leaves = {leaf.value for value in values for leaf in _leaves(value)}
    return _is_augmented(operator) or (name.type == "name" and name.value in leaves)


def _is_augmented(child: Any) -> bool:
    value = getattr(child, "value", "")
    return child.type == "operator" and len(value) > 1 and value.endswith("=")


OURS: Final[dict[str, type[MutationOperator]]] = {
    "ChangeWord": ChangeWord,
    "RemoveStatement": RemoveStatement,
}
