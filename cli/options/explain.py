"""The options of `explain`."""

from dataclasses import dataclass, field
from typing import Annotated

from typer import Argument, Option


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainOptions:
    """Tell what a rule holds, why, and how to fix what it finds."""

    rules: Annotated[list[str], Argument(help="Ids as messages print them; all by default.")] = (
        field(default_factory=list[str])
    )
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
