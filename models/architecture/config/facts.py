"""Summaries of configurations: one flat record per model, as tools collect them.

A record holds the fields of `config.json` under one set of names, null where its source had none
(docs/sources.md#configurations-of-models). `config_of_facts` gives back a configuration that
`architecture` reads; what the record lacks stays missing and is named there.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from models.architecture.config.fields import is_mapping

_TYPE_OF_CLASS: Final[Mapping[str, str]] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "Phi3ForCausalLM": "phi3",
    "PhiForCausalLM": "phi",
    "GraniteForCausalLM": "granite",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "Gemma3ForConditionalGeneration": "gemma3_text",
    "Gemma4ForConditionalGeneration": "gemma4_text",
    "Gemma4ForCausalLM": "gemma4_text",
    "GptOssForCausalLM": "gpt_oss",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen2MoeForCausalLM": "qwen2_moe",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "Qwen3NextForCausalLM": "qwen3_next",
    "Qwen3VLForConditionalGeneration": "qwen3_vl_text",
    "Qwen3VLMoeForConditionalGeneration": "qwen3_vl_moe_text",
    "Qwen3_5ForConditionalGeneration": "qwen3_5_text",
    "Qwen3_5MoeForConditionalGeneration": "qwen3_5_moe_text",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "DeepseekV32ForCausalLM": "deepseek_v32",
    "DeepseekV4ForCausalLM": "deepseek_v4",
    "MistralLarge3ForCausalLM": "deepseek_v3",
    "KimiK25ForConditionalGeneration": "kimi_k2",
    "KimiLinearForCausalLM": "kimi_linear",
    "MiniMaxM2ForCausalLM": "minimax_m2",
    "Glm4MoeForCausalLM": "glm4_moe",
    "GlmMoeDsaForCausalLM": "glm_moe_dsa",
    "NemotronHForCausalLM": "nemotron_h",
    "JambaForCausalLM": "jamba",
    "FalconH1ForCausalLM": "falcon_h1",
    "MambaForCausalLM": "mamba",
    "Mamba2ForCausalLM": "mamba2",
    "Llama4ForConditionalGeneration": "llama4_text",
    "Olmo2ForCausalLM": "olmo2",
    "Starcoder2ForCausalLM": "starcoder2",
    "Cohere2ForCausalLM": "cohere2",
    "CohereForCausalLM": "cohere",
}

_NOT_CONFIG: Final = frozenset(
    {
        "source",
        "note",
        "total_params_b",
        "safetensors_gib",
        "other",
        "mamba",
        "linear_attention",
        "layer_pattern",
        "quantization",
    }
)


def is_facts(record: Mapping[str, JsonValue]) -> bool:
    """Tell whether a mapping is such a summary and not a `config.json`."""
    return "layer_pattern" in record or "safetensors_gib" in record or "note" in record


def config_of_facts(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the configuration that a summary stands for."""
    config: dict[str, JsonValue] = {
        name: value
        for name, value in record.items()
        if name not in _NOT_CONFIG and value is not None
    }
    for section in ("mamba", "linear_attention", "other"):
        inner = record.get(section)
        if is_mapping(inner):
            config.update({name: value for name, value in inner.items() if value is not None})
    classes = record.get("architectures")
    if "model_type" not in config and isinstance(classes, list) and classes:
        config["model_type"] = _TYPE_OF_CLASS.get(str(classes[0]))
    _pattern(config, record.get("layer_pattern"))
    quantization = _quantization(record)
    if quantization:
        config["quantization_config"] = quantization
    _renamed(config)
    return config


def _renamed(config: dict[str, JsonValue]) -> None:
    """Give fields that summaries write under one name the name of the model's own class."""
    kind = config.get("model_type")
    if "kv_lora_rank" in config and kind in (None, "mistral"):
        config["model_type"] = "mistral4"
    elif kind == "gemma4_text" and "num_experts" in config:
        config["enable_moe_block"] = True
    elif kind == "kimi_linear" and "n_shared_experts" in config:
        config["num_shared_experts"] = config.pop("n_shared_experts")
    elif kind == "nemotron_h":
        shared = config.pop("shared_expert_intermediate_size", None)
        config["moe_shared_expert_intermediate_size"] = shared
        config["n_routed_experts"] = config.pop("num_experts", None)
    elif kind in ("step3p5", "step3p7"):
        _renamed_step(config)


def _renamed_step(config: dict[str, JsonValue]) -> None:
    config["moe_num_experts"] = config.pop("num_experts", None)
    config["moe_top_k"] = config.pop("num_experts_per_tok", None)
    shared, size = config.pop("n_shared_experts", None), config.get("moe_intermediate_size")
    if isinstance(shared, int) and isinstance(size, int):
        config["share_expert_dim"] = shared * size
    first, layers = config.pop("first_k_dense_replace", None), config.get("num_hidden_layers")
    if isinstance(first, int) and isinstance(layers, int) and 0 <= first < layers <= 1024:
        config["moe_layers_enum"] = ",".join(map(str, range(first, layers)))


def _pattern(config: dict[str, JsonValue], pattern: JsonValue) -> None:
    """Write a summary's layer pattern as the configuration would."""
    if not is_mapping(pattern):
        return
    kinds = pattern.get("pattern")
    if isinstance(kinds, str):
        config["hybrid_override_pattern"] = kinds
    elif isinstance(kinds, list) and kinds:
        words = isinstance(kinds[0], str)
        config["layers_block_type" if words else "hybrid_layer_pattern"] = kinds
    period, layers = pattern.get("period"), config.get("num_hidden_layers")
    if isinstance(period, list) and period and isinstance(layers, int) and 0 < layers <= 1024:
        config["layer_types"] = [period[number % len(period)] for number in range(layers)]


def _quantization(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a summary's quantization, with the method where only its algorithm is given.

    What a summary leaves out (groups, layers) stays out: the weights are unknown then.
    """
    section = record.get("quantization")
    other = record.get("other")
    if not is_mapping(section):
        method = other.get("quantMethod") if is_mapping(other) else None
        return {"quant_method": "fp8"} if method == "fp8" else {}
    if "quant_method" not in section and "quant_algo" in section:
        return {**section, "quant_method": "modelopt"}
    return dict(section) if "quant_method" in section else {}
