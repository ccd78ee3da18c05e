"""Checks property values against an SDK shape: names, types, what is required."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

from models.core.findings import Finding
from sandbox.aws.core.values import UNKNOWN
from sandbox.aws.schema.types import InputShape

_WORDS: Final = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "map": "an object with strings as keys",
    "object": "an object",
}


def check(value: Any, shape: InputShape, path: str = "") -> Iterator[Finding]:
    """Yield a problem for every part of `value` that the SDK would not have let through.

    What is not known yet, and null, fits everywhere.
    """
    if value is None or value == UNKNOWN or shape.kind == "any":
        return
    if not _fits(value, shape.kind):
        yield Finding(
            path=path or "(top)",
            message="a value of the wrong type",
            value=type(value).__name__,
            allowed=_WORDS[shape.kind],
        )
    elif shape.kind == "object":
        yield from _object(cast("Mapping[str, Any]", value), shape, path)
    elif shape.element is not None:
        for key, each in _items(value):
            yield from check(each, shape.element, f"{path}{key}")


def _fits(value: Any, kind: str) -> bool:
    if kind == "str":
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("int", "float"):
        number = isinstance(value, int) or (kind == "float" and isinstance(value, float))
        return number and not isinstance(value, bool)
    return isinstance(value, list if kind == "list" else Mapping)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, each in enumerate(cast("list[Any]", value)):
            yield f"[{index}]", each
    else:
        for key, each in cast("Mapping[str, Any]", value).items():
            yield f".{key}", each


def _object(value: Mapping[str, Any], shape: InputShape, path: str) -> Iterator[Finding]:
    at = f"{path}." if path else ""
    for key in shape.required:
        if value.get(key) is None:
            yield Finding(path=f"{at}{key}", message="a required property is missing")
    for key, each in value.items():
        if key.startswith("__"):
            continue
        known = shape.properties.get(key)
        if known is None:
            near = get_close_matches(key, shape.properties, n=3)
            yield Finding(
                path=f"{at}{key}",
                message="the pulumi_aws SDK has no such property",
                allowed=", ".join(near or sorted(shape.properties)),
                remedy=f"did you mean {near[0]}?" if near else "take it out",
            )
        else:
            yield from check(each, known, f"{at}{key}")
