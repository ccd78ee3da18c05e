"""The contract of one engine release: what it accepts, exports and needs.

Everything that depends on a vLLM version is read from here (`catalog/engines/<version>.yaml`).
"""

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt

from models.core.base import Model
from models.facts.accelerators import ComputeCapability

Digest = Annotated[str, Field(pattern=r"^(unresolved|sha256:[0-9a-f]{64})$")]
Version = Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]


class Image(Model):
    """A container image: pinned by digest, or by tag with the digest marked `unresolved`."""

    repository: str
    tag: Annotated[str, Field(min_length=1)]
    digest: Digest

    @property
    def reference(self) -> str:
        """The reference to pull: `repository:tag@digest`, or `repository:tag` without a digest."""
        tagged = f"{self.repository}:{self.tag}"
        return tagged if self.digest == "unresolved" else f"{tagged}@{self.digest}"


class Flag(Model):
    """One option of the engine's parser.

    `names` holds every spelling with its dashes, the main one first. `type` is the parser's own
    word (`int`, `bool`, ...); `arity` is argparse's nargs (0 for a switch, `+`, `?`, `*` or none).
    """

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    type: str | None = None
    arity: int | str | None = None
    choices: tuple[str, ...] | None = None
    default: JsonValue = None


class RemovedFlag(Model):
    """An option that earlier releases took: the last release seen with it, and what to use now.

    `gone_in` is the first release seen without it.
    """

    name: str
    last_seen: Version | None
    gone_in: Version | None
    replacement: str | None


