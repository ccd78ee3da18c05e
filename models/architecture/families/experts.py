"""Families with a mixture of experts and grouped-query attention, Qwen's apart."""

from typing import Final

from models.architecture.blocks.rotary import RotaryTables
from models.architecture.families.family import ModelFamily, Multimodal, Summary
from models.architecture.families.recipes import experts
from models.architecture.families.recipes.common import Style, every_fourth, sparse
from models.architecture.families.recipes.special import (
    ernie_moe,
    gpt_oss,
    llama4,
    mimo_v2,
    step3p5,
)
from models.architecture.traits import EngineTraits

_GRANITE: Final = sparse(Style(), experts.granite)
_WIDE: Final = sparse(Style(wide_norms=True), experts.plain)


def _step(config: Summary) -> None:
    """Summaries count Step's experts and dense layers as DeepSeek's class does."""
    config["moe_num_experts"] = config.pop("num_experts", None)
    config["moe_top_k"] = config.pop("num_experts_per_tok", None)
    shared, size = config.pop("n_shared_experts", None), config.get("moe_intermediate_size")
    if isinstance(shared, int) and isinstance(size, int):
        config["share_expert_dim"] = shared * size
    first, layers = config.pop("first_k_dense_replace", None), config.get("num_hidden_layers")
    if isinstance(first, int) and isinstance(layers, int) and 0 <= first < layers <= 1024:
        config["moe_layers_enum"] = ",".join(map(str, range(first, layers)))


RECORDS: Final = (
    ModelFamily(
        name="mixtral",
        recipe=sparse(Style(all_windowed=True), experts.block_sparse),
        classes=("MixtralForCausalLM",),
        defaults={"num_local_experts": 8, "num_experts_per_tok": 2},
    ),
    ModelFamily(
        name="phimoe",
        recipe=sparse(
            Style(qkv_bias=True, o_bias=True, norm_bias=True, all_windowed=True),
            experts.block_sparse,
        ),
    ),
    ModelFamily(name="olmoe", recipe=_WIDE),
    ModelFamily(name="flex_olmo", recipe=_WIDE, engine=EngineTraits(transformers_backend=True)),
    ModelFamily(name="granitemoe", recipe=_GRANITE),
    ModelFamily(name="granitemoeshared", recipe=_GRANITE),
    ModelFamily(name="granitemoe_swa", recipe=_GRANITE),
    ModelFamily(
        name="mellum",
        recipe=sparse(Style(head_norms=2), experts.plain),
        engine=EngineTraits(transformers_backend=True),
    ),
    ModelFamily(name="ernie4_5_moe", recipe=ernie_moe, tied=True),
    ModelFamily(
        name="exaone_moe",
        recipe=sparse(Style(head_norms=2, windowed=every_fourth), experts.exaone),
    ),
    ModelFamily(
        name="minimax_m2",
        recipe=sparse(Style(wide_norms=True), experts.minimax),
        classes=("MiniMaxM2ForCausalLM",),
        engine=EngineTraits(first_release=(0, 12)),
    ),
    ModelFamily(
        name="glm4_moe",
        recipe=sparse(Style(), experts.glm),
        classes=("Glm4MoeForCausalLM",),
        defaults={"partial_rotary_factor": 0.5},
    ),
    # Sinks, and rotary tables in float32: vLLM 0.33.0 `gpt_oss.py`.
    ModelFamily(
        name="gpt_oss",
        recipe=gpt_oss,
        classes=("GptOssForCausalLM",),
        defaults={"head_dim": 64, "sliding_window": 128},
        rotary=RotaryTables(dtype="float32"),
        attention_sinks=True,
        engine=EngineTraits(mxfp4_by_triton=True),
    ),
    ModelFamily(
        name="llama4_text",
        recipe=llama4,
        classes=("Llama4ForConditionalGeneration",),
        outer=(Multimodal(name="llama4"),),
        defaults={
            "attention_chunk_size": 8192,
            "interleave_moe_layer_step": 1,
            "head_dim": 128,
            "no_rope_layer_interval": 4,
        },
    ),
    # Sinks in the windowed layers, which have a base of their own: vLLM 0.33.0 `mimo_v2_flash.py`.
    ModelFamily(
        name="mimo_v2_flash",
        recipe=mimo_v2,
        rotary=RotaryTables(of_each_kind=True),
        attention_sinks=True,
        engine=EngineTraits(first_release=(0, 16)),
    ),
    ModelFamily(
        name="step3p5",
        recipe=step3p5,
        restate=_step,
        engine=EngineTraits(first_release=(0, 16)),
    ),
    ModelFamily(
        name="step3p7",
        recipe=step3p5,
        restate=_step,
        engine=EngineTraits(first_release=(0, 24)),
    ),
)
