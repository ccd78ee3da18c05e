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
    machete_awq: bool = True
    """Releases where AWQ goes to Machete on Hopper."""
    trtllm_experts: bool = True
    """Releases where 16-bit experts go to TRT-LLM's kernel on data-center Blackwell."""
    refined_fp8_blocks: bool = True
    """Releases that refine blocks of FP8 scales which ranks cut."""
    dtype: str | None = None
    """`--dtype` where it differs from the checkpoint's."""
    batched_tokens: int = 8192
    """Tokens per step, which the buffers of sparse attention are made for."""
