"""Families of dense decoders: Llama, and what differs from it by its style."""

from typing import Final

from models.architecture.families.family import ModelFamily, Multimodal, Summary
from models.architecture.families.recipes.common import Style, dense, every_fourth
from models.architecture.traits import EngineTraits

_LLAMA: Final = dense(Style())
_WINDOWED: Final = dense(Style(all_windowed=True))
_LAYER_NORMS: Final = Style(qkv_bias=True, o_bias=True, norm_bias=True, gated=False, mlp_bias=True)
_BACKEND: Final = EngineTraits(transformers_backend=True)


def _latent_mistral(config: Summary) -> None:
    """Mistral Small 4 has latent attention, and a summary of it no type of its own."""
    if "kv_lora_rank" in config:
        config["model_type"] = "mistral4"


RECORDS: Final = (
    ModelFamily(name="llama", recipe=_LLAMA, classes=("LlamaForCausalLM",)),
    ModelFamily(
        name="mistral",
        recipe=_WINDOWED,
        classes=("MistralForCausalLM",),
        outer=(Multimodal(name="mistral3"),),
        restate=_latent_mistral,
        summarized_without_type=True,
    ),
    ModelFamily(name="mistral3_text", recipe=_LLAMA, own_code=True),
    ModelFamily(name="ministral3", recipe=_LLAMA, engine=EngineTraits(first_release=(0, 20))),
    ModelFamily(name="ministral", recipe=_WINDOWED),
    ModelFamily(name="granite", recipe=_LLAMA, classes=("GraniteForCausalLM",)),
    ModelFamily(name="granite_swa", recipe=_LLAMA, tied=True),
    ModelFamily(name="exaone", recipe=_LLAMA),
    ModelFamily(name="exaone4", recipe=dense(Style(head_norms=2, windowed=every_fourth))),
    ModelFamily(name="internlm2", recipe=_LLAMA, own_code=True),
    ModelFamily(name="internlm3", recipe=_LLAMA),
    ModelFamily(name="arcee", recipe=dense(Style(gated=False)), engine=_BACKEND),
    ModelFamily(name="apertus", recipe=dense(Style(gated=False, head_norms=2))),
    ModelFamily(
        name="cwm",
        recipe=dense(Style(windowed=every_fourth)),
        defaults={"head_dim": 128, "sliding_window": 8192},
        engine=_BACKEND,
    ),
    ModelFamily(name="ernie4_5", recipe=_LLAMA, defaults={"head_dim": 128}, tied=True),
    ModelFamily(name="hunyuan_v1_dense", recipe=dense(Style(head_norms=2)), engine=_BACKEND),
    ModelFamily(name="hyperclovax", recipe=dense(Style(norms=4))),
    ModelFamily(name="jais2", recipe=dense(_LAYER_NORMS), engine=_BACKEND),
    ModelFamily(name="nemotron", recipe=dense(Style(gated=False, norm_bias=True))),
    ModelFamily(name="olmo", recipe=dense(Style(norms=0)), engine=_BACKEND),
    ModelFamily(
        name="olmo2",
        recipe=dense(Style(wide_norms=True)),
        classes=("Olmo2ForCausalLM",),
        engine=_BACKEND,
    ),
    ModelFamily(
        name="olmo3",
        recipe=dense(Style(wide_norms=True, windowed=every_fourth)),
        engine=_BACKEND,
    ),
    ModelFamily(name="seed_oss", recipe=dense(Style(qkv_bias=True)), engine=_BACKEND),
    ModelFamily(name="smollm3", recipe=_LLAMA, tied=True, engine=_BACKEND),
    ModelFamily(name="stablelm", recipe=dense(Style(norm_bias=True))),
    ModelFamily(name="phi3", recipe=_WINDOWED, classes=("Phi3ForCausalLM",)),
    ModelFamily(
        name="phi",
        recipe=dense(
            Style(qkv_bias=True, o_bias=True, norms=1, norm_bias=True, gated=False, mlp_bias=True)
        ),
        classes=("PhiForCausalLM",),
        engine=_BACKEND,
    ),
    ModelFamily(
        name="starcoder2",
        recipe=dense(
            Style(
                qkv_bias=True,
                o_bias=True,
                norm_bias=True,
                gated=False,
                mlp_bias=True,
                all_windowed=True,
            )
        ),
        classes=("Starcoder2ForCausalLM",),
        tied=True,
        engine=_BACKEND,
    ),
    ModelFamily(
        name="cohere", recipe=dense(Style(norms=1)), classes=("CohereForCausalLM",), tied=True
    ),
    ModelFamily(
        name="cohere2",
        recipe=dense(Style(norms=1, windowed=every_fourth)),
        classes=("Cohere2ForCausalLM",),
        defaults={"sliding_window": 4096, "sliding_window_pattern": 4},
        tied=True,
    ),
    ModelFamily(name="glm", recipe=dense(Style(qkv_bias=True)), engine=_BACKEND),
    ModelFamily(
        name="glm4",
        recipe=dense(Style(qkv_bias=True, norms=4)),
        engine=EngineTraits(refuses_float16=True),
    ),
    # The engine's own class, MiMoForCausalLM, is Qwen2's with layers for speculation.
    ModelFamily(name="mimo", recipe=dense(Style(qkv_bias=True)), own_code=True),
)
