"""The options of `select`."""

from dataclasses import dataclass, field
from typing import Annotated

from typer import Argument, Option

from models.engine.profiles import Environment


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectOptions:
    """Choose the engine arguments of a model, with the reason of each.

    Exits with 1 if a choice would not start or not serve.
    """

    models: Annotated[
        list[str], Argument(help="Directories, config.json files, catalog names or hub ids.")
    ] = field(default_factory=list[str])
    model: Annotated[list[str], Option(help="The same, as the old tool took it.")] = field(
        default_factory=list[str]
    )
    format: Annotated[
        str | None, Option(help="The weights' format, in place of what is detected.")
    ] = None
    env: Annotated[list[Environment], Option(help="Environments; all by default.")] = field(
        default_factory=list[Environment]
    )
    gpu: Annotated[list[str], Option(help="Cards; the smallest that hold it by default.")] = field(
        default_factory=list[str]
    )
    tp: Annotated[
        int | None,
        Option("--tp", "--tensor-parallel-size", min=1, help="In place of the fewest GPUs."),
    ] = None
    max_model_len: Annotated[
        int | None, Option(min=1, help="Tokens, in place of the profile's.")
    ] = None
    vllm_version: Annotated[
        str | None, Option(help="The engine's release; the pinned one by default.")
    ] = None
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
