"""The command line itself: options, help and completion. Each command's work is imported lazily."""

import typer

from cli import check_command, tool_commands
from cli.options import (
    AsJson,
    Batch,
    BlockSize,
    Cases,
    Context,
    Dp,
    Dtype,
    EnablePrefixCaching,
    EnforceEager,
    Ep,
    Gpu,
    GpuMemGib,
    GpuMemoryUtilization,
    HeadDim,
    Heads,
    KvCacheDtype,
    KvCacheMemoryBytes,
    KvHeads,
    Layers,
    Log,
    LogAsJson,
    LogGpu,
    LogModel,
    LogModelConfig,
    LogModelConfigs,
    LogProfiles,
    LogVllmVersion,
    MaxModelLen,
    MaxNumBatchedTokens,
    MaxNumSeqs,
    Model,
    ModelConfig,
    ModelConfigs,
    ModelSize,
    Name,
    NGpus,
    Plot,
    Pp,
    Profiles,
    Quant,
    Set,
    TotalVram,
    Tp,
    UseProfiles,
    VllmVersion,
    Write,
)

app = typer.Typer(
    name="triplane",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def triplane() -> None:
    """Say before anything is created whether a model will run, and what it takes.

    Exit codes: 0 good; 1 a verdict other than fits; 2 input that cannot be used; 3 our own fault.
    """


@app.command()
def budget(
    model: Model = None,
    model_config: ModelConfig = None,
    cases: Cases = None,
    model_configs: ModelConfigs = None,
    gpu: Gpu = None,
    gpu_mem_gib: GpuMemGib = None,
    n_gpus: NGpus = None,
    tp: Tp = None,
    pp: Pp = None,
    dp: Dp = None,
    ep: Ep = None,
    vllm_version: VllmVersion = None,
    max_model_len: MaxModelLen = None,
    gpu_memory_utilization: GpuMemoryUtilization = None,
    max_num_seqs: MaxNumSeqs = None,
    max_num_batched_tokens: MaxNumBatchedTokens = None,
    kv_cache_dtype: KvCacheDtype = None,
    dtype: Dtype = None,
    quant: Quant = None,
    enforce_eager: EnforceEager = None,
    block_size: BlockSize = None,
    enable_prefix_caching: EnablePrefixCaching = None,
    kv_cache_memory_bytes: KvCacheMemoryBytes = None,
    total_vram: TotalVram = None,
    model_size: ModelSize = None,
    batch: Batch = None,
    context: Context = None,
    layers: Layers = None,
    heads: Heads = None,
    kv_heads: KvHeads = None,
    head_dim: HeadDim = None,
    profiles: Profiles = None,
    use_profiles: UseProfiles = True,
    as_json: AsJson = False,
    plot: Plot = None,
) -> int:
    """Tell the GPU memory of a replica: weights, KV cache, tokens, verdict, remedies.

    Fits exits with 0, any other verdict with 1.
    """
    from cli.commands.budget import BudgetOptions, run
    from cli.commands.old_flags import OldFlags

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
    log: Log,
    model: LogModel = None,
    model_config: LogModelConfig = None,
    model_configs: LogModelConfigs = None,
    gpu: LogGpu = None,
    vllm_version: LogVllmVersion = None,
    set_: Set = None,
    name: Name = None,
    write: Write = False,
    profiles: LogProfiles = None,
    as_json: LogAsJson = False,
) -> int:
    """Make a memory profile of a start-up log, with what was predicted beside what was measured."""
    from cli.commands.calibrate import CalibrateOptions, run

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


for _command in (*tool_commands.COMMANDS, check_command.check):
    _ = app.command()(_command)
