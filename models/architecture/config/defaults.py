"""Class defaults of the models' own configuration classes, where a `config.json` leaves them out.

A hub `config.json` holds only what differs from the class when it was saved, so these belong to
the format. Source: the configuration classes of transformers 5 by model type. Only defaults that
change sizes are listed. A None says that the class leaves the field empty.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

_GEMMA2: Final[Mapping[str, JsonValue]] = {"head_dim": 256, "sliding_window": 4096}
_GEMMA3: Final[Mapping[str, JsonValue]] = {
    "head_dim": 256,
    "sliding_window": 4096,
    "sliding_window_pattern": 6,
    "vocab_size": 262208,
}
_GEMMA4: Final[Mapping[str, JsonValue]] = {
    "head_dim": 256,
    "global_head_dim": 512,
    "sliding_window": 512,
}
_QWEN_LINEAR: Final[Mapping[str, JsonValue]] = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "full_attention_interval": 4,
    "head_dim": 256,
    "partial_rotary_factor": 0.25,
}
_DEEPSEEK: Final[Mapping[str, JsonValue]] = {
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}

DEFAULTS: Final[Mapping[str, Mapping[str, JsonValue]]] = {
    "gemma": {"head_dim": 256},
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma4_text": _GEMMA4,
    "gemma3n_text": {
        "head_dim": 256,
        "sliding_window": 512,
        "num_kv_shared_layers": 15,
        "laurel_rank": 64,
        "altup_num_inputs": 4,
        "hidden_size_per_layer_input": 256,
        "vocab_size_per_layer_input": 262144,
    },
    "gemma4_audio": {
        "hidden_size": 1024,
        "num_hidden_layers": 12,
        "num_attention_heads": 8,
        "subsampling_conv_channels": [128, 32],
        "conv_kernel_size": 5,
        "output_proj_dims": 1536,
    },
    "gpt_oss": {"head_dim": 64, "sliding_window": 128},
    "qwen3": {"head_dim": 128},
    "qwen3_next": _QWEN_LINEAR,
    "qwen3_5_text": _QWEN_LINEAR,
    "qwen3_5_moe_text": _QWEN_LINEAR,
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "llama4_text": {
        "attention_chunk_size": 8192,
        "interleave_moe_layer_step": 1,
        "head_dim": 128,
        "no_rope_layer_interval": 4,
    },
    "glm4_moe": {"partial_rotary_factor": 0.5},
    "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
    "cwm": {"head_dim": 128, "sliding_window": 8192},
    "ernie4_5": {"head_dim": 128},
    "vaultgemma": {"head_dim": 256, "sliding_window": 4096},
    "cohere2": {"sliding_window": 4096, "sliding_window_pattern": 4},
    "jamba": {
        "attn_layer_offset": 4,
        "attn_layer_period": 8,
        "expert_layer_offset": 1,
        "expert_layer_period": 2,
        "mamba_d_conv": 4,
        "mamba_d_state": 16,
        "mamba_expand": 2,
        "num_experts": 16,
    },
    "mamba": {"state_size": 16, "conv_kernel": 4, "expand": 2},
    "falcon_mamba": {"state_size": 16, "conv_kernel": 4, "expand": 2},
    "mamba2": {"state_size": 128, "conv_kernel": 4, "expand": 2, "n_groups": 8, "head_dim": 64},
    "falcon_h1": {"mamba_expand": 2, "mamba_d_conv": 4},
    "nemotron_h": {"conv_kernel": 4},
    "granitemoehybrid": {
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_d_state": 256,
        "mamba_n_groups": 1,
    },
    "lfm2": {"conv_L_cache": 3},
    "lfm2_moe": {"conv_L_cache": 3},
}

TIED_BY_DEFAULT: Final = frozenset(
    {"gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text", "cohere", "cohere2", "mamba"}
    | {"zamba2", "starcoder2", "gpt_bigcode", "lfm2", "lfm2_moe", "falcon_mamba"}
    | {"ernie4_5", "ernie4_5_moe", "smollm3", "vaultgemma", "gpt2", "gpt-sw3", "opt", "bloom"}
    | {"falcon", "granite_swa", "minicpm3"}
)
"""Model types whose class ties the output head to the embedding unless told otherwise."""

NEUTRAL: Final = frozenset(
    {
        "num_key_value_heads",
        "head_dim",
        "qk_head_dim",
        "intermediate_size",
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "top_k_experts",
        "pruned_heads",
        "mlp_only_layers",
        "max_window_layers",
        "num_hash_layers",
        "decode_attention_heads",
        "index_n_heads",
        "index_head_dim",
        "compress_rope_theta",
        "swa_num_attention_heads",
        "vocab_size_per_layer_input",
        "mamba_chunk_size",
        "router_num_experts",
        "num_redundant_experts",
        "output_hidden_size",
        "mm_hidden_size",
        "projector_hidden_size",
        "num_zero_experts",
    }
)
"""Names that look like sizes and change none that this project counts."""

WEIGHTS_ONLY: Final = frozenset(
    {"intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size"}
    | {"moe_shared_expert_intermediate_size", "intermediate_size_mlp", "vocab_size"}
    | {"q_lora_rank", "qk_nope_head_dim", "v_head_dim", "o_groups", "o_lora_rank", "hc_mult"}
    | {"num_experts_per_tok", "moe_num_experts", "moe_top_k", "index_n_heads"}
)
"""Fields whose absence leaves weights unknown but not the KV cache."""
