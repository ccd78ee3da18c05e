"""From the SDK's proxies to plain data, with a sentinel wherever a preview does not know a value.

The SDK hands rules Mapping and Sequence proxies that raise at an unknown value, and turns that
exception into advice, whatever the rule's level. So nothing but `plain` ever touches a proxy.
"""

import datetime
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

__all__ = ["Plain", "Unknown", "plain"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands for a value that is not known; `path` says which, `why` says why if not a preview.

    `text` is what is known of it: the text around a placeholder
    (`models.engine.command.UNKNOWN_TEXT`).
    """

    path: str
    why: str = "at preview"
    text: str = ""


Plain: TypeAlias = "bool | int | float | str | Unknown | list[Plain] | dict[str, Plain] | None"

SENTINELS: Final = (
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
    "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
    "030794c1-ac77-496b-92df-f27374a8bd58",
    "e48ece36-62e2-4504-bad9-02848725956a",
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
)
"""What the engine writes for a value it does not know, by type (pulumi_policy/proxy.py)."""

_SENTINEL: Final = re.compile("|".join(SENTINELS))
"""Anywhere in a text: a program that builds text from a resource's id gets it embedded, and then
the SDK sees no unknown at all (measured with the id of a provider that is yet to be made)."""


_DEEPEST: Final = 100
"""Levels of nesting; YAML anchors can make a cycle."""


def plain(value: object, path: str = "", depth: int = 0) -> Plain:
    """Return plain data; each unknown field becomes an `Unknown` with its path.

    Never raises: what is no plain data (an asset, an archive) counts as unknown too.
    """
    if isinstance(value, str):
        return Unknown(path) if _SENTINEL.search(value) else value
    if value is None or isinstance(value, bool | int | float | Unknown):
        return value
    if isinstance(value, datetime.date):
        # YAML reads an unquoted date as one; the API server reads text.
        return value.isoformat()
    if depth > _DEEPEST:
        return Unknown(path, "since it is nested too deeply")
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {str(key): _member(mapping, key, joined(path, str(key)), depth) for key in mapping}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        items = cast("Sequence[object]", value)
        return [_member(items, index, joined(path, index), depth) for index in range(len(items))]
    return Unknown(path, f"since {type(value).__name__} cannot be read by policies")


@functools.lru_cache(maxsize=4096)
def _is_plain(key: str) -> bool:
    return key.replace("_", "").replace("-", "").isalnum()


def joined(path: str, key: str | int) -> str:
    """Return the path of a member: `spec.args[0]`, `labels["a.b/c"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _is_plain(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _member(
    container: Mapping[object, object] | Sequence[object], key: object, path: str, depth: int
) -> Plain:
    try:
        value = container[key]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType] - either container takes its own kind of key
    except Exception as error:
        # By its name: rules over files need no Pulumi, and importing it takes seconds.
        if type(error).__name__ != "UnknownValueError":
            raise
        return Unknown(path)
    return plain(cast("object", value), path, depth + 1)
