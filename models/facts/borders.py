"""At which release the engine's treatment of memory changes: typed records of data with sources.

The data is `catalog/engines/borders.yaml`. A border names what changes, since which release, its
source, and the test that holds it; `memory_at` puts them together for one release.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from models.core.base import Model
from models.core.releases import numbers
from models.facts.contract import MemoryBehavior, SizeDefaults, Version

Minor = Annotated[str, Field(pattern=r"^\d+\.\d+$")]
"""A release without its patch number: `0.33`."""

Value = bool | int | float | str | tuple[SizeDefaults, ...] | tuple[str, ...]
Release = tuple[int, int, int]


class Border(Model):
    """One change of `changes`, a field of `MemoryBehavior`, from `before` to `after` at `since`.

    `where` is the file of vLLM's source that says it. `source` is what tells the release: a pull
    request, a source distribution, a log; `unresolved` where nothing does. `only_if_stated`: a run
    that does not say its release is taken to be on the side of `before`, which leaves less. `test`
    is the pytest id of the test that holds the border.
    """

    changes: str
    since: Version
    before: Value
    after: Value
    where: str
    source: Annotated[str, Field(min_length=1)]
    test: Annotated[str, Field(pattern=r"^tests/[\w/]+\.py::test_\w+(\[.+\])?$")]
    only_if_stated: bool = False
    notes: str = ""


class FirstEngine(Model):
    """What holds where a release runs its first engine (V0), whatever else the release does."""

    sizes: tuple[SizeDefaults, ...]
    where: str
    source: Annotated[str, Field(min_length=1)]


class Month(Model):
    """The release that was newest in a month, for builds that say only when they were made."""

    month: Annotated[str, Field(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")]
    newest: Minor
    source: Annotated[str, Field(min_length=1)]

    @property
    def date(self) -> tuple[int, int]:
        """The year and the month."""
        year, month = self.month.split("-")
        return int(year), int(month)


class Borders(Model):
    """`engines/borders.yaml`: everything of the engine's memory that depends on its release.

    `unstated` is assumed where a run does not say its release, `main_branch` where it says that it
    was of the main branch. `months` are in order.
    """

    unstated: Minor
    main_branch: Minor
    months: tuple[Month, ...]
    first_engine: FirstEngine
    borders: tuple[Border, ...]

    @model_validator(mode="after")
    def follow_on_each_other(self) -> Self:
        """What one border ends with, the next one begins with; at one release it changes once."""
        for changes, borders in self.by_field().items():
            for one, other in pairwise(borders):
                if numbers(one.since) >= numbers(other.since) or one.after != other.before:
                    message = (
                        f"{changes}: the border since {other.since} must come after that since "
                        f"{one.since}, and begin with what that one ends with"
                    )
                    raise ValueError(message)
        unknown = set(self.by_field()) ^ set(MemoryBehavior.model_fields)
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"one of borders and MemoryBehavior has {names}, the other has not")
        return self

    def by_field(self) -> Mapping[str, list[Border]]:
        """Return the borders of each field, in the file's order."""
        found: dict[str, list[Border]] = {}
        for border in self.borders:
            found.setdefault(border.changes, []).append(border)
        return found

    def memory_at(self, release: Release, *, stated: bool = True) -> MemoryBehavior:
        """Return how a release treats memory; `stated` says whether the run said its release."""
        values: dict[str, Value] = {}
        for border in self.borders:
            passed = release >= numbers(border.since) and (stated or not border.only_if_stated)
            if passed or border.changes not in values:
                values[border.changes] = border.after if passed else border.before
        return MemoryBehavior.model_validate(values)
