"""The options of `budget`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from typer import Argument, Option

from cli.options import completion
from cli.options.old_flags import OldFlags

if TYPE_CHECKING:
    from pydantic import JsonValue

_CASE: Final = "The run"
_PARALLEL: Final = "Parallelism"
_ENGINE: Final = "Engine arguments"
_OUT: Final = "Output"


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseOptions:
    """Fields of a case (`models/cases/cases.py`)."""

    model: Annotated[
        str | None,
        Argument(
            help="A model of the catalog, a hub id, or a name of the alias table.",
            autocompletion=completion.models,
        ),
    ] = None
    gpu: Annotated[
        str | None,
        Option(
            help="The card, as people or NVML write it.",
            autocompletion=completion.gpus,
            rich_help_panel=_CASE,
        ),
    ] = None
    gpu_mem_gib: Annotated[
        float | None,
        Option(help="The card's memory as CUDA reports it, GiB.", rich_help_panel=_CASE),
    ] = None
    n_gpus: Annotated[
        int | None, Option(min=1, help="GPUs of the replica.", rich_help_panel=_PARALLEL)
    ] = None
    tp: Annotated[
        int | None,
        Option("--tp", "--tensor-parallel-size", min=1, help="Tensor.", rich_help_panel=_PARALLEL),
    ] = None
    pp: Annotated[
        int | None,
        Option(
            "--pp", "--pipeline-parallel-size", min=1, help="Pipeline.", rich_help_panel=_PARALLEL
        ),
    ] = None
    dp: Annotated[
        int | None,
        Option("--dp", "--data-parallel-size", min=1, help="Data.", rich_help_panel=_PARALLEL),
    ] = None
    ep: Annotated[
        bool | None,
        Option(
            "--ep/--no-ep", "--enable-expert-parallel", help="Expert.", rich_help_panel=_PARALLEL
        ),
    ] = None
    vllm_version: Annotated[
        str | None, Option(help="The release; the pinned one by default.", rich_help_panel=_ENGINE)
    ] = None
    max_model_len: Annotated[int | None, Option(min=1, help="Tokens.", rich_help_panel=_ENGINE)] = (
        None
    )
    gpu_memory_utilization: Annotated[
        float | None, Option(help="Share of the card, 0 to 1.", rich_help_panel=_ENGINE)
    ] = None
    max_num_seqs: Annotated[
        int | None, Option(min=1, help="Sequences at once.", rich_help_panel=_ENGINE)
    ] = None
    max_num_batched_tokens: Annotated[
        int | None, Option(min=1, help="Tokens per step.", rich_help_panel=_ENGINE)
    ] = None
    kv_cache_dtype: Annotated[
        str | None, Option(help="auto, fp8, bfloat16, ...", rich_help_panel=_ENGINE)
    ] = None
    dtype: Annotated[
        str | None, Option(help="auto, bfloat16, float16, ...", rich_help_panel=_ENGINE)
    ] = None
    quant: Annotated[
        str | None,
        Option(
            "--quant",
            "--quantization",
            help="Quantization, where the checkpoint does not state it.",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    enforce_eager: Annotated[
        bool | None,
        Option(
            "--enforce-eager/--no-enforce-eager", help="No CUDA graphs.", rich_help_panel=_ENGINE
        ),
    ] = None
    block_size: Annotated[
        int | None, Option(min=1, help="Tokens per KV block.", rich_help_panel=_ENGINE)
    ] = None
    enable_prefix_caching: Annotated[
        bool | None,
        Option(
            "--enable-prefix-caching/--no-enable-prefix-caching",
            help="Reuse the KV cache of shared prefixes.",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    kv_cache_memory_bytes: Annotated[
        int | None, Option(min=1, help="The KV cache, given.", rich_help_panel=_ENGINE)
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetOptions:
    """Tell the GPU memory of a replica: weights, KV cache, tokens, verdict, remedies.

    Fits exits with 0, any other verdict with 1.
    """

    model_config: Annotated[
        Path | None,
        Option(help="The model's config.json (or its folder).", rich_help_panel=_CASE),
    ] = None
    cases: Annotated[
        Path | None,
        Option(help="Many runs, one JSON object a line; - is stdin.", rich_help_panel=_CASE),
    ] = None
    model_configs: Annotated[
        Path | None,
        Option(help="Configurations by model name, one JSON object.", rich_help_panel=_CASE),
    ] = None
    case_options: CaseOptions = field(default_factory=CaseOptions)
    old: OldFlags = field(default_factory=OldFlags)
    profiles: Annotated[
        Path | None,
        Option(help="Folder of memory profiles (see calibrate).", rich_help_panel=_CASE),
    ] = None
    use_profiles: Annotated[
        bool,
        Option(
            "--use-profiles/--no-profiles",
            help="Put measurements in place of estimates where a profile fits.",
            rich_help_panel=_CASE,
        ),
    ] = True
    as_json: Annotated[bool, Option("--json", help="JSON for programs.", rich_help_panel=_OUT)] = (
        False
    )
    plot: Annotated[
        Path | None,
        Option(help="Draw the stacked budget to an SVG file.", rich_help_panel=_OUT),
    ] = None

    @property
    def case(self) -> Mapping[str, "JsonValue"]:
        """The fields of a case that are given."""
        names = [each.name for each in fields(self.case_options)]
        values = {name: getattr(self.case_options, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}
