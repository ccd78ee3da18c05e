"""The options of `changes`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangesOptions:
    """Tell what a preview would replace, delete or lose.

    Exits with 1 if data would be lost, or nobody can tell.
    """

    preview: Annotated[
        Path, Argument(help="`pulumi preview --json`, or an event log; - for standard input.")
    ]
    approve: Annotated[
        list[str],
        Option(help="Kind/namespace/name whose data may be lost, beside the settings'."),
    ] = field(default_factory=list[str])
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
