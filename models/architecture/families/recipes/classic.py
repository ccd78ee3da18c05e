"""Recipes of decoders with learned positions or fields of their own: GPT-2, OPT, BLOOM and others.

Shapes follow the classes of vLLM 0.33.0 (`gpt2.py`, `opt.py`, `bloom.py`, `gpt_j.py`) and, where it
runs the Transformers backend, those of transformers 5.
"""

from dataclasses import replace

from models.architecture.blocks.attention import Attention, gqa, gqa_cache
from models.architecture.blocks.draft import Draft, Layers, rows
from models.architecture.blocks.feedforward import mlp
from models.architecture.families.recipes.common import attention_of, everywhere
from models.architecture.types import Part, Shard

_OPT_OFFSET = 2
"""Learned positions that OPT has beside its max_position_embeddings."""


def _positions(draft: Draft, count: int) -> None:
    draft.add(Part.EMBEDDING, "position_embedding", rows(count), draft.hidden)


def _biased(draft: Draft, spec: Attention, size: int, layers: Layers) -> None:
    """Add attention and a plain MLP with biases everywhere, and LayerNorms with theirs."""
    gqa(draft, replace(spec, qkv_bias=True, o_bias=True), layers)
    gqa_cache(draft, spec, layers)
    mlp(draft, size, layers, gated=False, bias=True)
    draft.norms(4, layers)
    # The final norm's bias; its weight is counted with the ends.
    draft.add(Part.NORM, "norm.bias", rows(draft.hidden))


def gpt2(draft: Draft) -> None:
    """GPT-2: learned positions, LayerNorms."""
    fields = draft.fields
    size = fields.optional("n_inner") or 4 * draft.hidden
    _positions(draft, fields.size("n_positions", "max_position_embeddings"))
    _biased(draft, attention_of(fields, draft.hidden), size, everywhere(fields))


def opt(draft: Draft) -> None:
    """OPT: learned positions; embeddings of another width are projected."""
    fields = draft.fields
    layers = everywhere(fields)
    if not fields.flag("enable_bias", default=True):
        fields.wrong("enable_bias", False, "true")
    width = fields.size("word_embed_proj_dim", default=draft.hidden)
    if width != draft.hidden:
        fields.wrong("word_embed_proj_dim", width, f"hidden_size {draft.hidden}")
    _positions(draft, fields.size("max_position_embeddings") + _OPT_OFFSET)
    _biased(draft, attention_of(fields, draft.hidden), fields.size("ffn_dim"), layers)


def bloom(draft: Draft) -> None:
    """BLOOM: ALiBi instead of positions, a norm after the embedding."""
    fields = draft.fields
    _biased(draft, attention_of(fields, draft.hidden), 4 * draft.hidden, everywhere(fields))
    draft.add(Part.NORM, "word_embeddings_layernorm", rows(draft.hidden), 2)


def falcon(draft: Draft) -> None:
    """Falcon: one KV head (7B), or groups and two norms side by side (40B and later)."""
    fields = draft.fields
    layers = everywhere(fields)
    new = fields.flag("new_decoder_architecture")
    spec = attention_of(fields, draft.hidden)
    if not new:
        one = fields.flag("multi_query", default=True)
        spec = replace(spec, kv_heads=1 if one else spec.heads)
    bias = fields.flag("bias")
    gqa(draft, replace(spec, qkv_bias=bias, o_bias=bias), layers)
    gqa_cache(draft, spec, layers)
    # The engine's class reads no other width than four times the hidden size.
    fields.optional("ffn_hidden_size")
    mlp(draft, 4 * draft.hidden, layers, gated=False, bias=bias)
    norms = (fields.optional("num_ln_in_parallel_attn") or 2) if new else 1
    beside = fields.flag("parallel_attn", default=True)
    draft.norms(2 * (norms if beside or new else 2), layers)
    draft.add(Part.NORM, "norm.bias", rows(draft.hidden))


def gpt_neox(draft: Draft) -> None:
    """GPT-NeoX and Pythia."""
    fields = draft.fields
    if not fields.flag("attention_bias", default=True):
        fields.wrong("attention_bias", False, "true")
    size = fields.size("intermediate_size")
    _biased(draft, attention_of(fields, draft.hidden), size, everywhere(fields))


def gptj(draft: Draft) -> None:
    """GPT-J: one norm for attention and MLP side by side, no bias in attention, one in the head."""
    fields = draft.fields
    layers = everywhere(fields)
    spec = attention_of(fields, draft.hidden)
    gqa(draft, spec, layers)
    gqa_cache(draft, spec, layers)
    size = fields.optional("n_inner") or 4 * draft.hidden
    mlp(draft, size, layers, gated=False, bias=True)
    draft.norms(2, layers)
    draft.add(Part.NORM, "norm.bias", rows(draft.hidden))
    draft.add(Part.HEAD, "lm_head.bias", rows(fields.size("vocab_size")), shard=Shard.VOCABULARY)
