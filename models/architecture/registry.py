"""Which recipe builds which `model_type`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from models.architecture.deepseek4 import deepseek_v4
from models.architecture.draft import FLOAT32, Draft
from models.architecture.families import Style, dense, latent_moe, sparse
from models.architecture.feedforward import Experts
from models.architecture.fields import Fields
from models.architecture.hybrids import (
    falcon_h1,
    granite_hybrid,
    kimi_linear,
    lfm2,
    nemotron_h,
    qwen_next,
)
from models.architecture.recurrent import jamba, mamba, pure_mamba2
from models.architecture.special import gemma4, gpt_oss, llama4, mimo_v2, step3p5
from models.architecture.zamba import zamba2

Recipe = Callable[[Draft], None]


def _plain(fields: Fields, experts: Experts) -> Experts:
    return replace(experts, name="mlp.")


def _mixtral(fields: Fields, experts: Experts) -> Experts:
    return replace(experts, name="block_sparse_moe.")


def _qwen_moe(fields: Fields, experts: Experts) -> Experts:
    shared = fields.count("shared_expert_intermediate_size")
    return replace(
        experts, shared=shared, shared_gate=bool(shared), shared_name="mlp.shared_expert."
    )


def _minimax(fields: Fields, experts: Experts) -> Experts:
    return replace(
        experts,
        correction=fields.flag("use_routing_bias"),
        router_dtype=FLOAT32,
        name="block_sparse_moe.",
    )


def _glm_moe(fields: Fields, experts: Experts) -> Experts:
    shared = fields.count("n_shared_experts") * experts.intermediate
    return replace(experts, shared=shared, correction=True, router_dtype=FLOAT32)


def _every_sixth(layer: int) -> bool:
    return (layer + 1) % 6 != 0


def _every_fourth(layer: int) -> bool:
    return (layer + 1) % 4 != 0


def _alternate(layer: int) -> bool:
    return layer % 2 == 0


_LLAMA: Final = dense(Style())
_WINDOWED: Final = dense(Style(all_windowed=True))
_QWEN2: Final = dense(Style(qkv_bias=True))
_QWEN3: Final = dense(Style(head_norms=2))
_GEMMA: Final = dense(Style())
_GEMMA2: Final = dense(Style(norms=4, windowed=_alternate))
_GEMMA3: Final = dense(Style(norms=4, head_norms=2, windowed=_every_sixth))
_PHI: Final = dense(
    Style(qkv_bias=True, o_bias=True, norms=1, norm_bias=True, gated=False, mlp_bias=True)
)
_STARCODER2: Final = dense(
    Style(
        qkv_bias=True,
        o_bias=True,
        norm_bias=True,
        gated=False,
        mlp_bias=True,
        all_windowed=True,
    )
)
_GLM_DENSE: Final = dense(Style(qkv_bias=True, norms=4))

RECIPES: Final[Mapping[str, Recipe]] = {
    "llama": _LLAMA,
    "mistral": _WINDOWED,
    "mistral3_text": _LLAMA,
    "ministral3": _LLAMA,
    "ministral": _WINDOWED,
    "granite": _LLAMA,
    "exaone": _LLAMA,
    "internlm2": _LLAMA,
    "internlm3": _LLAMA,
    "phi3": _WINDOWED,
    "phi": _PHI,
    "starcoder2": _STARCODER2,
    "olmo2": dense(Style(wide_norms=True)),
    "cohere": dense(Style(norms=1)),
    "cohere2": dense(Style(norms=1, windowed=_every_fourth)),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma4_text": gemma4,
    "glm": dense(Style(qkv_bias=True)),
    "glm4": _GLM_DENSE,
    "qwen2": _QWEN2,
    "qwen2_vl_text": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_vl_text": _QWEN3,
    "qwen2_moe": sparse(Style(qkv_bias=True), _qwen_moe),
    "qwen3_moe": sparse(Style(head_norms=2), _plain),
    "qwen3_vl_moe_text": sparse(Style(head_norms=2), _plain),
    "qwen3_next": qwen_next,
    "qwen3_5_text": qwen_next,
    "qwen3_5_moe_text": qwen_next,
    "mixtral": sparse(Style(all_windowed=True), _mixtral),
    "minimax_m2": sparse(Style(wide_norms=True), _minimax),
    "glm4_moe": sparse(Style(), _glm_moe),
    "gpt_oss": gpt_oss,
    "llama4_text": llama4,
    "mimo": _QWEN2,
    "mimo_v2_flash": mimo_v2,
    "step3p5": step3p5,
    "step3p7": step3p5,
    "deepseek_v2": latent_moe,
    "deepseek_v3": latent_moe,
    "deepseek_v32": latent_moe,
    "deepseek_v4": deepseek_v4,
    "kimi_k2": latent_moe,
    "glm_moe_dsa": latent_moe,
    "glm4_moe_lite": latent_moe,
    "mistral4": latent_moe,
    "kimi_linear": kimi_linear,
    "nemotron_h": nemotron_h,
    "jamba": jamba,
    "falcon_h1": falcon_h1,
    "granitemoehybrid": granite_hybrid,
    "bamba": granite_hybrid,
    "zamba2": zamba2,
    "mamba": mamba,
    "falcon_mamba": mamba,
    "mamba2": pure_mamba2,
    "lfm2": lfm2,
    "lfm2_moe": lfm2,
}

TEXT_PART: Final[Mapping[str, str]] = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "llama4": "llama4_text",
    "mistral3": "mistral",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "kimi_k25": "kimi_k2",
    "kimi_k3": "kimi_linear",
}
"""The text part's model type where a multimodal configuration does not state it."""
