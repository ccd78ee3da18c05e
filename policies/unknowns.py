"""From the SDK's proxies to plain data, with a sentinel wherever a preview does not know a value.

The SDK hands rules Mapping and Sequence proxies that raise at an unknown value, and turns that
exception into advice, whatever the rule's level. So nothing but `plain` ever touches a proxy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import pulumi
from pulumi_policy import proxy

__all__ = ["Plain", "Unknown", "plain"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands for a value that is not known; `path` says which, `why` says why if not a preview."""

    path: str
    why: str = "at preview"


Plain: TypeAlias = "bool | int | float | str | Unknown | list[Plain] | dict[str, Plain] | None"

_SENTINELS: Final = frozenset(
    {
        proxy.UNKNOWN_BOOLEAN_VALUE,
        proxy.UNKNOWN_NUMBER_VALUE,
        proxy.UNKNOWN_STRING_VALUE,
        proxy.UNKNOWN_ARRAY_VALUE,
        proxy.UNKNOWN_ASSET_VALUE,
        proxy.UNKNOWN_ARCHIVE_VALUE,
        proxy.UNKNOWN_OBJECT_VALUE,
    }
)


def plain(value: object, path: str = "") -> Plain:
    """Return plain data; each unknown field becomes an `Unknown` with its path.

    Never raises: what is no plain data (an asset, an archive) counts as unknown too.
    """
    if isinstance(value, str):
        return Unknown(path) if value in _SENTINELS else value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {str(key): _member(mapping, key, joined(path, str(key))) for key in mapping}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        items = cast("Sequence[object]", value)
        return [_member(items, index, joined(path, index)) for index in range(len(items))]
    if isinstance(value, pulumi.StringAsset):
        return str(value.text)
    return Unknown(path, f"since {type(value).__name__} cannot be read by policies")


def joined(path: str, key: str | int) -> str:
    """Return the path of a member: `spec.args[0]`, `labels["a.b/c"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    plain_key = key.replace("_", "").replace("-", "").isalnum()
    if not plain_key:
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _member(container: Mapping[object, object] | Sequence[object], key: object, path: str) -> Plain:
    try:
        value = container[key]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    except proxy.UnknownValueError:
        return Unknown(path)
    return plain(cast("object", value), path)
