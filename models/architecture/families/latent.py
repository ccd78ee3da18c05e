"""Families with latent attention (MLA) in every layer: DeepSeek's and what shares their class."""

from functools import partial
from typing import Final

from pydantic import JsonValue

from models.architecture.blocks.rotary import RotaryTables
from models.architecture.blocks.vision import Joint
from models.architecture.families.family import ModelFamily, Multimodal
from models.architecture.families.recipes.common import latent_moe
from models.architecture.families.recipes.deepseek4 import deepseek_v4
from models.architecture.families.recipes.special import minicpm3
from models.architecture.traits import EngineTraits

_DEEPSEEK: Final[dict[str, JsonValue]] = {
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}

RECORDS: Final = (
    ModelFamily(
        name="deepseek_v2",
        recipe=latent_moe,
        classes=("DeepseekV2ForCausalLM",),
        defaults=_DEEPSEEK,
        # Softmax over all experts, not normalized again: not in the kernel's list of routings.
        engine=EngineTraits(experts_by_trtllm=False),
    ),
    ModelFamily(
        name="deepseek_v3",
        recipe=latent_moe,
        classes=("DeepseekV3ForCausalLM", "MistralLarge3ForCausalLM"),
        defaults=_DEEPSEEK,
    ),
    ModelFamily(
        name="deepseek_v32",
        recipe=latent_moe,
        classes=("DeepseekV32ForCausalLM",),
        defaults=_DEEPSEEK,
        engine=EngineTraits(first_release=(0, 11)),
    ),
    # Rotary tables of the compressed latents and of the window: vLLM 0.33.0 `models/deepseek_v4`.
    # Its golden has nothing beside its indexer; where the engine says so is unresolved.
    ModelFamily(
        name="deepseek_v4",
        recipe=deepseek_v4,
        classes=("DeepseekV4ForCausalLM",),
        rotary=RotaryTables(latent=2),
        engine=EngineTraits(first_release=(0, 20), indexer_step_bytes=0),
    ),
    # Every rank holds what brings patches to the language model whole: `ReplicatedLinear` of
    # vLLM's `kimi_k25_vit.py`.
    ModelFamily(
        name="kimi_k2",
        recipe=latent_moe,
        classes=("KimiK25ForConditionalGeneration",),
        outer=(Multimodal(name="kimi_k25", joint=Joint(split_merger=False)),),
        defaults=_DEEPSEEK,
        own_code=True,
    ),
    # Its router always has a correction; `auto` for the cache: vLLM 0.33.0
    # `model_executor/models/config.py`, GlmMoeDsaForCausalLM.
    ModelFamily(
        name="glm_moe_dsa",
        recipe=partial(latent_moe, corrected=True),
        classes=("GlmMoeDsaForCausalLM",),
        engine=EngineTraits(first_release=(0, 16), prefers_fp8_cache=True),
    ),
    ModelFamily(
        name="glm4_moe_lite",
        recipe=latent_moe,
        engine=EngineTraits(first_release=(0, 16)),
    ),
    # It came in March 2026, when 0.18 was the newest; the engine has no class of its own for it.
    ModelFamily(name="mistral4", recipe=latent_moe, engine=EngineTraits(first_release=(0, 18))),
    ModelFamily(name="minicpm3", recipe=minicpm3, tied=True),
)
