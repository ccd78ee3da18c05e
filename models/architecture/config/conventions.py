"""What NVFP4 checkpoints leave in more bits, for one whose list of exceptions is not at hand.

A case that says `nvfp4`, or a summary that gives the algorithm only, does not tell which modules
are stored so. 21 published checkpoints do: NVIDIA's, by the `hf_quant_config.json` that
aiconfigurator ships, and the two builds of Qwen3.8-27B that vLLM's recipes describe.

- Latent attention stays in 16 bit in all that have it.
- Models with recurrent layers: the split found most often is that of Qwen3.6-27B, Qwen3.6-35B and
  (but for its attention) Nemotron 3.5: attention and mixers in 8 bit, the head in 4. Others leave
  all of attention and mixers in 16 bit (Qwen3.5), or a part of them (Nemotron 3 Nano).
- Attention of other models with experts stays in 16 bit in MiniMax's and Gemma's, not in Qwen3's.
- Dense text models are stored in 4 bit but for the head.

Routers and towers stay in 16 bit everywhere; they are exceptions without being listed.
"""

from typing import Final

from models.architecture.config.quantization import FP8_TENSOR, NONE
from models.architecture.types import Architecture, CacheKind, Rule, SchemeKind

_ATTENTION: Final = ("self_attn", "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj")
_MIXERS: Final = ("linear_attn", "mamba", "in_proj", "out_proj", "x_proj", "dt_proj")
_LATENT: Final = (CacheKind.MLA, CacheKind.MLA_SLIDING)


def with_usual_exceptions(architecture: Architecture) -> Architecture:
    """Return the architecture with the exceptions that its kind of NVFP4 checkpoint usually has.

    Only where the quantization is `assumed`: what a checkpoint states is not touched.
    """
    quantization = architecture.quantization
    if quantization is None or not quantization.assumed:
        return architecture
    if quantization.scheme.kind is not SchemeKind.NVFP4 or quantization.rules:
        return architecture
    changes = {"rules": _rules(architecture), "quantizes_head": _has_states(architecture)}
    return architecture.model_copy(update={"quantization": quantization.model_copy(update=changes)})


def _has_states(architecture: Architecture) -> bool:
    return any(kind.is_state for kind in architecture.attention_kinds)


def _rules(architecture: Architecture) -> tuple[Rule, ...]:
    if _has_states(architecture):
        return (Rule(patterns=(*_MIXERS, *_ATTENTION), scheme=FP8_TENSOR),)
    latent = any(kind in _LATENT for kind in architecture.attention_kinds)
    if latent or architecture.experts:
        return (Rule(patterns=_ATTENTION, scheme=NONE),)
    return ()
