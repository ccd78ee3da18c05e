"""The options of `onboard`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


@dataclass(frozen=True, kw_only=True, slots=True)
class OnboardOptions:
    """Draft a catalog entry, and tell on which cards the model fits.

    Exits with 1 if its configuration is not understood, or it fits nowhere.
    """

    source: Annotated[
        str | None, Argument(help="A hub id (OWNER/NAME) or a directory of the model.")
    ] = None
    name: Annotated[str | None, Option(help="The catalog name.")] = None
    format: Annotated[
        str | None, Option(help="The weights' format; safetensors says nothing of it.")
    ] = None
    vram_budget: Annotated[
        float | None, Option(min=0.1, help="GiB that the engine may take of each GPU.")
    ] = None
    gpu_pool: Annotated[
        str | None, Option(help="The pool's card; all of the catalog by default.")
    ] = None
    hub_url: Annotated[
        str | None, Option(envvar="HF_ENDPOINT", help="Another hub with the same API.")
    ] = None
    revision: Annotated[str, Option(help="Branch, tag or commit on the hub.")] = "main"
    owner: Annotated[str, Option(help="The role that answers for it.")] = "platform-ml"
    license: Annotated[
        str | None, Option("--license", "--licence", help="In place of the hub's word.")
    ] = None
    vllm_version: Annotated[
        str | None, Option(help="The engine's release; the newest by default.")
    ] = None
    output: Annotated[Path | None, Option(help="Folder to write to; the catalog's by default.")] = (
        None
    )
    dry_run: Annotated[bool, Option("--dry-run", help="Print, write nothing.")] = False
    force: Annotated[bool, Option("--force", help="Overwrite, or write with faults.")] = False
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False
