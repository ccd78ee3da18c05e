"""Which recipe builds which `model_type`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from models.architecture.blocks.draft import FLOAT32, Draft
from models.architecture.blocks.feedforward import Experts
from models.architecture.config.fields import Fields
from models.architecture.families.classic import bloom, falcon, gpt2, gpt_neox, gptj, opt
from models.architecture.families.common import Style, dense, latent_moe, sparse
from models.architecture.families.deepseek4 import deepseek_v4
from models.architecture.families.gemma3n import gemma3n
from models.architecture.families.hybrids import (
    falcon_h1,
    granite_hybrid,
    kimi_linear,
    lfm2,
    nemotron_h,
    qwen_next,
)
from models.architecture.families.recurrent import jamba, mamba, pure_mamba2
from models.architecture.families.special import (
    ernie_moe,
    gemma4,
    gpt_oss,
    llama4,
    mimo_v2,
    minicpm3,
    step3p5,
)
from models.architecture.families.zamba import zamba2

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


def _granite_moe(fields: Fields, experts: Experts) -> Experts:
    return replace(
        experts,
        shared=fields.count("shared_intermediate_size"),
        name="block_sparse_moe.",
        shared_name="shared_mlp.",
    )


def _exaone_moe(fields: Fields, experts: Experts) -> Experts:
    shared = fields.count("num_shared_experts") * experts.intermediate
    return replace(experts, shared=shared, correction=True)


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
_LAYER_NORMS: Final = Style(qkv_bias=True, o_bias=True, norm_bias=True, gated=False, mlp_bias=True)
_GLM_DENSE: Final = dense(Style(qkv_bias=True, norms=4))

RECIPES: Final[Mapping[str, Recipe]] = {
    "llama": _LLAMA,
    "mistral": _WINDOWED,
    "mistral3_text": _LLAMA,
    "ministral3": _LLAMA,
    "ministral": _WINDOWED,
    "granite": _LLAMA,
    "granite_swa": _LLAMA,
    "exaone": _LLAMA,
    "internlm2": _LLAMA,
    "internlm3": _LLAMA,
    "arcee": dense(Style(gated=False)),
    "apertus": dense(Style(gated=False, head_norms=2)),
    "cwm": dense(Style(windowed=_every_fourth)),
    "ernie4_5": _LLAMA,
    "exaone4": dense(Style(head_norms=2, windowed=_every_fourth)),
    "hunyuan_v1_dense": dense(Style(head_norms=2)),
    "hyperclovax": dense(Style(norms=4)),
    "jais2": dense(_LAYER_NORMS),
    "nemotron": dense(Style(gated=False, norm_bias=True)),
    "olmo": dense(Style(norms=0)),
    "olmo3": dense(Style(wide_norms=True, windowed=_every_fourth)),
    "seed_oss": dense(Style(qkv_bias=True)),
    "smollm3": _LLAMA,
    "stablelm": dense(Style(norm_bias=True)),
    "vaultgemma": dense(Style(windowed=_alternate)),
    "falcon": falcon,
    "gpt2": gpt2,
    "gpt-sw3": gpt2,
    "gpt_neox": gpt_neox,
    "gptj": gptj,
    "opt": opt,
    "bloom": bloom,
    "phi3": _WINDOWED,
    "phi": _PHI,
    "starcoder2": _STARCODER2,
    "olmo2": dense(Style(wide_norms=True)),
    "cohere": dense(Style(norms=1)),
    "cohere2": dense(Style(norms=1, windowed=_every_fourth)),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma3n_text": gemma3n,
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
    "olmoe": sparse(Style(wide_norms=True), _plain),
    "flex_olmo": sparse(Style(wide_norms=True), _plain),
    "granitemoe": sparse(Style(), _granite_moe),
    "granitemoeshared": sparse(Style(), _granite_moe),
    "granitemoe_swa": sparse(Style(), _granite_moe),
    "mellum": sparse(Style(head_norms=2), _plain),
    "ernie4_5_moe": ernie_moe,
    "exaone_moe": sparse(Style(head_norms=2, windowed=_every_fourth), _exaone_moe),
    "phimoe": sparse(
        Style(qkv_bias=True, o_bias=True, norm_bias=True, all_windowed=True), _mixtral
    ),
    "mixtral": sparse(Style(all_windowed=True), _mixtral),
    "minimax_m2": sparse(Style(wide_norms=True), _minimax),
    "glm4_moe": sparse(Style(), _glm_moe),
    "gpt_oss": gpt_oss,
    "llama4_text": llama4,
    "mimo": _QWEN2,
    "mimo_v2_flash": mimo_v2,
    "step3p5": step3p5,
    "step3p7": step3p5,
    "minicpm3": minicpm3,
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
    "gemma3n": "gemma3n_text",
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
