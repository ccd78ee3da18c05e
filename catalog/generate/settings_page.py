"""The tables of docs/settings.md, from the settings' own fields and docstrings.

The page has prose, and for each class of the settings one place `<!-- settings: Name -->`, after
which its table stands up to the next empty line. `make docs` renews them.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from models.core.base import DnsLabel
from models.engine.profiles import PROFILES, EngineProfile, Environment
from models.settings.eks import Cidr, RoleArn
from models.settings.longhorn import Cron
from models.settings.regions import NodeName
from models.settings.settings import LATER, Settings
from models.settings.storage import KeyArn

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
_PLACE: Final = re.compile(r"<!-- settings: (\w+) -->\n(?:\|[^\n]*\n)*")
_PROFILES: Final = "EngineProfile"
_LONGEST_PATTERN: Final = 60
"""Longer ones explain nothing; the message about a wrong value has them."""

_NAMED: Final = (
    (DnsLabel, "DNS label"),
    (NodeName, "node name"),
    (KeyArn, "KMS key ARN"),
    (Cidr, "network, such as 203.0.113.0/24"),
    (RoleArn, "IAM role ARN"),
    (Cron, "five fields of a cron schedule"),
)
"""Types of texts that have a name of their own."""


class PageError(Exception):
    """The page and the settings do not fit; the message says where."""


def classes(of: type[BaseModel] = Settings) -> dict[str, type[BaseModel]]:
    """Return the classes of the settings by name, those of fields after their owner."""
    found: dict[str, type[BaseModel]] = {of.__name__: of}
    for hint in get_type_hints(of, include_extras=True).values():
        for each in _models_in(hint):
            found |= {name: one for name, one in classes(each).items() if name not in found}
    return found


def _models_in(hint: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(hint) and issubclass(hint, BaseModel):
        yield hint
    for part in get_args(hint):
        yield from _models_in(part)


@cache
def _later() -> frozenset[tuple[type[BaseModel], str]]:
    """Return the fields, by their class, that the settings' table of what is to come names."""
    found: set[tuple[type[BaseModel], str]] = set()
    for path in LATER:
        at: type[BaseModel] = Settings
        *above, last = path.split(".")
        for name in above:
            at = next(_models_in(get_type_hints(at, include_extras=True)[name]))
        found.add((at, last))
    return frozenset(found)


def docstrings(of: type[BaseModel]) -> dict[str, str]:
    """Return what stands below each field of a class, on one line."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            said[field.target.id] = " ".join(str(after.value.value).split())
    return said


def table(of: type[BaseModel]) -> str:
    """Return the rows of a class. Raises `PageError` where a field has no docstring."""
    hints, said = get_type_hints(of, include_extras=True), docstrings(of)
    missing = sorted(set(of.model_fields) - set(said))
    if missing:
        message = f"{of.__module__}.{of.__name__}: no docstring below {', '.join(missing)}"
        raise PageError(message)
    rows = ["| key | type | without it | what |", "|---|---|---|---|"]
    for name, field in of.model_fields.items():
        later = " *later*" if (of, name) in _later() else ""
        cells = (f"`{name}`{later}", _words(hints[name]), _default(field), said[name])
        rows.append(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |")
    return "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    assert value is not PydanticUndefined
    if value is None:
        return ""
    if isinstance(value, BaseModel):
        return "its own defaults"
    return _written(value) or "none"


def _written(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return ", ".join(map(_written, cast("tuple[object, ...]", value)))
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, str]", value).items()
        return ", ".join(f"`{key}: {each}`" for key, each in pairs)
    return f"`{value.value if isinstance(value, StrEnum) else value}`"


def _words(hint: Any) -> str:
    """Return a type in words, with its bounds."""
    for named, words in _NAMED:
        if hint == named:
            return words
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return f"{_words(arguments[0])}{_bounds(_flat(arguments[1:]))}"
    if origin in (Union, UnionType):
        return " or ".join(_words(each) for each in arguments if each is not type(None))
    if origin is Literal:
        return " | ".join(f"`{each}`" for each in arguments)
    if origin is tuple:
        return f"list of {_words(arguments[0])}"
    if origin is dict:
        return f"{_words(arguments[1])} by name"
    return _plain(hint)


def _plain(hint: Any) -> str:
    words = {str: "text", bool: "boolean", int: "whole number", float: "number"}
    if hint in words:
        return words[hint]
    if issubclass(hint, StrEnum):
        return " | ".join(f"`{each.value}`" for each in hint)
    if issubclass(hint, BaseModel):
        title = hint.__name__.removesuffix("Settings")
        return f"[{title}](#{title.lower()})"
    return "date, such as 2026-12-31"


def _flat(metadata: tuple[Any, ...]) -> list[Any]:
    return [part for each in metadata for part in (getattr(each, "metadata", None) or [each])]


def _bounds(metadata: list[Any]) -> str:
    """Return bounds and patterns in words, " of 1 to 16" for `ge=1, le=16`."""
    parts: list[str] = []
    for each in metadata:
        match each:
            case Ge(ge=least):
                parts.append(f"at least {least}")
            case Gt(gt=least):
                parts.append(f"above {least}")
            case Le(le=most):
                parts.append(f"at most {most}")
            case Lt(lt=most):
                parts.append(f"below {most}")
            case MinLen(min_length=least):
                parts.append("not empty" if least == 1 else f"at least {least} of them")
            case MaxLen(max_length=most):
                parts.append(f"at most {most} characters")
            case _:
                pattern = getattr(each, "pattern", None)
                if pattern is not None and len(pattern) <= _LONGEST_PATTERN:
                    parts.append(f"like `{pattern}`")
    return f", {', '.join(parts)}" if parts else ""


def profiles() -> str:
    """Return the table of the environments' engine profiles."""
    names = (Environment.PROD, Environment.STAGING, Environment.DEV)
    rows = [f"| | {' | '.join(names)} |", "|---|---|---|---|"]
    for field in EngineProfile.model_fields:
        values = (_written(getattr(PROFILES[name], field)).strip("`") for name in names)
        rows.append(f"| {field} | {' | '.join(values)} |")
    return "\n".join(rows) + "\n"


def renewed(page: str) -> str:
    """Return the page with every table as the settings have it.

    Raises `PageError` for a class without a place, a place without a class, and a field without a
    docstring.
    """
    known = classes()
    places = [match[1] for match in _PLACE.finditer(page)]
    if sorted(places) != sorted([*known, _PROFILES]):
        extra, lacking = set(places) - set(known) - {_PROFILES}, set(known) - set(places)
        message = f"places without a class: {sorted(extra)}; classes without: {sorted(lacking)}"
        raise PageError(message)

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        rows = profiles() if name == _PROFILES else table(known[name])
        return f"<!-- settings: {name} -->\n{rows}"

    return _PLACE.sub(filled, page)


def main() -> None:
    """Renew the page."""
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
