"""Reads shapes out of the pulumi_aws SDK's classes; imports the SDK, which takes a second.

The SDK's signatures know names, types and what is required. What they do not know (what forces a
replacement, defaults, sets) is written by hand beside each type, with its source (`kinds`).
"""

import importlib
import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final, ForwardRef, Union, cast, get_args, get_origin

from pulumi import Output
from pulumi import _types as sdk_types  # pyright: ignore[reportPrivateUsage] - property names are public nowhere else

from sandbox.aws.schema.types import InputShape, TypeSchema

_SCALARS: Final = {str: "str", int: "int", float: "float", bool: "bool"}


def derive(path: str) -> TypeSchema:
    """Return the schema of an SDK class such as `ec2.Vpc`.

    Raises `LookupError` where pulumi_aws has no such class.
    """
    module_name, _, class_name = path.rpartition(".")
    module = importlib.import_module(f"pulumi_aws.{module_name}")
    resource = getattr(module, class_name, None)
    if resource is None:
        message = f"pulumi_aws has no class {path}"
        raise LookupError(message)
    # Not the package's `<class>Args`: where a nested type has that name, the SDK calls the
    # resource's own `<class>InitArgs`. Either way the class's module exports it.
    own = importlib.import_module(resource.__module__)
    name = next(name for name in own.__all__ if name.endswith("Args"))
    arguments = getattr(own, name)
    return TypeSchema(inputs=_object(arguments), outputs=_outputs(resource))


def _object(arguments: type) -> InputShape:
    hints = cast("Mapping[str, Any]", sdk_types.input_type_types(arguments))
    names = cast("Mapping[str, str]", sdk_types.input_type_py_to_pulumi_names(arguments))
    signature = inspect.signature(arguments)
    required = [
        names[name]
        for name, parameter in signature.parameters.items()
        if name in names and parameter.default is inspect.Parameter.empty
    ]
    module = importlib.import_module(arguments.__module__)
    return InputShape(
        kind="object",
        properties={name: _shape(hint, module) for name, hint in hints.items()},
        required=tuple(sorted(required)),
    )


def _shape(hint: Any, module: Any) -> InputShape:
    hint = _unwrap(hint, module)
    if hint in _SCALARS:
        return InputShape(kind=_SCALARS[hint])
    origin = get_origin(hint)
    if origin in (list, Sequence):
        return InputShape(kind="list", element=_shape(get_args(hint)[0], module))
    if origin in (dict, Mapping):
        return InputShape(kind="map", element=_shape(get_args(hint)[1], module))
    if isinstance(hint, type) and sdk_types.is_input_type(hint):
        return _object(hint)
    # Unions of a string and an enum, assets, documents that may also be objects.
    return InputShape(kind="any")


def _unwrap(hint: Any, module: Any) -> Any:
    """Take `Input[...]`, Optional and names in quotes off a hint."""
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        return _unwrap(getattr(module, hint), module)
    if get_origin(hint) is Union or type(hint).__name__ == "UnionType":
        kept = [each for each in get_args(hint) if not _is_wrapper(each)]
        if len(kept) == 1:
            return _unwrap(kept[0], module)
    return hint


def _is_wrapper(hint: Any) -> bool:
    return hint is type(None) or get_origin(hint) in (Output, Awaitable) or hint is Output


def _outputs(resource: type) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for _, member in inspect.getmembers(resource, lambda each: isinstance(each, property)):
        getter = cast("property", member).fget
        name = getattr(getter, "_pulumi_name", None)
        if getter is not None and isinstance(name, str):
            found[name] = "Optional[" in str(inspect.get_annotations(getter).get("return"))
    return found
