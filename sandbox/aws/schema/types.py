"""The shape of a type's properties, small enough to be kept as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class InputShape:
    """A value's type: `kind` is str, int, float, bool, any, list, map or object.

    `element` is for lists and maps; `properties` and `required` are for objects.
    """

    kind: str
    element: "InputShape | None" = None
    properties: Mapping[str, "InputShape"] = field(default_factory=dict[str, "InputShape"])
    required: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeSchema:
    """One resource type: what may be given, and what comes back.

    `outputs` maps a property to whether it is optional; an optional one that nobody gave is absent.
    """

    inputs: InputShape
    outputs: Mapping[str, bool]


def to_json(schema: TypeSchema) -> dict[str, Any]:
    """Return a schema as plain JSON."""
    return asdict(schema)


def from_json(raw: Mapping[str, Any]) -> TypeSchema:
    """Return the schema that `to_json` wrote."""
    return TypeSchema(inputs=_shape(raw["inputs"]), outputs=dict(raw["outputs"]))


def _shape(raw: Mapping[str, Any]) -> InputShape:
    element = raw["element"]
    return InputShape(
        kind=raw["kind"],
        element=None if element is None else _shape(element),
        properties={key: _shape(value) for key, value in raw["properties"].items()},
        required=tuple(raw["required"]),
    )
