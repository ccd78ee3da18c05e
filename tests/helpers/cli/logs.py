"""Start-up logs as vLLM prints them, of an engine that takes other amounts than the model says.

The lines are those of the source distributions (models/engine/startup_log.py names the releases);
the amounts come from the memory model with other constants, so that what a profile predicts can be
compared with what such an engine would say.
"""

from dataclasses import dataclass, replace

from cli.reading.inputs import sources
from models.cases.asking import ask
from models.cases.cases import Case
from models.core.base import GIB
from models.engine.arguments import EngineArguments
from models.memory.terms.constants import FITTED, Fitted
from models.memory.verdict.measure import Measure, measure

ENGINE = replace(
    FITTED,
    activation_floor=0.41,
    context=0.34,
    context_first=0.21,
    graph_base=0.37,
    sampler_sorts=1.01 * FITTED.sampler_sorts,
    sampler_fused=1.01 * FITTED.sampler_fused,
)
"""An engine whose constant parts are other than those that were fitted. One run cannot tell a
constant from what grows with the sequences, so the sampler's factor is near the fitted one."""

HUNGRY = replace(ENGINE, layer_copies=1.9)
"""And one whose layers hold more."""


REPOSITORIES = {"qwen3-8b": "Qwen/Qwen3-8B"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One start of that engine."""

    taken: Measure
    version: str
    model: str
    graphs_taken: float

    @property
    def kv_gib(self) -> float:
        assert self.taken.kv_bytes is not None
        return self.taken.kv_bytes / GIB

    @property
    def tokens(self) -> int:
        return self.taken.plan.tokens(self.taken.blocks)


def start(
    version: str,
    arguments: EngineArguments,
    engine: Fitted = ENGINE,
    model: str = "qwen3-8b",
    gpu: str = "l4",
) -> Run:
    """Return what that engine would measure."""
    case = Case(model=model, gpu=gpu, vllm_version=version)
    request = ask(case, sources({}, pinned=True)).request
    assert request is not None
    card = request.card.model_copy(update={"memory_gib": request.card.memory_gib + 0.02})
    request = request.model_copy(update={"card": card, "arguments": arguments})
    taken = measure(request, engine)
    return Run(
        taken=taken,
        version=version,
        model=REPOSITORIES[model],
        graphs_taken=0.8 * taken.graphs_gib,
    )


def config_line(run: Run, engine: str = "V1 LLM") -> str:
    """Return the line with which the engine prints its configuration."""
    asked, resolved = run.taken.request.arguments, run.taken.resolved
    return (
        f"INFO 11-20 10:00:01 [core.py:140] Initializing a {engine} engine (v{run.version}) with "
        f"config: model='{run.model}', speculative_config=None, tokenizer='{run.model}', "
        f"skip_tokenizer_init=False, revision=None, dtype=torch.{resolved.dtype}, "
        f"max_seq_len={resolved.max_model_len}, download_dir=None, load_format=auto, "
        f"tensor_parallel_size={asked.tensor_parallel_size}, "
        f"pipeline_parallel_size={asked.pipeline_parallel_size}, data_parallel_size=1, "
        "disable_custom_all_reduce=False, quantization=None, "
        f"enforce_eager={resolved.enforce_eager}, kv_cache_dtype={asked.kv_cache_dtype or 'auto'}, "
        f"device_config=cuda, seed=0, served_model_name={run.model}, "
        "enable_prefix_caching=True, enable_chunked_prefill=True, pooler_config=None"
    )


def _asked(run: Run) -> str:
    resolved = run.taken.resolved
    return (
        f"INFO 11-20 10:00:00 [startup.py:96] non-default args: {{'model_tag': '{run.model}', "
        f"'model': '{run.model}', 'max_model_len': {resolved.max_model_len}, "
        f"'gpu_memory_utilization': {resolved.gpu_memory_utilization}, 'max_num_seqs': "
        f"{resolved.max_num_seqs}}}\n"
        f"INFO 11-20 10:00:00 [scheduler.py:311] Chunked prefill is enabled with "
        f"max_num_batched_tokens={resolved.max_num_batched_tokens}."
    )


def log(run: Run) -> str:
    """Return the log in the format of the run's release."""
    release = run.taken.request.behavior.release
    if run.taken.request.behavior.first_engine:
        return _first(run)
    return _now(run) if release >= (0, 31) else _middle(run)


def _capacity_lines(run: Run) -> tuple[str, str]:
    length = run.taken.resolved.max_model_len
    times = run.taken.plan.concurrency(run.taken.blocks)
    return (
        f"GPU KV cache size: {run.tokens:,} tokens",
        f"Maximum concurrency for {length:,} tokens per request: {times:.2f}x",
    )


def _now(run: Run) -> str:
    """0.31 and later: consumed memory in one figure, the peak with the graphs' estimate."""
    taken = run.taken
    card, weights = taken.request.card.memory_gib, taken.weights_gib or 0.0
    utilization = taken.resolved.gpu_memory_utilization
    estimate = taken.graphs_gib
    deducted = estimate if taken.request.behavior.graphs_deducted else 0.0
    lines = [_asked(run), config_line(run)]
    lines.append(f"Model loading took {weights:.2f} GiB memory and 9.123456 seconds")
    if deducted:
        lines.append(f"Estimated CUDA graph memory: {estimate:.2f} GiB total")
    lines.append(f"Available KV cache memory: {run.kv_gib:.2f} GiB")
    if deducted:
        lines.append(
            "CUDA graph memory profiling is enabled (default since v0.21.0). The current "
            f"--gpu-memory-utilization={utilization:.4f} is equivalent to "
            f"--gpu-memory-utilization={utilization - estimate / card:.4f} without CUDA graph "
            "memory profiling."
        )
    lines.append("(EngineCore pid=77) INFO " + ", ".join(_capacity_lines(run)))
    if not taken.resolved.enforce_eager:
        lines.append(f"Graph capturing finished in 11 secs, took {run.graphs_taken:.2f} GiB")
    if deducted:
        lines.append(
            f"CUDA graph pool memory: {run.graphs_taken:.2f} GiB (actual), {estimate:.2f} GiB "
            "(estimated), difference: 0.09 GiB (25.0%)."
        )
    lines.append(
        f"Free memory on device ({card - 0.3:.2f}/{card:.2f} GiB) on startup. Desired GPU memory "
        f"utilization is ({utilization}, {taken.requested_gib:.2f} GiB). Actual usage is "
        f"{weights + taken.non_torch_gib:.2f} GiB for consumed memory (weights + non-torch), "
        f"{taken.activation_gib + deducted:.2f} GiB for peak activation, and "
        f"{run.graphs_taken:.2f} GiB for CUDAGraph memory. Replace gpu_memory_utilization config "
        "with `--kv-cache-memory=2500000000` (2.33 GiB) to fit into requested memory, or "
        "`--kv-cache-memory=4500000000` (4.19 GiB) to fully utilize gpu memory. Current kv cache "
        f"memory in use is {run.kv_gib:.2f} GiB."
    )
    return "\n".join(lines)


def _middle(run: Run) -> str:
    """0.10.2 to 0.24: weights and non-torch memory apart."""
    taken = run.taken
    card, weights = taken.request.card.memory_gib, taken.weights_gib or 0.0
    size, times = _capacity_lines(run)
    lines = [_asked(run), config_line(run)]
    lines.append(f"Model loading took {weights:.4f} GiB and 9.123456 seconds")
    lines.append(f"Available KV cache memory: {run.kv_gib:.2f} GiB")
    lines += [size, times]
    if not taken.resolved.enforce_eager:
        lines.append(f"Graph capturing finished in 21 secs, took {run.graphs_taken:.2f} GiB")
    lines.append(
        f"Free memory on device ({card - 0.3:.2f}/{card:.2f} GiB) on startup. Desired GPU memory "
        f"utilization is ({taken.resolved.gpu_memory_utilization}, {taken.requested_gib:.2f} GiB). "
        f"Actual usage is {weights:.2f} GiB for weight, {taken.activation_gib:.2f} GiB for peak "
        f"activation, {taken.non_torch_gib:.2f} GiB for non-torch memory, and "
        f"{run.graphs_taken:.2f} GiB for CUDAGraph memory. Replace gpu_memory_utilization config."
    )
    return "\n".join(lines)


def _first(run: Run) -> str:
    """The first engine."""
    taken = run.taken
    size = f"{taken.request.card.memory_gib:.2f}GiB"
    return "\n".join(
        [
            config_line(run, engine="LLM").replace("a LLM", "an LLM"),
            f"Loading model weights took {taken.weights_gib:.4f} GB",
            "Memory profiling takes 5.11 seconds",
            f"the current vLLM instance can use total_gpu_memory ({size}) x "
            f"gpu_memory_utilization ({taken.resolved.gpu_memory_utilization:.2f}) = "
            f"{taken.requested_gib:.2f}GiB",
            f"model weights take {taken.weights_gib:.2f}GiB; non_torch_memory takes "
            f"{taken.non_torch_gib:.2f}GiB; PyTorch activation peak memory takes "
            f"{taken.activation_gib:.2f}GiB; the rest of the memory reserved for KV Cache is "
            f"{run.kv_gib:.2f}GiB.",
            f"# cuda blocks: {taken.blocks}, # CPU blocks: 2048",
            f"Maximum concurrency for {taken.resolved.max_model_len} tokens per request: "
            f"{taken.plan.concurrency(taken.blocks):.2f}x",
            f"Graph capturing finished in 14 secs, took {run.graphs_taken:.2f} GiB",
        ]
    )
