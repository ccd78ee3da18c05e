"""Comparing property values as AWS does: sets as sets, documents as JSON, empty as absent."""

import json
from collections.abc import Mapping
from typing import Any, cast

from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import UNKNOWN, Props, has_unknown, is_empty


def canonical(value: Any, rules: Rules, path: str = "") -> Any:
    """Return a form of `value` that is equal exactly where the difference means nothing."""
    if path in rules.documents:
        return document(value)
    if isinstance(value, Mapping):
        found = {
            key: canonical(each, rules, f"{path}.{key}" if path else key)
            for key, each in cast("Mapping[str, Any]", value).items()
            if not key.startswith("__")
        }
        return {key: each for key, each in found.items() if not is_empty(each)}
    if isinstance(value, list):
        items = [canonical(each, rules, path) for each in cast("list[Any]", value)]
        return _sorted(items) if path in rules.sets else items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda each: json.dumps(each, sort_keys=True))


def document(value: Any) -> Any:
    """Return a JSON document in one form; text that is not JSON stands as it is.

    In policies a list of one means what its only entry means, and the order of actions, resources
    and principals means nothing.
    """
    if value == UNKNOWN:
        return value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    return _document(value)


def _document(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _document(each) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        items = _sorted([_document(each) for each in cast("list[Any]", value)])
        return items[0] if len(items) == 1 else items
    return value


def changes(old: Props, new: Props, rules: Rules) -> dict[str, str]:
    """Return what differs: property path (with indices) to `add`, `delete` or `update`."""
    found: dict[str, str] = {}
    _changes(canonical(old, rules), canonical(new, rules), "", "", rules, found)
    return found


def _changes(
    old: Any, new: Any, path: str, shown: str, rules: Rules, found: dict[str, str]
) -> None:
    if old == new:
        return
    if _objects(old, new) and path not in rules.documents:
        # An object that appears or goes is told by its parts: a rule may name only one of them.
        before, after = cast("Props", old or {}), cast("Props", new or {})
        for key in sorted({*before, *after}):
            inner = f"{path}.{key}" if path else key
            at = f"{shown}.{key}" if shown and key.isidentifier() else _keyed(shown, key)
            _changes(before.get(key), after.get(key), inner, at, rules, found)
    elif _same_lists(old, new) and path not in rules.sets and path not in rules.documents:
        pairs = zip(cast("list[Any]", old), cast("list[Any]", new), strict=True)
        for index, (before, after) in enumerate(pairs):
            _changes(before, after, path, f"{shown}[{index}]", rules, found)
    else:
        found[shown] = "add" if is_empty(old) else "delete" if is_empty(new) else "update"


def _objects(old: Any, new: Any) -> bool:
    return (
        isinstance(old or new, dict) and isinstance(old or {}, dict) and isinstance(new or {}, dict)
    )


def _keyed(shown: str, key: str) -> str:
    return key if not shown and key.isidentifier() else f'{shown}["{key}"]'


def _same_lists(old: Any, new: Any) -> bool:
    return (
        isinstance(old, list)
        and isinstance(new, list)
        and len(cast("list[Any]", old)) == len(cast("list[Any]", new))
    )


def bare(path: str) -> str:
    """Return a path without list indices and quotes: the form that rules use."""
    result: list[str] = []
    rest = path
    while "[" in rest:
        head, _, tail = rest.partition("[")
        key, _, rest = tail.partition("]")
        result.append(head)
        if key.startswith('"'):
            result.append(f".{key[1:-1]}")
    return "".join([*result, rest])


def project(given: Any, actual: Any, rules: Rules, path: str = "") -> Any:
    """Return `actual` cut down to what the program gave, so that a refresh shows drift only.

    Maps of strings (tags, labels) are taken whole; objects by the keys that were given; where
    nothing differs the program's own spelling (order, JSON layout) stays.
    """
    if is_empty(given) or has_unknown(given):
        return actual if is_empty(given) else given
    if canonical(given, rules, path) == canonical(actual, rules, path):
        return given
    if isinstance(given, Mapping) and isinstance(actual, Mapping) and path not in rules.whole:
        return _project_object(
            cast("Mapping[str, Any]", given), cast("Mapping[str, Any]", actual), rules, path
        )
    if isinstance(given, list) and isinstance(actual, list):
        return _project_list(cast("list[Any]", given), cast("list[Any]", actual), rules, path)
    return cast("Any", actual)


def _project_object(
    given: Mapping[str, Any], actual: Mapping[str, Any], rules: Rules, path: str
) -> Props:
    inner = f"{path}." if path else ""
    return {
        key: project(each, actual.get(key), rules, f"{inner}{key}") for key, each in given.items()
    }


def _project_list(given: list[Any], actual: list[Any], rules: Rules, path: str) -> list[Any]:
    if path not in rules.sets:
        paired = [project(a, b, rules, path) for a, b in zip(given, actual, strict=False)]
        return paired + actual[len(paired) :]
    left = list(actual)
    kept: list[Any] = []
    for each in given:
        match = next((other for other in left if _agrees(each, other, rules, path)), None)
        if match is not None:
            left.remove(match)
            kept.append(each)
    return kept + left


def _agrees(given: Any, actual: Any, rules: Rules, path: str) -> bool:
    """Tell whether `actual` has every value that was given."""
    cut = project(given, actual, rules, path)
    return canonical(cut, rules, path) == canonical(given, rules, path)
