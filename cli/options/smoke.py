"""The options of `smoke`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


@dataclass(frozen=True, kw_only=True, slots=True)
class SmokeOptions:
    """Ask every model of a stack through its gateway, end to end.

    Where clients need a key, it is read from the environment variable TRIPLANE_API_KEY. Exits with
    1 if an answer is not what it should be.
    """

    outputs: Annotated[Path, Argument(help="`pulumi stack output --json`; - for standard input.")]
    region: Annotated[list[str], Option(help="Only these regions.")] = field(
        default_factory=list[str]
    )
    model: Annotated[list[str], Option(help="Only these models.")] = field(
        default_factory=list[str]
    )
    address: Annotated[
        str | None,
        Option(help="HOST:PORT that is asked instead of the gateway's name, of one region."),
    ] = None
    timeout: Annotated[
        float, Option(min=1, help="Seconds without a byte after which an answer is given up.")
    ] = 60.0
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
