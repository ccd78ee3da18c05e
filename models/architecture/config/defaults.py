"""Names of fields: which look like sizes and are none, and which only weights depend on."""

from typing import Final

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
