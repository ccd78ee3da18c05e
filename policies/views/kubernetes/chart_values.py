"""Comparing values that are set with a chart's defaults: Helm ignores a misspelt key."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

_ABSENT: Final = object()
_LABELS: Final = frozenset({"nodeSelector", "additionalLabels", "externalLabels"})


def faults(
    values: Mapping[str, Any],
    defaults: object,
    open_values: Mapping[str, str],
    path: str = "",
    *,
    strict: bool = False,
) -> Iterator[str]:
    """Yield each key that the chart does not have, and each value of another type than the default.

    `open_values` are paths below which any key is taken. So it is below a map that upstream leaves
    empty; `strict` takes there only what names nodes or labels. A default of null takes any value.
    """
    for key, value in values.items():
        here = f"{path}.{key}" if path else key
        if here in open_values:
            continue
        default = _member(defaults, key)
        if default is _ABSENT:
            yield f"{here} is not a key of the chart"
        elif _kind(value) == _kind(default) == "map":
            if default or (strict and key not in _LABELS):
                yield from faults(value, default, open_values, here, strict=strict)
        elif default is not None and _kind(value) != _kind(default):
            yield f"{here} is a {_kind(value)}, the default a {_kind(default)}"


def _member(defaults: object, key: str) -> object:
    if not isinstance(defaults, Mapping):
        return _ABSENT
    return cast("Mapping[str, object]", defaults).get(key, _ABSENT)


def _kind(value: object) -> str:
    """Return the name of a value's type; any number is a number, any sequence a list."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "map"
    return "list" if isinstance(value, list | tuple) else type(value).__name__
