"""Gemma 3n: alternating updates, learned augmented residuals, embeddings of each layer.

Shapes follow `gemma3n.py` of vLLM 0.33.0. The last layers borrow keys and values of earlier ones.
"""

from dataclasses import replace

from models.architecture.attention import gqa, gqa_cache
from models.architecture.draft import Draft, Layers, rows
from models.architecture.families import attention_of, everywhere, kinds_of_layers, where
from models.architecture.feedforward import mlp
from models.architecture.types import CacheKind, Part, Shard

_NORMS = 5
_VOCABULARY = Shard.VOCABULARY


def gemma3n(draft: Draft) -> None:
    """Gemma 3n's text part."""
    fields = draft.fields
    layers = everywhere(fields)
    kinds = kinds_of_layers(fields, lambda layer: (layer + 1) % 5 != 0)
    borrowed = fields.count("num_kv_shared_layers")
    if borrowed >= len(layers):
        fields.wrong("num_kv_shared_layers", borrowed, f"less than {len(layers)}")
        borrowed = 0
    own = layers[: len(layers) - borrowed]
    _attention(draft, kinds, own, layers[len(own) :])
    _feed_forward(draft, layers)
    _updates(draft, layers)
    draft.norms(_NORMS, layers)


def _attention(draft: Draft, kinds: list[str], own: Layers, borrowers: Layers) -> None:
    fields = draft.fields
    spec = replace(attention_of(fields, draft.hidden), head_norms=2)
    gqa(draft, spec, own)
    if borrowers:
        size = spec.heads * spec.head_dim
        draft.column(Part.ATTENTION, "self_attn.q_proj", rows(size), draft.hidden, borrowers)
        draft.row(Part.ATTENTION, "self_attn.o_proj", draft.hidden, size, borrowers)
        draft.norms(1, borrowers, spec.head_dim)
    for kind, name in (
        (CacheKind.SLIDING, "sliding_attention"),
        (CacheKind.FULL, "full_attention"),
    ):
        window = fields.size("sliding_window") if kind is CacheKind.SLIDING else None
        numbers = tuple(number for number in where(kinds, name) if number in own)
        gqa_cache(draft, spec, numbers, kind, window)


def _feed_forward(draft: Draft, layers: Layers) -> None:
    fields = draft.fields
    listed = fields.raw("intermediate_size")
    sizes = (fields.numbers("intermediate_size") or ()) if isinstance(listed, list) else ()
    if not sizes:
        sizes = (fields.size("intermediate_size"),) * len(layers)
    if len(sizes) < len(layers) or min(sizes) < 1:
        fields.wrong("intermediate_size", listed, f"a size for each of {len(layers)} layers")
        return
    for size in dict.fromkeys(sizes):
        mlp(draft, size, tuple(layer for layer in layers if sizes[layer] == size))


def _updates(draft: Draft, layers: Layers) -> None:
    fields = draft.fields
    hidden, rank = draft.hidden, fields.size("laurel_rank")
    draft.column(Part.MLP, "laurel.linear_left", rows(rank), hidden, layers)
    draft.row(Part.MLP, "laurel.linear_right", hidden, rank, layers)
    # The norm after it; the router's norm and the scale of the corrected output.
    draft.norms(3, layers)
    inputs = fields.size("altup_num_inputs")
    for out, columns in ((inputs, inputs), (inputs**2, inputs), (inputs, hidden)):
        draft.whole(Part.MLP, "altup", out, columns, layers, quantised=False)
    for _ in range(2 * (inputs - 1)):
        draft.add(Part.EMBEDDING, "altup_projections", rows(hidden), hidden, shard=Shard.OUTPUT)
    each = fields.size("hidden_size_per_layer_input")
    vocab, width = fields.size("vocab_size_per_layer_input"), each * len(layers)
    draft.add(Part.EMBEDDING, "embed_tokens_per_layer", rows(vocab), width, shard=_VOCABULARY)
    name = "per_layer_model_projection"
    draft.add(Part.EMBEDDING, name, rows(width), hidden, shard=Shard.OUTPUT, linear=True)
    draft.whole(Part.MLP, "per_layer_input_gate", each, hidden, layers)
    draft.whole(Part.MLP, "per_layer_projection", hidden, each, layers)
