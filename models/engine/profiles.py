"""What a stack says of its engines: the environment's profile, overrides, parallelism.

The names are those of `EngineArguments`, parallelism apart.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, PositiveInt

from models.core.base import Model
from models.engine.arguments import MOST_UTILIZATION, CacheBytes, Count


class Environment(StrEnum):
    """The stack's environment; it selects the engine profile."""

    DEV = "dev"
    STAGING = "staging"
    PROD = "prod"


class EngineProfile(Model):
    """An environment's engine defaults (docs/settings.md)."""

    gpu_memory_utilization: float
    max_model_len: PositiveInt
    max_num_seqs: PositiveInt
    kv_cache_dtype: str
    enable_prefix_caching: bool
    block_size: PositiveInt


PROFILES: Final[Mapping[Environment, EngineProfile]] = {
    Environment.PROD: EngineProfile(
        gpu_memory_utilization=0.90,
        max_model_len=8192,
        max_num_seqs=256,
        kv_cache_dtype="fp8",
        enable_prefix_caching=True,
        block_size=16,
    ),
    Environment.STAGING: EngineProfile(
        gpu_memory_utilization=0.88,
        max_model_len=8192,
        max_num_seqs=128,
        kv_cache_dtype="fp8",
        enable_prefix_caching=True,
        block_size=16,
    ),
    Environment.DEV: EngineProfile(
        gpu_memory_utilization=0.85,
        max_model_len=4096,
        max_num_seqs=64,
        kv_cache_dtype="fp8",
        enable_prefix_caching=True,
        block_size=16,
    ),
}


class Parallelism(Model):
    """How one replica is spread over GPUs, as a deployment says it."""

    tensor: PositiveInt = 1
    """Ranks that each hold a slice of every layer."""
    pipeline: PositiveInt = 1
    """Stages that each hold some of the layers."""
    data: PositiveInt = 1
    """Engines in one replica."""
    expert: bool = False
    """Spreads a mixture's experts over the ranks instead of slicing each."""

    @property
    def gpus(self) -> int:
        """GPUs that one replica takes."""
        return self.tensor * self.pipeline * self.data

    def arguments(self) -> dict[str, object]:
        """Return the engine's arguments that say the same."""
        return {
            "tensor_parallel_size": self.tensor,
            "pipeline_parallel_size": self.pipeline,
            "data_parallel_size": self.data,
            "enable_expert_parallel": self.expert,
        }


class EngineOverrides(Model):
    """What a deployment changes of its environment's profile; what is not given keeps the profile's
    value.
    """

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=MOST_UTILIZATION)] | None = None
    """Share of a card's memory that the engine claims."""
    max_model_len: Count | None = None
    """Tokens of one request, prompt and answer."""
    max_num_seqs: Count | None = None
    """Requests that run at once."""
    max_num_batched_tokens: Count | None = None
    """Tokens of one step."""
    kv_cache_dtype: str | None = None
    """How the KV cache is stored, such as `fp8` or `auto`."""
    dtype: str | None = None
    """What the engine computes in."""
    enable_prefix_caching: bool | None = None
    """Whether requests that begin alike share KV blocks."""
    block_size: Count | None = None
    """Tokens of one KV block."""
    enforce_eager: bool | None = None
    """Without CUDA graphs: less memory, slower decoding."""
    kv_cache_memory_bytes: CacheBytes | None = None
    """The KV cache's size (bytes), instead of a share of the card."""
    extra_args: tuple[str, ...] = ()
    """Further arguments, passed after ours as they are; one that the engine does not know, or that
    repeats one of ours, is refused."""

    def given(self) -> dict[str, object]:
        """Return the arguments that the deployment sets."""
        return self.model_dump(exclude={"extra_args"}, exclude_none=True)
