"""Families of Qwen, from 2 to 3.5."""

from typing import Final

from pydantic import JsonValue

from models.architecture.families.family import ModelFamily, Multimodal
from models.architecture.families.recipes.common import Style, dense, sparse
from models.architecture.families.recipes.experts import plain, with_shared_gate
from models.architecture.families.recipes.hybrids import qwen_next
from models.architecture.traits import EngineTraits

_QWEN2: Final = dense(Style(qkv_bias=True))
_QWEN3: Final = dense(Style(head_norms=2))
_QWEN3_MOE: Final = sparse(Style(head_norms=2), plain)
_LINEAR: Final[dict[str, JsonValue]] = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "full_attention_interval": 4,
    "head_dim": 256,
    "partial_rotary_factor": 0.25,
}

RECORDS: Final = (
    ModelFamily(name="qwen2", recipe=_QWEN2, classes=("Qwen2ForCausalLM",)),
    ModelFamily(name="qwen2_vl_text", recipe=_QWEN2, outer=(Multimodal(name="qwen2_vl"),)),
    ModelFamily(name="qwen2_5_vl_text", recipe=_QWEN2, outer=(Multimodal(name="qwen2_5_vl"),)),
    ModelFamily(
        name="qwen2_moe",
        recipe=sparse(Style(qkv_bias=True), with_shared_gate),
        classes=("Qwen2MoeForCausalLM",),
    ),
    ModelFamily(
        name="qwen3", recipe=_QWEN3, classes=("Qwen3ForCausalLM",), defaults={"head_dim": 128}
    ),
    ModelFamily(
        name="qwen3_vl_text",
        recipe=_QWEN3,
        classes=("Qwen3VLForConditionalGeneration",),
        outer=(Multimodal(name="qwen3_vl"),),
        engine=EngineTraits(first_release=(0, 11)),
    ),
    ModelFamily(name="qwen3_moe", recipe=_QWEN3_MOE, classes=("Qwen3MoeForCausalLM",)),
    ModelFamily(
        name="qwen3_vl_moe_text",
        recipe=_QWEN3_MOE,
        classes=("Qwen3VLMoeForConditionalGeneration",),
        outer=(Multimodal(name="qwen3_vl_moe"),),
        engine=EngineTraits(first_release=(0, 11)),
    ),
    ModelFamily(
        name="qwen3_next",
        recipe=qwen_next,
        classes=("Qwen3NextForCausalLM",),
        defaults=_LINEAR,
    ),
    # vLLM's recipes name 0.17 for Qwen3.5.
    ModelFamily(
        name="qwen3_5_text",
        recipe=qwen_next,
        classes=("Qwen3_5ForConditionalGeneration",),
        outer=(Multimodal(name="qwen3_5"),),
        defaults=_LINEAR,
        ties_itself=True,
        engine=EngineTraits(first_release=(0, 17)),
    ),
    ModelFamily(
        name="qwen3_5_moe_text",
        recipe=qwen_next,
        classes=("Qwen3_5MoeForConditionalGeneration",),
        outer=(Multimodal(name="qwen3_5_moe"),),
        defaults=_LINEAR,
        ties_itself=True,
        engine=EngineTraits(first_release=(0, 17)),
    ),
)
