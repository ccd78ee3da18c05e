"""Gemma 3n: alternating updates, learned augmented residuals, embeddings of each layer.

Shapes follow `gemma3n.py` of vLLM 0.33.0. The last layers borrow keys and values of earlier ones.
"""

from dataclasses import replace

from models.architecture.blocks.attention import gqa_cache
from models.architecture.blocks.draft import Draft, Layers, rows
from models.architecture.blocks.feedforward import mlp
from models.architecture.families.recipes.common import (
    attention_of,
    everywhere,
    kinds_of_layers,
    where,
)
from models.architecture.families.recipes.special import (
    borrowing_attention,
    layer_embeddings,
    with_own_keys,
)
from models.architecture.types import CacheKind, Part, Shard

_NORMS = 4


def gemma3n(draft: Draft) -> None:
    """Gemma 3n's text part."""
    fields = draft.fields
    layers = everywhere(fields)
    kinds = kinds_of_layers(fields, lambda layer: (layer + 1) % 5 != 0)
    own = with_own_keys(fields, layers)
    spec = replace(attention_of(fields, draft.hidden), head_norms=2)
    borrowing_attention(draft, spec, layers, own)
    for kind, name in (
        (CacheKind.SLIDING, "sliding_attention"),
        (CacheKind.FULL, "full_attention"),
    ):
        window = fields.size("sliding_window") if kind is CacheKind.SLIDING else None
        numbers = tuple(number for number in where(kinds, name) if number in own)
        gqa_cache(draft, spec, numbers, kind, window)
    _feed_forward(draft, layers)
    _updates(draft, layers)
    layer_embeddings(draft, layers)
    draft.norms(_NORMS, layers)


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
        draft.whole(Part.MLP, "altup", out, columns, layers, quantized=False)
    for _ in range(2 * (inputs - 1)):
        draft.add(Part.EMBEDDING, "altup_projections", rows(hidden), hidden, shard=Shard.OUTPUT)
