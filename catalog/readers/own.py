"""The files of the catalog itself: read once for a process, parsed once for all (`cache.py`)."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from pydantic import JsonValue

from catalog.readers.cache import keep_parsed, read_parsed
from catalog.readers.contents import Contents, digest_of_code
from catalog.readers.reading import Reader

HERE: Final = Path(__file__).parents[1]
_MODELS: Final = HERE.parent / "models"
_JUDGES: Final = (HERE, HERE / "readers", _MODELS / "core", _MODELS / "facts")
"""The code that decides whether the catalog's files are good."""

_V = TypeVar("_V")


@cache
def own_contents() -> Contents:
    """Return what the catalog's files hold."""
    return Contents(HERE)


def own_reader(folder: str = "") -> Reader:
    """Return a reader of the catalog's files (or a folder's), with their data if it is kept."""
    parsed = own_parsed()
    if not folder:
        return Reader(HERE, own_contents().files, parsed)
    files = _under(folder, own_contents().files)
    return Reader(HERE / folder, files, None if parsed is None else _under(folder, parsed))


def keep_own(reader: Reader) -> None:
    """Keep what a reader has parsed, and the YAML files that no catalog has; call after `finish`.

    Nothing is kept where one of those is not sound.
    """
    if reader.found_good:
        return
    names = [name for name in own_contents().files if name.endswith(".yaml")]
    parsed = {name: reader.yaml_file(name) for name in names}
    if not reader.problems:
        keep_parsed(_key(), parsed)


def _under(folder: str, rows: Mapping[str, _V]) -> dict[str, _V]:
    """Return the rows of a folder, by the rest of their names."""
    start = f"{folder}/"
    return {name.removeprefix(start): row for name, row in rows.items() if name.startswith(start)}


@cache
def own_parsed() -> Mapping[str, JsonValue] | None:
    """Return the data of the catalog's YAML files by name, if it is kept."""
    return read_parsed(_key())


@cache
def _key() -> str:
    return f"{own_contents().digest[:32]}-{digest_of_code(_JUDGES)[:32]}"
