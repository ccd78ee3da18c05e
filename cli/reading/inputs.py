"""Reads what a command is given: files, catalog, tables of names. The only I/O beside output."""

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, cast

from pydantic import JsonValue

from catalog.loader import load
from catalog.readers.names import model_names, other_gpus
from catalog.readers.tables import gpu_families
from cli.errors import InputError
from models.cases.asking import Sources
from models.cases.cards import CardNames
from models.facts.catalog import Catalog

Json = dict[str, JsonValue]

_DEEPEST_SHOWN: Final = 80


def read_text(path: Path) -> str:
    """Return a file's text (`-` is standard input)."""
    try:
        if str(path) == "-":
            return sys.stdin.read()
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise InputError(f"{path}: cannot be read: {reason}") from None


def parse_object(text: str, where: str) -> Json:
    """Return a JSON object."""
    try:
        data: object = json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON: {str(error)[:_DEEPEST_SHOWN]}") from None
    if not isinstance(data, dict):
        raise InputError(f"{where}: must be a JSON object, not {type(data).__name__}")
    return cast("Json", data)


def read_config(path: Path) -> Json:
    """Return a model's `config.json`; a folder means the one in it."""
    file = path / "config.json" if path.is_dir() else path
    return parse_object(read_text(file), str(file))


def read_configs(path: Path | None) -> Mapping[str, Json]:
    """Return configurations by model name; none without a file."""
    if path is None:
        return {}
    data = parse_object(read_text(path), str(path))
    wrong = [name for name, config in data.items() if not isinstance(config, dict)]
    if wrong:
        raise InputError(f"{path}: {wrong[0]}: must be a JSON object (a configuration)")
    return cast("Mapping[str, Json]", data)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            yield number, line


def sources(configs: Mapping[str, Json], *, pinned: bool) -> Sources:
    """Return what names are looked up in."""
    catalog, cards = _tables()
    return Sources(catalog=catalog, names=model_names(configs), cards=cards, pinned=pinned)


@cache
def _tables() -> tuple[Catalog, CardNames]:
    """Return the catalog and its cards; read once for a process that answers many commands."""
    catalog = load()
    return catalog, CardNames(catalog.accelerators, other_gpus(), gpu_families())


def _not_json(text: str) -> JsonValue:
    raise ValueError(f"{text} is not a JSON value")