class MetricType(StrEnum):
    """Prometheus metric types; `info` is a gauge whose value is always 1."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"
    UNKNOWN = "unknown"


class Metric(Model):
    """One metric: `name` as in the code, `exposed` the series names that Prometheus sees."""

    name: str
    type: MetricType
    exposed: Annotated[tuple[str, ...], Field(min_length=1)]
    labels: tuple[str, ...] = ("model_name", "engine")


class RemovedMetric(Model):
    """A metric name that earlier releases exported, or that only circulates in documents."""

    name: str
    gone_in: Version | None
    replacement: str | None
    reason: str


class SizeDefaults(Model):
    """The server's defaults on cards with at least `min_memory_gib` of memory.

    `except_products` names cards (substring of the product) that fall through to the next row.
    """

    min_memory_gib: Annotated[float, Field(ge=0)]
    except_products: tuple[str, ...] = ()
    max_num_batched_tokens: PositiveInt
    max_num_seqs: PositiveInt


class EngineDefaults(Model):
    """What the engine takes where an argument is not given; two more are in `MemoryBehavior`."""

    block_size: PositiveInt
    enable_prefix_caching: bool


class MemoryBehavior(Model):
    """How a release turns memory into KV blocks: all that depends on the release alone.

    Each field changes at a border (`catalog/engines/borders.yaml`).

    `first_engine_runs`: whether the engine before the rewrite (V0) runs by default, where it is
    asked for, or never. `graphs_deducted`: CUDA graphs are taken out of the KV budget; else they
    live outside it. `no_graph_estimate_for`: architectures (of `config.json`) whose model runner
    estimates no graph memory, so that nothing is deducted for them.
    `reports`: `capacity` is int(concurrency x max_model_len), `blocks` is
    num_blocks // groups x block size. `allocator`: which rounding of the caching allocator the
    log's weight figure shows. `in_flight_batches`: batches that a sliding window must hold at
    once. `hybrid_caching`: hybrid models cache prefixes by default. `null_block`: one block is held
    back in the start-up check. `hybrid_groups`: windows and states have their own KV groups.
    `padded_mxfp4`: MXFP4 experts are padded on Hopper; `marlin_mxfp4`: they go to Marlin there,
    unless somebody installed `triton_kernels` beside. `machete_awq`: AWQ goes to Machete on Hopper.
    `trtllm_experts`: 16-bit experts go to TRT-LLM's kernel on data-center Blackwell.
    `refined_fp8_blocks`: blocks of FP8 scales that ranks cut are refined. `whole_items`: a step
    of a prefix-LM model holds a whole image. `glm_fp8_cache`: GLM 5 takes an FP8 cache by default
    on data-center Blackwell. `prefill_checkpoints`: a state aligned with prefix caching takes one
    block more. `counts_communication`: the profile sees NCCL's buffers. `sampler` `sorts` whole
    rows of logits for top-k and top-p, or does it in a fused kernel. `keeps_load_cache`: the
    profile counts what the allocator still holds from loading. `shards_known`: what a
    rank of several holds after loading is known.
    `gpu_memory_utilization` and `sizes` are the server's defaults.
    """

    first_engine_runs: Literal["default", "optional", "never"]
    graphs_deducted: bool
    no_graph_estimate_for: tuple[str, ...]
    reports: Literal["capacity", "blocks"]
    allocator: Literal["old", "new"]
    mamba_prefix_mode: Literal["none", "align"]
    hybrid_caching: bool
    in_flight_batches: PositiveInt
    null_block: bool
    hybrid_groups: bool
    padded_mxfp4: bool
    marlin_mxfp4: bool
    machete_awq: bool
    trtllm_experts: bool
    refined_fp8_blocks: bool
    whole_items: bool
    glm_fp8_cache: bool
    prefill_checkpoints: bool
    counts_communication: bool
    sampler: Literal["sorts", "fused"]
    keeps_load_cache: bool
    shards_known: bool
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)]
    sizes: Annotated[tuple[SizeDefaults, ...], Field(min_length=1)]


class MinimumCapability(Model):
    """The least compute capability by quantization method, KV cache dtype and compute dtype."""

    engine: ComputeCapability
    quantization: dict[str, ComputeCapability]
    kv_cache_dtype: dict[str, ComputeCapability]
    dtype: dict[str, ComputeCapability]


class Endpoints(Model):
    """HTTP paths of the server."""

    health: str
    metrics: str
    models: str


class EngineContract(Model):
    """One release of vLLM as this project relies on it."""

    version: Version
    image: Image
    command: tuple[str, ...]
    port: PositiveInt
    endpoints: Endpoints
    defaults: EngineDefaults
    memory: MemoryBehavior
    minimum_capability: MinimumCapability
    quantization_names: dict[str, str]
    """The checkpoint's `quant_method` (or what people write) to the engine's method name."""
    load_gib_per_sec: PositiveFloat
    """Weights read per second that probe budgets assume: an assumption, with its reason in the
    catalog file."""
    startup_overhead_sec: PositiveInt
    """Start-up beside reading weights: compilation, graph capture, profiling; an assumption."""
    flags: Annotated[tuple[Flag, ...], Field(min_length=1)]
    removed_flags: tuple[RemovedFlag, ...] = ()
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]
    removed_metrics: tuple[RemovedMetric, ...] = ()

    def flag(self, name: str) -> Flag | None:
        """Return the option with that spelling (exact, with its dashes), or None."""
        return next((flag for flag in self.flags if name in flag.names), None)

    def metric(self, series: str) -> Metric | None:
        """Return the metric that exposes a series of that name, or None."""
        return next((metric for metric in self.metrics if series in metric.exposed), None)

    def series_meant(self, series: str) -> str | None:
        """Return the series that a name which does not exist probably means, or None.

        An underscore for the colon (`vllm_num_requests_running`), `_total` forgotten or put where
        it does not belong, or a removed metric that has a replacement.
        """
        name = re.sub("^vllm[_:]", "vllm:", series)
        bare = name.removesuffix("_total")
        for candidate in (name, bare, f"{name}_total"):
            if self.metric(candidate) is not None:
                return candidate
        suffixes = ("_bucket", "_sum", "_count")
        base = next((bare.removesuffix(end) for end in suffixes if bare.endswith(end)), bare)
        removed = next((row for row in self.removed_metrics if row.name == base), None)
        wanted = removed.replacement if removed else None
        found = next((metric for metric in self.metrics if metric.name == wanted), None)
        if found is None:
            return None
        end = bare.removeprefix(base)
        return next(
            (text for text in found.exposed if end and text.endswith(end)), found.exposed[0]
        )
