"""What the pinned engine's own code says of a case: the golden facts, and how one is found.

A golden holds what needs no GPU: weight bytes of one rank, KV groups and page sizes, the need of
one request, blocks and tokens at given bytes, refusals in the engine's words. Activation, CUDA
graphs and communication are in none. `catalog/goldens.py` reads the files; docs/goldens.md tells
how they are made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, JsonValue, NonNegativeInt, PositiveInt

from models.accelerators import ComputeCapability, capability
from models.base import Model
from models.contract import Version


class GoldenResolved(Model):
    """The arguments as the engine resolved them on that card."""

    architecture: str
    dtype: str
    quantization: str | None
    max_model_len: PositiveInt
    max_num_seqs: PositiveInt
    max_num_batched_tokens: PositiveInt
    kv_cache_dtype: str
    prefix_caching: bool
    mamba_cache_mode: str


class GoldenWeights(Model):
    """Weight bytes of rank 0: as created, and as PyTorch's allocator holds them.

    The log's figure is `alloc_new_bytes` from 0.22 on, `alloc_old_bytes` before.
    """

    raw_bytes: NonNegativeInt
    alloc_old_bytes: NonNegativeInt
    alloc_new_bytes: NonNegativeInt


class GoldenGroup(Model):
    """`times` KV cache groups that are alike; `page_bytes` is one layer's page of one block."""

    kind: str
    times: PositiveInt
    layers: PositiveInt
    block_size: PositiveInt
    page_bytes: PositiveInt
    dtype: str | None = None
    num_kv_heads: PositiveInt | None = None
    head_size: PositiveInt | None = None
    sliding_window: PositiveInt | None = None


class GoldenPlan(Model):
    """What the planner makes of `kv_bytes` at one length: blocks and tokens, or a refusal."""

    max_model_len: PositiveInt
    kv_bytes: PositiveInt
    blocks: PositiveInt | None = None
    tokens: NonNegativeInt | None = None
    concurrency: float | None = None
    refusal: str | None = None


class Golden(Model):
    """One case. Where the engine refuses to be configured or built, `refused` has its words.

    `accelerator` is the catalogue's card that stood for its compute capability. What of the
    weights could not be brought into the kernels' form is in `process_failures`: then the bytes are
    those of the checkpoint's form.
    """

    case: str
    accelerator: str
    compute_capability: ComputeCapability
    tensor: PositiveInt
    arguments: dict[str, JsonValue]
    refused: str | None = None
    resolved: GoldenResolved | None = None
    weights: GoldenWeights | None = None
    kernel_backends: tuple[str, ...] = ()
    process_failures: tuple[str, ...] = ()
    attention: tuple[str, ...] = ()
    layout: str | None = None
    groups: tuple[GoldenGroup, ...] = ()
    pool_bytes_per_block: PositiveInt | None = None
    need_bytes: dict[str, PositiveInt] = Field(default_factory=dict)
    """Bytes of one request by max_model_len."""
    plans: tuple[GoldenPlan, ...] = ()

    def asked(self, name: str) -> JsonValue:
        """Return an engine argument of the case; None where it was left to the engine."""
        return self.arguments.get(name)


class ModelGoldens(Model):
    """All goldens of one catalogue model. `config_sha256` is that of the configuration asked."""

    engine: Version
    model: str
    config_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    cases: tuple[Golden, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Goldens:
    """The goldens of one engine release by catalogue model; a file is read when it is asked for."""

    version: str
    models: Mapping[str, ModelGoldens]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a golden must agree in to say something of a replica's weights and KV layout.

    `dtype` and `kv_cache_dtype` are as passed to the engine. `prefix_caching` and `block_size` None
    mean that they are not passed.
    """

    model: str
    config_sha256: str
    capability: tuple[int, int]
    tensor: int
    dtype: str = "auto"
    kv_cache_dtype: str = "auto"
    quantization: str | None = None
    prefix_caching: bool | None = None
    block_size: int | None = None
    attention_backend: str | None = None
    pipeline: int = 1
    data: int = 1
    expert_parallel: bool = False


def find(goldens: Goldens, wanted: Wanted) -> Golden | None:
    """Return the golden of a case, or None where none fits.

    Lengths, sequences and steps are not compared: weights, groups, pages and bytes per block do not
    depend on them; `need_bytes` and `plans` name the length that they are for.
    """
    if wanted.pipeline != 1 or wanted.data != 1 or wanted.expert_parallel:
        return None
    held = goldens.models.get(wanted.model)
    if held is None or held.config_sha256 != wanted.config_sha256:
        return None
    return next((golden for golden in held.cases if _fits(golden, wanted)), None)


def _fits(golden: Golden, wanted: Wanted) -> bool:
    return (
        capability(golden.compute_capability) == wanted.capability
        and golden.tensor == wanted.tensor
        and golden.asked("dtype") == wanted.dtype
        and golden.asked("kv_cache_dtype") == wanted.kv_cache_dtype
        and golden.asked("quantization") == wanted.quantization
        and golden.asked("enable_prefix_caching") == wanted.prefix_caching
        and golden.asked("block_size") == wanted.block_size
        and golden.asked("attention_backend") == wanted.attention_backend
    )
