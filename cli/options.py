"""The options as types: spellings, help, completion, and the panel that lists them."""

from pathlib import Path
from typing import Annotated

import typer

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


Model = Annotated[
    str | None,
    typer.Argument(
        help="A model of the catalog, a hub id, or a name of the alias table.",
        autocompletion=_complete_model,
    ),
]
ModelConfig = Annotated[
    Path | None,
    typer.Option(help="The model's config.json (or its folder).", rich_help_panel=_CASE),
]
Cases = Annotated[
    Path | None,
    typer.Option(help="Many runs, one JSON object a line; - is stdin.", rich_help_panel=_CASE),
]
ModelConfigs = Annotated[
    Path | None,
    typer.Option(help="Configurations by model name, one JSON object.", rich_help_panel=_CASE),
]
Gpu = Annotated[
    str | None,
    typer.Option(
        help="The card, as people or NVML write it.",
        autocompletion=_complete_gpu,
        rich_help_panel=_CASE,
    ),
]
GpuMemGib = Annotated[
    float | None,
    typer.Option(help="The card's memory as CUDA reports it, GiB.", rich_help_panel=_CASE),
]
NGpus = Annotated[
    int | None, typer.Option(min=1, help="GPUs of the replica.", rich_help_panel=_PARALLEL)
]
Tp = Annotated[
    int | None,
    typer.Option(
        "--tp", "--tensor-parallel-size", min=1, help="Tensor.", rich_help_panel=_PARALLEL
    ),
]
Pp = Annotated[
    int | None,
    typer.Option(
        "--pp", "--pipeline-parallel-size", min=1, help="Pipeline.", rich_help_panel=_PARALLEL
    ),
]
Dp = Annotated[
    int | None,
    typer.Option("--dp", "--data-parallel-size", min=1, help="Data.", rich_help_panel=_PARALLEL),
]
Ep = Annotated[
    bool | None,
    typer.Option(
        "--ep/--no-ep", "--enable-expert-parallel", help="Expert.", rich_help_panel=_PARALLEL
    ),
]
VllmVersion = Annotated[
    str | None,
    typer.Option(help="The release; the pinned one by default.", rich_help_panel=_ENGINE),
]
MaxModelLen = Annotated[int | None, typer.Option(min=1, help="Tokens.", rich_help_panel=_ENGINE)]
GpuMemoryUtilization = Annotated[
    float | None, typer.Option(help="Share of the card, 0 to 1.", rich_help_panel=_ENGINE)
]
MaxNumSeqs = Annotated[
    int | None, typer.Option(min=1, help="Sequences at once.", rich_help_panel=_ENGINE)
]
MaxNumBatchedTokens = Annotated[
    int | None, typer.Option(min=1, help="Tokens per step.", rich_help_panel=_ENGINE)
]
KvCacheDtype = Annotated[
    str | None, typer.Option(help="auto, fp8, bfloat16, ...", rich_help_panel=_ENGINE)
]
Dtype = Annotated[
    str | None, typer.Option(help="auto, bfloat16, float16, ...", rich_help_panel=_ENGINE)
]
Quant = Annotated[
    str | None,
    typer.Option(
        "--quant",
        "--quantization",
        help="Quantization, where the checkpoint does not state it.",
        rich_help_panel=_ENGINE,
    ),
]
EnforceEager = Annotated[
    bool | None,
    typer.Option(
        "--enforce-eager/--no-enforce-eager", help="No CUDA graphs.", rich_help_panel=_ENGINE
    ),
]
BlockSize = Annotated[
    int | None, typer.Option(min=1, help="Tokens per KV block.", rich_help_panel=_ENGINE)
]
EnablePrefixCaching = Annotated[
    bool | None,
    typer.Option(
        "--enable-prefix-caching/--no-enable-prefix-caching",
        help="Reuse the KV cache of shared prefixes.",
        rich_help_panel=_ENGINE,
    ),
]
KvCacheMemoryBytes = Annotated[
    int | None,
    typer.Option(min=1, help="The KV cache, given.", rich_help_panel=_ENGINE),
]
TotalVram = Annotated[
    float | None, typer.Option(help="The card's nominal memory, GB.", rich_help_panel=_OLD)
]
ModelSize = Annotated[
    float | None, typer.Option(help="The checkpoint's size, GB.", rich_help_panel=_OLD)
]
Batch = Annotated[int | None, typer.Option(min=1, help="Sequences at once.", rich_help_panel=_OLD)]
Context = Annotated[
    int | None, typer.Option(min=1, help="Tokens per sequence.", rich_help_panel=_OLD)
]
Layers = Annotated[int | None, typer.Option(min=1, max=10000, help="Layers.", rich_help_panel=_OLD)]
Heads = Annotated[int | None, typer.Option(min=1, max=4096, help="Heads.", rich_help_panel=_OLD)]
KvHeads = Annotated[
    int | None,
    typer.Option(min=1, max=4096, help="KV heads (new).", rich_help_panel=_OLD),
]
HeadDim = Annotated[
    int | None,
    typer.Option(min=1, max=8192, help="Head size (new).", rich_help_panel=_OLD),
]
Profiles = Annotated[
    Path | None,
    typer.Option(help="Folder of memory profiles (see calibrate).", rich_help_panel=_CASE),
]
UseProfiles = Annotated[
    bool,
    typer.Option(
        "--use-profiles/--no-profiles",
        help="Put measurements in place of estimates where a profile fits.",
        rich_help_panel=_CASE,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.", rich_help_panel=_OUT)]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw the stacked budget to an SVG file.", rich_help_panel=_OUT),
]
Log = Annotated[Path, typer.Argument(help="A vLLM start-up log (- reads stdin).")]
LogModel = Annotated[
    str | None,
    typer.Option(
        help="The model, where the log's name is not known.", autocompletion=_complete_model
    ),
]
LogModelConfig = Annotated[
    Path | None, typer.Option(help="The model's config.json (or its folder).")
]
LogModelConfigs = Annotated[
    Path | None, typer.Option(help="Configurations by model name, one JSON object.")
]
LogGpu = Annotated[
    str | None,
    typer.Option(help="The card; logs seldom name it.", autocompletion=_complete_gpu),
]
LogVllmVersion = Annotated[str | None, typer.Option(help="The release, if not in the log.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="An argument that the log lacks: max_num_seqs=64."),
]
Name = Annotated[str | None, typer.Option(help="The profile's name.")]
Write = Annotated[bool, typer.Option("--write", help="Keep the profile for later budgets.")]
LogProfiles = Annotated[
    Path | None, typer.Option(help="Folder of profiles; the catalog's by default.")
]
LogAsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
