"""One rank of a replica, as far as its weights go."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank:
    """One rank of a replica: its place in the tensor, pipeline and expert groups."""

    tensor: int = 1
    pipeline: int = 1
    stage: int = 0
    data: int = 1
    expert_parallel: bool = False
    capability: tuple[int, int] = (9, 0)
    padded_mxfp4: bool = False
    """Releases whose Triton kernels for MXFP4 experts were padded on Hopper."""
    marlin_mxfp4: bool = False
    """Releases without those kernels: Marlin takes MXFP4 experts on Hopper too."""
    release: tuple[int, int] = (0, 33)
    """The engine's, which decides what other kernels do."""
    dtype: str | None = None
    """`--dtype` where it differs from the checkpoint's."""
    batched_tokens: int = 8192
    """Tokens per step, which the buffers of sparse attention are made for."""
