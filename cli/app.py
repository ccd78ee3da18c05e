"""The command line itself: options, help and completion. Each command's work is imported lazily."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="triplane",
    help="Say before anything is created whether a model will run, and what it takes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_CASE = "The run"
_PARALLEL = "Parallelism"
_ENGINE = "Engine arguments"
_OLD = "The old calculator's flags"
_OUT = "Output"


def _complete_model(incomplete: str) -> list[str]:
    from catalog.loader import load

    return [name for name in load().models if name.startswith(incomplete)]


def _complete_gpu(incomplete: str) -> list[str]:
    from catalog.loader import load

    return [name for name in load().accelerators if name.startswith(incomplete)]


@app.callback()
def triplane() -> None:
    """Say before anything is created whether a model will run, and what it takes.

    Exit codes: 0 good; 1 a verdict other than fits; 2 input that cannot be used; 3 our own fault.
    """


@app.command()
def budget(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A model of the catalogue, a hub id, or a name of the alias table.",
            autocompletion=_complete_model,
        ),
    ] = None,
    model_config: Annotated[
        Path | None,
        typer.Option(help="The model's config.json (or its folder).", rich_help_panel=_CASE),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Many runs, one JSON object a line (- reads stdin).", rich_help_panel=_CASE),
    ] = None,
    model_configs: Annotated[
        Path | None,
        typer.Option(help="Configurations by model name, one JSON object.", rich_help_panel=_CASE),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(
            help="The card, as people or NVML write it.",
            autocompletion=_complete_gpu,
            rich_help_panel=_CASE,
        ),
    ] = None,
    gpu_mem_gib: Annotated[
        float | None,
        typer.Option(help="The card's memory as CUDA reports it, GiB.", rich_help_panel=_CASE),
    ] = None,
    n_gpus: Annotated[
        int | None, typer.Option(min=1, help="GPUs of the replica.", rich_help_panel=_PARALLEL)
    ] = None,
    tp: Annotated[
        int | None,
        typer.Option(
            "--tp", "--tensor-parallel-size", min=1, help="Tensor.", rich_help_panel=_PARALLEL
        ),
    ] = None,
    pp: Annotated[
        int | None,
        typer.Option(
            "--pp", "--pipeline-parallel-size", min=1, help="Pipeline.", rich_help_panel=_PARALLEL
        ),
    ] = None,
    dp: Annotated[
        int | None,
        typer.Option("--dp", "--data-parallel-size", min=1, help="Data.", rich_help_panel=_PARALLEL),
    ] = None,
    ep: Annotated[
        bool | None,
        typer.Option(
            "--ep/--no-ep", "--enable-expert-parallel", help="Expert.", rich_help_panel=_PARALLEL
        ),
    ] = None,
    vllm_version: Annotated[
        str | None,
        typer.Option(help="The engine's release; the pinned one by default.", rich_help_panel=_ENGINE),
    ] = None,
    max_model_len: Annotated[
        int | None, typer.Option(min=1, help="Tokens.", rich_help_panel=_ENGINE)
    ] = None,
    gpu_memory_utilization: Annotated[
        float | None, typer.Option(help="Share of the card, 0 to 1.", rich_help_panel=_ENGINE)
    ] = None,
    max_num_seqs: Annotated[
        int | None, typer.Option(min=1, help="Sequences at once.", rich_help_panel=_ENGINE)
    ] = None,
    max_num_batched_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens per step.", rich_help_panel=_ENGINE)
    ] = None,
    kv_cache_dtype: Annotated[
        str | None, typer.Option(help="auto, fp8, bfloat16, ...", rich_help_panel=_ENGINE)
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(help="auto, bfloat16, float16, ...", rich_help_panel=_ENGINE)
    ] = None,
    quant: Annotated[
        str | None,
        typer.Option(
            "--quant",
            "--quantization",
            help="Quantisation, where the checkpoint does not state it.",
            rich_help_panel=_ENGINE,
        ),
    ] = None,
    enforce_eager: Annotated[
        bool | None,
        typer.Option("--enforce-eager/--no-enforce-eager", help="No CUDA graphs.", rich_help_panel=_ENGINE),
    ] = None,
    block_size: Annotated[
        int | None, typer.Option(min=1, help="Tokens per KV block.", rich_help_panel=_ENGINE)
    ] = None,
    enable_prefix_caching: Annotated[
        bool | None,
        typer.Option(
            "--enable-prefix-caching/--no-enable-prefix-caching",
            help="Reuse the KV cache of shared prefixes.",
            rich_help_panel=_ENGINE,
        ),
    ] = None,
    kv_cache_memory_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="KV cache size, in place of a profile run.", rich_help_panel=_ENGINE),
    ] = None,
    total_vram: Annotated[
        float | None, typer.Option(help="The card's nominal memory, GB.", rich_help_panel=_OLD)
    ] = None,
    model_size: Annotated[
        float | None, typer.Option(help="The checkpoint's size, GB.", rich_help_panel=_OLD)
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Sequences at once.", rich_help_panel=_OLD)
    ] = None,
    context: Annotated[
        int | None, typer.Option(min=1, help="Tokens per sequence.", rich_help_panel=_OLD)
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, help="Layers.", rich_help_panel=_OLD)
    ] = None,
    heads: Annotated[
        int | None, typer.Option(min=1, help="Query heads.", rich_help_panel=_OLD)
    ] = None,
    kv_heads: Annotated[
        int | None,
        typer.Option(min=1, help="KV heads (new: the old tool had none).", rich_help_panel=_OLD),
    ] = None,
    head_dim: Annotated[
        int | None,
        typer.Option(min=1, help="Head size (new: the old tool had none).", rich_help_panel=_OLD),
    ] = None,
    profiles: Annotated[
        Path | None,
        typer.Option(help="Folder of memory profiles (see calibrate).", rich_help_panel=_CASE),
    ] = None,
    use_profiles: Annotated[
        bool,
        typer.Option(
            "--use-profiles/--no-profiles",
            help="Put measurements in place of estimates where a profile fits.",
            rich_help_panel=_CASE,
        ),
    ] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON for programs.", rich_help_panel=_OUT)
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the stacked budget to an SVG file.", rich_help_panel=_OUT),
    ] = None,
) -> int:
    """Tell the GPU memory of a replica: weights, KV cache, tokens, verdict, remedies.

    Fits exits with 0, any other verdict with 1.
    """
    from cli.budget import BudgetOptions, run
    from cli.old_flags import OldFlags

    case = {
        "model": model,
        "gpu": gpu,
        "gpu_mem_gib": gpu_mem_gib,
        "n_gpus": n_gpus,
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "ep": ep,
        "dtype": dtype,
        "quant": quant,
        "kv_cache_dtype": kv_cache_dtype,
        "max_model_len": max_model_len,
        "gpu_memory_utilization": gpu_memory_utilization,
        "max_num_seqs": max_num_seqs,
        "max_num_batched_tokens": max_num_batched_tokens,
        "enforce_eager": enforce_eager,
        "block_size": block_size,
        "enable_prefix_caching": enable_prefix_caching,
        "kv_cache_memory_bytes": kv_cache_memory_bytes,
        "vllm_version": vllm_version,
    }
    return run(
        BudgetOptions(
            case={name: value for name, value in case.items() if value is not None},
            old=OldFlags(
                total_vram=total_vram,
                model_size=model_size,
                layers=layers,
                heads=heads,
                kv_heads=kv_heads,
                head_dim=head_dim,
                batch=batch,
                context=context,
            ),
            model_config=model_config,
            cases=cases,
            model_configs=model_configs,
            profiles=profiles,
            use_profiles=use_profiles,
            as_json=as_json,
            plot=plot,
        )
    )


@app.command()
def calibrate(
    log: Annotated[Path, typer.Argument(help="A vLLM start-up log (- reads stdin).")],
    model: Annotated[
        str | None,
        typer.Option(help="The model, where the log's name is not known.", autocompletion=_complete_model),
    ] = None,
    model_config: Annotated[
        Path | None, typer.Option(help="The model's config.json (or its folder).")
    ] = None,
    model_configs: Annotated[
        Path | None, typer.Option(help="Configurations by model name, one JSON object.")
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(help="The card; logs seldom name it.", autocompletion=_complete_gpu),
    ] = None,
    vllm_version: Annotated[str | None, typer.Option(help="The release, if not in the log.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="An argument that the log lacks: max_num_seqs=64."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The profile's name.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the profile for later budgets.")
    ] = False,
    profiles: Annotated[
        Path | None, typer.Option(help="Folder of profiles; the catalogue's by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> int:
    """Make a memory profile of a start-up log, with what was predicted beside what was measured."""
    from cli.calibrate import CalibrateOptions, run

    return run(
        CalibrateOptions(
            log=log,
            model=model,
            model_config=model_config,
            model_configs=model_configs,
            gpu=gpu,
            vllm_version=vllm_version,
            settings=tuple(set_ or ()),
            name=name,
            write=write,
            profiles=profiles,
            as_json=as_json,
        )
    )
