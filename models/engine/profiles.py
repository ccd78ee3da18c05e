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
    pipeline: PositiveInt = 1
    data: PositiveInt = 1
    expert: bool = False

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
    """What a deployment changes of its environment's profile; None keeps the profile's value.

    `extra_args` are passed as they are after ours; one that the engine does not know, or that
    repeats one of ours, is refused.
    """

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=MOST_UTILIZATION)] | None = None
    max_model_len: Count | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Count | None = None
    kv_cache_dtype: str | None = None
    dtype: str | None = None
    enable_prefix_caching: bool | None = None
    block_size: Count | None = None
    enforce_eager: bool | None = None
    kv_cache_memory_bytes: CacheBytes | None = None
    extra_args: tuple[str, ...] = ()

    def given(self) -> dict[str, object]:
        """Return the arguments that the deployment sets."""
        return self.model_dump(exclude={"extra_args"}, exclude_none=True)
