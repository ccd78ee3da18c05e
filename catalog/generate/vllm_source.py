"""Reads classes, annotated fields and literal types from vLLM's source, without importing it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import JsonValue

SEQUENCES: Final = frozenset({"list", "tuple", "set", "List", "Tuple", "Set", "Sequence"})
"""Names of annotations that take several values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A field of a class: its annotation, and its default where it is a literal."""

    annotation: ast.expr | None
    default: JsonValue


@dataclass(kw_only=True, slots=True)
class SourceTree:
    """The classes and the aliases of literal types of one source tree."""

    classes: dict[str, dict[str, Field]] = field(default_factory=dict[str, dict[str, Field]])
    bases: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    aliases: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])

    def fields(self, name: str) -> dict[str, Field]:
        """Return a class's fields, with those it inherits."""
        found: dict[str, Field] = {}
        for base in self.bases.get(name, ()):
            found |= self.fields(base)
        return found | self.classes.get(name, {})


def read_source(trees: list[ast.Module]) -> SourceTree:
    """Return the classes and aliases at the top of these modules."""
    source = SourceTree()
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                source.bases[node.name] = tuple(
                    base.id for base in node.bases if isinstance(base, ast.Name)
                )
                source.classes[node.name] = {
                    item.target.id: Field(annotation=item.annotation, default=_default(item.value))
                    for item in node.body
                    if isinstance(item, ast.AnnAssign)
                    and isinstance(item.target, ast.Name)
                    and not ast.unparse(item.annotation).startswith(("ClassVar", "InitVar"))
                }
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                source.aliases.setdefault(node.targets[0].id, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                source.aliases.setdefault(ast.unparse(node.target), node.value)
    return source


def _default(value: ast.expr | None) -> JsonValue:
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("Field", "field"):
        named = {keyword.arg: keyword.value for keyword in value.keywords}
        inner = named.get("default", value.args[0] if value.args else None)
        return literal(inner)
    return literal(value)


def literal(value: ast.expr | None) -> JsonValue:
    """Return a literal's value as JSON would hold it, or None where it is not a literal."""
    if value is None:
        return None
    try:
        data = ast.literal_eval(value)
    except ValueError:
        return None
    return _plain(data)


def _plain(data: object) -> JsonValue:
    """Return data as JSON would hold it (tuples and sets as lists); None where it cannot."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list | tuple | set):
        items: list[object] = list(data)  # pyright: ignore[reportUnknownArgumentType] - isinstance knows no members
        return [_plain(item) for item in items]
    return None


def words_of(annotation: ast.expr | None, source: SourceTree) -> frozenset[str]:
    """Return the names in an annotation, with aliases followed; a literal's type is not one."""
    found: set[str] = set()
    for part in _parts(annotation, source):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            found.add(part.value.id)
            if part.value.id in SEQUENCES:
                found |= words_of(part.slice, source)
    return frozenset(found)


def _parts(annotation: ast.expr | None, source: SourceTree) -> Iterator[ast.expr]:
    """Yield the members of a union, looking through Annotated, Optional and aliases."""
    if annotation is None:
        return
    if isinstance(annotation, ast.BinOp):
        yield from _parts(annotation.left, source)
        yield from _parts(annotation.right, source)
    elif isinstance(annotation, ast.Tuple):
        for item in annotation.elts:
            yield from _parts(item, source)
    elif isinstance(annotation, ast.Subscript):
        yield from _subscript_parts(annotation, source)
    elif isinstance(annotation, ast.Name) and annotation.id in source.aliases:
        yield from _parts(source.aliases[annotation.id], source)
    elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from _parts(ast.parse(annotation.value, mode="eval").body, source)
    else:
        yield annotation


def _subscript_parts(annotation: ast.Subscript, source: SourceTree) -> Iterator[ast.expr]:
    name = ast.unparse(annotation.value)
    if name in ("Annotated", "SkipValidation", "Optional", "Union"):
        inner = annotation.slice
        first = inner.elts[0] if name == "Annotated" and isinstance(inner, ast.Tuple) else inner
        yield from _parts(first, source)
    else:
        yield annotation


def choices_of(annotation: ast.expr | None, source: SourceTree) -> tuple[str, ...] | None:
    """Return the values of a literal type, also inside a sequence; None where there is none."""
    for part in _parts(annotation, source):
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal":
            return tuple(_literal_values(part.slice, source))
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) in SEQUENCES:
            return choices_of(part.slice, source)
    return None


def _literal_values(values: ast.expr, source: SourceTree) -> Iterator[str]:
    for item in values.elts if isinstance(values, ast.Tuple) else [values]:
        if isinstance(item, ast.Constant):
            yield str(item.value)
        else:
            yield from choices_of(item, source) or ()


def configurations(root: Path) -> list[Path]:
    """Return the modules of the configuration classes: a folder, one module in old releases."""
    return sorted([*(root / "vllm/config").glob("*.py"), *(root / "vllm").glob("config.py")])


def parse(path: Path) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
