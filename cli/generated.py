"""A command of the class that its options fill: each field is an option, declared once.

A field that is itself such a class stands for all of its own fields.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any, ClassVar, Protocol, cast, get_type_hints


class Options(Protocol):
    """A dataclass whose fields are annotated with typer's `Option` or `Argument`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def command(name: str) -> Callable[..., int]:
    """Return the command of this name for typer, which reads signature and docstring.

    Its options are the class that `cli/options/<name>.py` calls `<Name>Options`; its work is `run`
    of `cli/commands/<name>.py`, imported when the command is called.
    """
    options = cast(
        "type[Options]",
        getattr(import_module(f"cli.options.{name}"), f"{name.capitalize()}Options"),
    )

    def call(**values: object) -> int:
        run = cast("Callable[[Options], int]", import_module(f"cli.commands.{name}").run)
        return run(_filled(options, values))

    call.__doc__ = options.__doc__
    vars(call)["__signature__"] = Signature(list(_parameters(options)), return_annotation=int)
    return call


def _parameters(options: type[Options]) -> Iterator[Parameter]:
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        hint: object = hints[field.name]
        if is_dataclass(hint):
            yield from _parameters(cast("type[Options]", hint))
            continue
        default: object = field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        if default is MISSING:
            default = Parameter.empty
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _filled(options: type[Options], values: Mapping[str, object]) -> Options:
    hints = get_type_hints(options)
    return options(
        **{
            field.name: _filled(hints[field.name], values)
            if is_dataclass(hints[field.name])
            else values[field.name]
            for field in fields(options)
        }
    )
