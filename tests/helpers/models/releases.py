"""How releases treat memory, by the catalog's own borders."""

from functools import cache

from catalog.loader import load
from models import memory
from models.facts.borders import Borders
from models.memory import Behavior


@cache
def borders() -> Borders:
    """Return the catalog's borders."""
    return load().borders


def behavior_of(version: str | None, at_least: tuple[int, int] | None = None) -> Behavior:
    """Return the behavior of a release as people write it."""
    return memory.behavior_of(version, borders(), at_least)


def release_of(text: str | None) -> tuple[int, int] | None:
    """Return (major, minor) of a version as people write it."""
    return memory.release_of(text, borders())
