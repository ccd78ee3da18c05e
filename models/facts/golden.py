"""What the pinned engine's own code says of a case: the golden facts.

A golden holds what needs no GPU: weight bytes of one rank, KV groups and page sizes, the need of
one request, blocks and tokens at given bytes, refusals in the engine's words. Activation, CUDA
graphs and communication are in none. `catalog/readers/goldens.py` reads the files,
`models/memory/verdict/goldens.py` finds the golden of a request; docs/goldens.md tells how they are
made.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, JsonValue, NonNegativeInt, PositiveInt

from models.core.base import Model
from models.facts.accelerators import ComputeCapability
from models.facts.contract import Version


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

    `accelerator` is the catalog's card that stood for its compute capability. What of the
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
    """All goldens of one catalog model. `config_sha256` is that of the configuration asked."""

    engine: Version
    model: str
    config_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    cases: tuple[Golden, ...]

    def case_of(self, name: str) -> str:
        """Return what a case is called in messages: release, model, case."""
        return f"{self.engine} {self.model} {name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Goldens:
    """The goldens of one engine release by catalog model; a file is read when it is asked for."""

    version: str
    models: Mapping[str, ModelGoldens]

    def of(self, name: str, config: Mapping[str, JsonValue]) -> ModelGoldens | None:
        """Return a model's goldens; None where there are none of this very configuration."""
        held = self.models.get(name)
        return held if held is not None and held.config_sha256 == config_sha256(config) else None


def config_sha256(config: Mapping[str, JsonValue]) -> str:
    """Return the hash of a `config.json` by its values, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode()).hexdigest()
