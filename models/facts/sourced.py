"""Rows that say where they were read, by a name among their file's `sources`."""

from collections.abc import Iterator
from typing import Annotated, Self, cast

from pydantic import Field, model_validator

from models.core.base import UNRESOLVED, Model


class SourcedRow(Model):
    """A row with its source: a name of the file's `sources`, or `unresolved`."""

    source: Annotated[str, Field(min_length=1)]


class SourcedFile(Model):
    """A file whose rows name their sources; `sources` holds the long form of each name."""

    sources: dict[str, str]

    @model_validator(mode="after")
    def name_sources_that_the_file_has(self) -> Self:
        """A name that stands for nothing is no source."""
        known = {*self.sources, UNRESOLVED}
        unknown = {row.source for row in self.sourced_rows()} - known
        if unknown:
            message = (
                f"the file has no source of the name {', '.join(sorted(unknown))}; "
                f"it must be one of {', '.join(sorted(known))}"
            )
            raise ValueError(message)
        return self

    def sourced_rows(self) -> Iterator[SourcedRow]:
        """Yield every row of the file's tables."""
        for name in type(self).model_fields:
            part: object = getattr(self, name)
            if isinstance(part, tuple):
                rows = cast("tuple[object, ...]", part)
                yield from (row for row in rows if isinstance(row, SourcedRow))
