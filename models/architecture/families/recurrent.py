"""Families with recurrent layers, alone or mixed with attention, Qwen's apart."""

from typing import Final

from pydantic import JsonValue

from models.architecture.blocks.rotary import NO_ROTARY, RotaryTables
from models.architecture.blocks.vision import Joint
from models.architecture.families.family import ModelFamily, Multimodal, Summary
from models.architecture.families.recipes.hybrids import (
    falcon_h1,
    granite_hybrid,
    kimi_linear,
    lfm2,
    nemotron_h,
    nemotron_layers,
)
from models.architecture.families.recipes.recurrent import jamba, mamba, pure_mamba2
from models.architecture.families.recipes.zamba import zamba2
from models.architecture.traits import EngineTraits

_MAMBA: Final[dict[str, JsonValue]] = {"state_size": 16, "conv_kernel": 4, "expand": 2}


def _kimi(config: Summary) -> None:
    if "n_shared_experts" in config:
        config["num_shared_experts"] = config.pop("n_shared_experts")


def _nemotron(config: Summary) -> None:
    shared = config.pop("shared_expert_intermediate_size", None)
    config["moe_shared_expert_intermediate_size"] = shared
    config["n_routed_experts"] = config.pop("num_experts", None)


# Those without rotary tables have none in vLLM 0.33.0's `nemotron_h.py`, `jamba.py`,
# `kimi_linear.py` and `zamba2.py`.
RECORDS: Final = (
    ModelFamily(
        name="kimi_linear",
        recipe=kimi_linear,
        classes=("KimiLinearForCausalLM",),
        # The merger as in Kimi K2.5; that MXFP4 is of experts only is what its golden has, and the
        # place in the engine is unresolved.
        outer=(Multimodal(name="kimi_k3", joint=Joint(split_merger=False)),),
        rotary=NO_ROTARY,
        mxfp4_experts_only=True,
        restate=_kimi,
        engine=EngineTraits(first_release=(0, 12)),
    ),
    ModelFamily(
        name="nemotron_h",
        recipe=nemotron_h,
        classes=("NemotronHForCausalLM",),
        defaults={"conv_kernel": 4},
        rotary=NO_ROTARY,
        layers=nemotron_layers,
        restate=_nemotron,
    ),
    ModelFamily(
        name="jamba",
        recipe=jamba,
        classes=("JambaForCausalLM",),
        defaults={
            "attn_layer_offset": 4,
            "attn_layer_period": 8,
            "expert_layer_offset": 1,
            "expert_layer_period": 2,
            "mamba_d_conv": 4,
            "mamba_d_state": 16,
            "mamba_expand": 2,
            "num_experts": 16,
        },
        rotary=NO_ROTARY,
    ),
    ModelFamily(
        name="falcon_h1",
        recipe=falcon_h1,
        classes=("FalconH1ForCausalLM",),
        defaults={"mamba_expand": 2, "mamba_d_conv": 4},
    ),
    ModelFamily(
        name="granitemoehybrid",
        recipe=granite_hybrid,
        defaults={
            "mamba_d_conv": 4,
            "mamba_expand": 2,
            "mamba_d_state": 256,
            "mamba_n_groups": 1,
        },
        rotary=RotaryTables(when_stated=True),
    ),
    ModelFamily(name="bamba", recipe=granite_hybrid),
    ModelFamily(name="zamba2", recipe=zamba2, tied=True, rotary=NO_ROTARY),
    ModelFamily(
        name="mamba", recipe=mamba, classes=("MambaForCausalLM",), defaults=_MAMBA, tied=True
    ),
    ModelFamily(name="falcon_mamba", recipe=mamba, defaults=_MAMBA, tied=True),
    ModelFamily(
        name="mamba2",
        recipe=pure_mamba2,
        classes=("Mamba2ForCausalLM",),
        defaults={"state_size": 128, "conv_kernel": 4, "expand": 2, "n_groups": 8, "head_dim": 64},
    ),
    ModelFamily(name="lfm2", recipe=lfm2, defaults={"conv_L_cache": 3}, tied=True),
    ModelFamily(
        name="lfm2_moe",
        recipe=lfm2,
        defaults={"conv_L_cache": 3},
        tied=True,
        engine=EngineTraits(first_release=(0, 12)),
    ),
)
