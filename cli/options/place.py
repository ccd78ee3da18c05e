"""The options of `place`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from models.placement.place import Strategy


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaceOptions:
    """Place many models on given GPUs, or tell the fewest steps from what runs to a preset.

    Exits with 1 if a model finds no place.
    """

    file: Annotated[
        Path | None, Argument(help="GPUs and models, YAML or JSON (docs/tools.md).")
    ] = None
    preset: Annotated[
        Path | None, Option(help="The same file, as what is wanted beside --state.")
    ] = None
    state: Annotated[
        Path | None, Option(help="What runs now, such as the output of place --json.")
    ] = None
    gpus: Annotated[
        list[str],
        Option(help="GPUs in place of the file's: 4xl4,big=8xh100-80gb (one node each)."),
    ] = field(default_factory=list[str])
    strategy: Annotated[Strategy | None, Option(help="maximize-models by default.")] = None
    reserve_gib: Annotated[float | None, Option(min=0, help="GiB of each GPU kept free (0.5).")] = (
        None
    )
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
