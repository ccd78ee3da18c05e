"""The options of every command beside `budget` and `check`; their work is imported lazily."""

from pathlib import Path
from typing import Annotated

import typer

from models.engine.arguments import Environment
from models.placement.place import Strategy

_JSON = typer.Option("--json", help="JSON for programs.")
_LOAD, _PRICE, _TIERS = "Load", "Price of a prompt token", "Tiers"


def select(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Directories, config.json files, catalog names or hub ids."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="The same, as the old tool took it.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="The weights' format, in place of what is detected."),
    ] = None,
    env: Annotated[
        list[Environment] | None, typer.Option("--env", help="Environments; all by default.")
    ] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", help="Cards; the smallest that hold it by default."),
    ] = None,
    tp: Annotated[
        int | None,
        typer.Option("--tp", "--tensor-parallel-size", min=1, help="In place of the fewest GPUs."),
    ] = None,
    max_model_len: Annotated[
        int | None, typer.Option(min=1, help="Tokens, in place of the profile's.")
    ] = None,
    vllm_version: Annotated[
        str | None, typer.Option(help="The engine's release; the pinned one by default.")
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """Choose the engine arguments of a model, with the reason of each.

    Exits with 1 if a choice would not start or not serve.
    """
    from cli.commands.select import SelectOptions, run

    return run(
        SelectOptions(
            models=(*(models or ()), *(model or ())),
            format=format_,
            environments=tuple(env or ()),
            gpus=tuple(gpu or ()),
            tp=tp,
            max_model_len=max_model_len,
            engine=vllm_version,
            as_json=as_json,
        )
    )


def roi(
    requests_per_sec: Annotated[
        float, typer.Option(help="Requests at the peak.", rich_help_panel=_LOAD)
    ],
    prompt_tokens: Annotated[
        float, typer.Option(help="Tokens of one prompt.", rich_help_panel=_LOAD)
    ],
    hit_rate: Annotated[
        float, typer.Option(help="Share of prompt tokens found.", rich_help_panel=_LOAD)
    ],
    baseline_hit_rate: Annotated[
        float | None,
        typer.Option(help="Found without the tiers, 0 to 1.", rich_help_panel=_LOAD),
    ] = None,
    load_factor: Annotated[
        float | None, typer.Option(help="Average load over the peak.", rich_help_panel=_LOAD)
    ] = None,
    hit_cost_share: Annotated[
        float | None,
        typer.Option(help="Cost of a hit over computing it.", rich_help_panel=_LOAD),
    ] = None,
    prefill_usd_per_token: Annotated[
        float | None, typer.Option(help="USD per token computed.", rich_help_panel=_PRICE)
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(help="A card whose price the catalog has.", rich_help_panel=_PRICE),
    ] = None,
    region: Annotated[
        str, typer.Option(help="Where that price holds.", rich_help_panel=_PRICE)
    ] = "us-east-1",
    gpu_usd_per_hour: Annotated[
        float | None, typer.Option(help="USD per GPU and hour.", rich_help_panel=_PRICE)
    ] = None,
    prefill_tokens_per_sec: Annotated[
        float | None,
        typer.Option(help="Tokens per second of a replica.", rich_help_panel=_PRICE),
    ] = None,
    gpus_per_replica: Annotated[
        int | None, typer.Option(help="GPUs of a replica.", rich_help_panel=_PRICE)
    ] = None,
    gpu_busy_share: Annotated[
        float | None, typer.Option(help="Share of the hour in use.", rich_help_panel=_PRICE)
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(help="Nodes with local tiers.", rich_help_panel=_TIERS)
    ] = None,
    cpu_gib: Annotated[
        float | None, typer.Option(help="GiB of host memory, a node.", rich_help_panel=_TIERS)
    ] = None,
    nvme_gib: Annotated[
        float | None, typer.Option(help="GiB of NVMe, a node.", rich_help_panel=_TIERS)
    ] = None,
    remote_gib: Annotated[
        float | None, typer.Option(help="GiB of remote storage.", rich_help_panel=_TIERS)
    ] = None,
    cpu_usd_per_gib_month: Annotated[
        float | None, typer.Option(help="USD per GiB and month.", rich_help_panel=_TIERS)
    ] = None,
    nvme_usd_per_gib_month: Annotated[
        float | None, typer.Option(help="USD per GiB and month.", rich_help_panel=_TIERS)
    ] = None,
    remote_usd_per_gib_month: Annotated[
        float | None, typer.Option(help="USD per GiB and month.", rich_help_panel=_TIERS)
    ] = None,
    other_usd_per_hour: Annotated[
        float | None, typer.Option(help="Cache servers, network.", rich_help_panel=_TIERS)
    ] = None,
    hours_per_month: Annotated[
        float | None, typer.Option(help="Hours of a month.", rich_help_panel=_TIERS)
    ] = None,
    kv_bytes_per_token: Annotated[
        float | None, typer.Option(help="For tokens held and rates.", rich_help_panel=_TIERS)
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """Tell what a KV cache outside the GPU saves and costs. Exits with 1 if it does not pay."""
    from cli.commands.roi import RoiOptions, run

    fields = {
        "requests_per_sec": requests_per_sec,
        "prompt_tokens": prompt_tokens,
        "hit_rate": hit_rate,
        "baseline_hit_rate": baseline_hit_rate,
        "load_factor": load_factor,
        "hit_cost_share": hit_cost_share,
        "prefill_usd_per_token": prefill_usd_per_token,
        "gpu_usd_per_hour": gpu_usd_per_hour,
        "prefill_tokens_per_sec": prefill_tokens_per_sec,
        "gpus_per_replica": gpus_per_replica,
        "gpu_busy_share": gpu_busy_share,
        "nodes": nodes,
        "cpu_gib": cpu_gib,
        "nvme_gib": nvme_gib,
        "remote_gib": remote_gib,
        "cpu_usd_per_gib_month": cpu_usd_per_gib_month,
        "nvme_usd_per_gib_month": nvme_usd_per_gib_month,
        "remote_usd_per_gib_month": remote_usd_per_gib_month,
        "other_usd_per_hour": other_usd_per_hour,
        "hours_per_month": hours_per_month,
        "kv_bytes_per_token": kv_bytes_per_token,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return run(RoiOptions(given=given, gpu=gpu, region=region, as_json=as_json))


def place(
    file: Annotated[
        Path | None, typer.Argument(help="GPUs and models, YAML or JSON (docs/tools.md).")
    ] = None,
    preset: Annotated[
        Path | None, typer.Option(help="The same file, as what is wanted beside --state.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="What runs now, such as the output of place --json.")
    ] = None,
    gpus: Annotated[
        list[str] | None,
        typer.Option(help="GPUs in place of the file's: 4xl4,big=8xh100-80gb (one node each)."),
    ] = None,
    strategy: Annotated[Strategy | None, typer.Option(help="maximize-models by default.")] = None,
    reserve_gib: Annotated[
        float | None, typer.Option(min=0, help="GiB of each GPU kept free (0.5).")
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """Place many models on given GPUs, or tell the fewest steps from what runs to a preset.

    Exits with 1 if a model finds no place.
    """
    from cli.commands.place import PlaceOptions, run

    return run(
        PlaceOptions(
            file=file,
            preset=preset,
            state=state,
            gpus=tuple(gpus or ()),
            strategy=strategy,
            reserve_gib=reserve_gib,
            as_json=as_json,
        )
    )


def onboard(
    source: Annotated[
        str | None, typer.Argument(help="A hub id (OWNER/NAME) or a directory of the model.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The catalog name.")] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="The weights' format; safetensors says nothing of it."),
    ] = None,
    vram_budget: Annotated[
        float | None, typer.Option(min=0.1, help="GiB that the engine may take of each GPU.")
    ] = None,
    gpu_pool: Annotated[
        str | None, typer.Option(help="The pool's card; all of the catalog by default.")
    ] = None,
    hub_url: Annotated[
        str | None, typer.Option(envvar="HF_ENDPOINT", help="Another hub with the same API.")
    ] = None,
    revision: Annotated[str, typer.Option(help="Branch, tag or commit on the hub.")] = "main",
    owner: Annotated[str, typer.Option(help="The role that answers for it.")] = "platform-ml",
    license: Annotated[
        str | None, typer.Option("--license", "--license", help="In place of the hub's word.")
    ] = None,
    vllm_version: Annotated[
        str | None, typer.Option(help="The engine's release; the newest by default.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder to write to; the catalog's by default.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print, write nothing.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite, or write with faults.")
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """Draft a catalog entry, and tell on which cards the model fits.

    Exits with 1 if its configuration is not understood, or it fits nowhere.
    """
    from cli.commands.onboard import OnboardOptions, run

    return run(
        OnboardOptions(
            source=source,
            name=name,
            format=format_,
            vram_budget=vram_budget,
            gpu_pool=gpu_pool,
            hub_url=hub_url,
            revision=revision,
            owner=owner,
            license=license,
            engine=vllm_version,
            output=output,
            dry_run=dry_run,
            force=force,
            as_json=as_json,
        )
    )


def changes(
    preview: Annotated[
        Path,
        typer.Argument(help="`pulumi preview --json`, or an event log; - for standard input."),
    ],
    approve: Annotated[
        list[str] | None,
        typer.Option(help="Kind/namespace/name whose data may be lost, beside the settings'."),
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """Tell what a preview would replace, delete or lose.

    Exits with 1 if data would be lost, or nobody can tell.
    """
    from cli.commands.changes import ChangesOptions, run

    return run(ChangesOptions(preview=preview, approved=tuple(approve or ()), as_json=as_json))


def explain(
    rules: Annotated[
        list[str] | None, typer.Argument(help="Ids as messages print them; all by default.")
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """Tell what a rule holds, why, and how to mend what it finds."""
    from cli.commands.explain import ExplainOptions, run

    return run(ExplainOptions(rules=tuple(rules or ()), as_json=as_json))


COMMANDS = (select, roi, place, onboard, changes, explain)
