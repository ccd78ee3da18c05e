"""The options of `calibrate`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cli.options import completion


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrateOptions:
    """Make a memory profile of a start-up log, with what was predicted beside what was measured."""

    log: Annotated[Path, Argument(help="A vLLM start-up log (- reads stdin).")]
    model: Annotated[
        str | None,
        Option(
            help="The model, where the log's name is not known.", autocompletion=completion.models
        ),
    ] = None
    model_config: Annotated[
        Path | None, Option(help="The model's config.json (or its folder).")
    ] = None
    model_configs: Annotated[
        Path | None, Option(help="Configurations by model name, one JSON object.")
    ] = None
    gpu: Annotated[
        str | None,
        Option(help="The card; logs seldom name it.", autocompletion=completion.gpus),
    ] = None
    vllm_version: Annotated[str | None, Option(help="The release, if not in the log.")] = None
    settings: Annotated[
        list[str], Option("--set", help="An argument that the log lacks: max_num_seqs=64.")
    ] = field(default_factory=list[str])
    name: Annotated[str | None, Option(help="The profile's name.")] = None
    write: Annotated[bool, Option("--write", help="Keep the profile for later budgets.")] = False
    profiles: Annotated[
        Path | None, Option(help="Folder of profiles; the catalog's by default.")
    ] = None
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
