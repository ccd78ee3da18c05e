"""Zamba 2: Mamba 2 layers, some with a shared transformer block beside them.

Shapes from vLLM 0.33.0's `models/zamba2.py`: the blocks' weights exist once, every hybrid layer has
its own KV cache, its own adapter on the block's MLP and its own projection back.
"""

from models.architecture.blocks.attention import Attention, gqa, gqa_cache
from models.architecture.blocks.draft import Draft, Layers, rows
from models.architecture.blocks.feedforward import mlp
from models.architecture.blocks.mixers import Mamba2, mamba2
from models.architecture.families.recipes.common import where
from models.architecture.types import Part, Shard


def zamba2(draft: Draft) -> None:
    """Add Zamba 2's layers."""
    fields = draft.fields
    kinds = fields.texts("layers_block_type", "layer_types")
    if kinds is None:
        fields.missing("layers_block_type")
        return
    layers = tuple(range(len(kinds)))
    hybrid = where(kinds, "hybrid")
    _mixers(draft, layers)
    draft.norms(1, layers)
    if hybrid:
        _shared(draft, hybrid)


def _mixers(draft: Draft, layers: Layers) -> None:
    fields = draft.fields
    inner = int(fields.number("mamba_expand", 2.0) * draft.hidden)
    heads = fields.size("n_mamba_heads")
    mixer = Mamba2(
        inner=inner,
        heads=heads,
        head_dim=max(1, inner // heads),
        groups=fields.size("mamba_ngroups", default=1),
        state=fields.size("mamba_d_state"),
        kernel=fields.size("mamba_d_conv", default=4),
        conv_bias=fields.flag("use_conv_bias", default=True),
        bias=fields.flag("add_bias_linear"),
        name="mamba.",
    )
    mamba2(draft, mixer, layers)


def _shared(draft: Draft, hybrid: Layers) -> None:
    fields = draft.fields
    wide = fields.size("attention_hidden_size", default=2 * draft.hidden)
    heads = fields.size("num_attention_heads")
    spec = Attention(
        heads=heads,
        kv_heads=fields.size("num_key_value_heads", default=heads),
        head_dim=fields.size("attention_head_dim", default=max(1, wide // heads)),
        input_size=wide,
    )
    blocks = hybrid[: fields.size("num_mem_blocks", default=1)]
    gqa(draft, spec, blocks)
    gqa_cache(draft, spec, hybrid)
    size = fields.size("intermediate_size")
    mlp(draft, size, blocks, bias=fields.flag("add_bias_linear"), name="feed_forward.")
    draft.norms(3, blocks)
    rank = fields.size("adapter_rank", default=128)
    draft.add(Part.MLP, "adapter.A", rows(rank), draft.hidden, shard=Shard.OUTPUT, layers=hybrid)
    draft.column(Part.MLP, "adapter.B", rows(size, size), rank, hybrid, quantized=False)
    draft.whole(Part.ATTENTION, "linear", draft.hidden, draft.hidden, hybrid)
