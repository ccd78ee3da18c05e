"""What an engine does for one family of models that no size of its architecture tells.

The memory model reads these from the `Architecture`, never from a model type.
"""

from models.core.base import Model

Release = tuple[int, int]
"""An engine release: major and minor number."""


class EngineTraits(Model):
    """How the engine treats a family where it differs from other models of the same shapes."""

    first_release: Release | None = None
    """The first release known to hold the family; None for one that 0.10.2 held already.

    For runs that do not say their release. From `model_executor/models/registry.py` of the source
    distributions of 0.9.2, 0.10.2, 0.11.0, 0.12.0, 0.13.0, 0.16.0, 0.18.0, 0.20.0 to 0.22.0,
    0.24.0, 0.31.0 and 0.33.0: the earliest of these with the class, or an earlier one that the
    record names a run or recipe for.
    """
    transformers_backend: bool = False
    """Whether the engine has no class of its own and runs that of transformers.

    vLLM 0.33.0 `model_executor/models/registry.py`.
    """
    refuses_float16: bool = False
    """Whether the engine refuses float16, for numerical instability: vLLM 0.33.0 `config/model.py`
    `_FLOAT16_NOT_SUPPORTED_MODELS`."""
    mxfp4_by_triton: bool = False
    """Whether Triton's kernels take MXFP4 experts on Hopper, instead of Humming: vLLM 0.33.0
    `fused_moe/oracle/mxfp4.py`."""
    experts_by_trtllm: bool = True
    """Whether FlashInfer's TRT-LLM kernels may take 16-bit experts on Blackwell.

    They know some ways of routing only; Cutlass takes the rest (vLLM 0.33.0
    `fused_moe/experts/trtllm_bf16_moe.py`, `_supports_routing_method`).
    """
    prefers_fp8_cache: bool = False
    """Whether `auto` means an FP8 KV cache on data-center Blackwell, in releases that do so."""
    indexer_step_bytes: int = 1024
    """Bytes per token of a step and layer beside sparse attention's indexer, where it has one.

    Measured on the golden of DeepSeek V3.2, not traced.
    """
