"""Property values between the engine and us: plain Python, with one marker for "not known yet"."""

from collections.abc import Mapping
from typing import Any, Final, cast

from google.protobuf.struct_pb2 import ListValue, Struct, Value

Props = dict[str, Any]
"""Properties by their Pulumi names: str, bool, int, float, None, list, dict or UNKNOWN."""

UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The engine's own marker (pulumi.runtime.rpc.UNKNOWN) for a value that is computed later."""

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
"""Key that marks an encoded special value (assets, secrets, outputs)."""
_SEALED: Final = "1b47061264138c4ac30d75fd1eb44270"


def from_struct(struct: Struct) -> Props:
    """Return a request's properties. Secrets are opened: the engine marks them again itself."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def _from_value(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        found = from_struct(value.struct_value)
        if found.get(SIGNATURE) == _SEALED:
            return found["value"]
        return found
    if kind == "list_value":
        return [_from_value(each) for each in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "string_value":
        return value.string_value
    return value.bool_value if kind == "bool_value" else None


def to_struct(props: Mapping[str, Any]) -> Struct:
    """Return properties for an answer; None values are left out, as the engine expects."""
    struct = Struct()
    for key, value in props.items():
        if value is not None:
            struct.fields[key].CopyFrom(_to_value(value))
    return struct


def _to_value(value: Any) -> Value:
    if isinstance(value, Mapping):
        return Value(struct_value=to_struct(cast("Mapping[str, Any]", value)))
    if isinstance(value, list | tuple):
        items = [_to_value(each) for each in cast("list[Any]", value)]
        return Value(list_value=ListValue(values=items))
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, int | float):
        return Value(number_value=value)
    if value is None:
        return Value(null_value=cast("Any", 0))
    return Value(string_value=str(value))


def has_unknown(value: Any) -> bool:
    """Tell whether anything in a value is not known yet."""
    if isinstance(value, Mapping):
        return any(has_unknown(each) for each in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return any(has_unknown(each) for each in cast("list[Any]", value))
    return bool(value == UNKNOWN)


def is_empty(value: Any) -> bool:
    """Tell whether a value says nothing: AWS and Terraform treat absent, null and empty alike."""
    return value is None or value == {} or value == []


def part(of: Mapping[str, Any] | None, key: str) -> Props:
    """Return an object inside an object; an empty one where it is absent or null."""
    return dict((of or {}).get(key) or {})


def items(of: Mapping[str, Any] | None, key: str) -> list[Any]:
    """Return a list inside an object; an empty one where it is absent or null."""
    return list((of or {}).get(key) or [])


def without_empty(props: Mapping[str, Any]) -> Props:
    """Return the properties that say something."""
    return {key: value for key, value in props.items() if not is_empty(value)}
