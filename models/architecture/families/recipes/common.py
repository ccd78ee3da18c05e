"""Recipes of models built from attention and feed-forward layers, dense or with experts.

Each recipe reads a configuration through `Fields` and adds what vLLM 0.33.0's model class
allocates. Which layers are of which kind comes from the configuration.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from models.architecture.blocks.attention import (
    Attention,
    gqa,
    gqa_cache,
    latent_of,
    mla,
    mla_cache,
)
from models.architecture.blocks.draft import Draft, Layers
from models.architecture.blocks.feedforward import Experts, mlp, moe
from models.architecture.config.fields import Fields, layer_count
from models.architecture.types import CacheKind


def where(kinds: Sequence[str], *wanted: str) -> Layers:
    """Return the numbers of the layers whose kind is among `wanted`."""
    return tuple(number for number, kind in enumerate(kinds) if kind in wanted)


def every_second(layer: int) -> bool:
    """Tell whether a layer has a window: the first, the third and so on."""
    return layer % 2 == 0


def every_fourth(layer: int) -> bool:
    """Tell whether a layer has a window: all but every fourth."""
    return (layer + 1) % 4 != 0


def every_sixth(layer: int) -> bool:
    """Tell whether a layer has a window: all but every sixth."""
    return (layer + 1) % 6 != 0


def everywhere(fields: Fields) -> Layers:
    """Return all layer numbers."""
    return tuple(range(layer_count(fields)))


def attention_of(fields: Fields, hidden: int) -> Attention:
    """Read grouped-query attention from the usual fields."""
    heads = fields.size("num_attention_heads", "n_head")
    kv_heads = fields.size("num_key_value_heads", "num_kv_heads", default=heads)
    head_dim = fields.optional("head_dim", "attention_head_dim", "kv_channels")
    if head_dim is None:
        if hidden % heads:
            fields.wrong("num_attention_heads", heads, f"a divisor of hidden_size {hidden}")
        head_dim = max(1, hidden // heads)
    bias = fields.flag("attention_bias")
    return Attention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        head_dim_v=fields.optional("v_head_dim"),
        qkv_bias=bias,
        o_bias=bias,
    )


def kinds_of_layers(fields: Fields, pattern: Callable[[int], bool] | None = None) -> list[str]:
    """Return each layer's attention kind: from `layer_types`, or `pattern` (True: sliding)."""
    count = layer_count(fields)
    named = fields.texts("layer_types")
    if named is not None:
        if len(named) < count:
            fields.wrong("layer_types", len(named), f"one entry for each of {count} layers")
            return ["full_attention"] * count
        return list(named[:count])
    if pattern is None:
        return ["full_attention"] * count
    return ["sliding_attention" if pattern(layer) else "full_attention" for layer in range(count)]


def attention_caches(draft: Draft, spec: Attention, kinds: Sequence[str]) -> None:
    """Add full, sliding and chunked caches by each layer's kind, in order of first appearance."""
    fields = draft.fields
    known = {
        "full_attention": CacheKind.FULL,
        "attention": CacheKind.FULL,
        "global_attention": CacheKind.FULL,
        "sliding_attention": CacheKind.SLIDING,
        "local_attention": CacheKind.SLIDING,
        "chunked_attention": CacheKind.CHUNKED,
    }
    for name in dict.fromkeys(kinds):
        kind = known.get(name)
        if kind is None:
            fields.wrong("layer_types", name, ", ".join(known))
            continue
        window = None
        if kind is CacheKind.SLIDING:
            window = fields.size("sliding_window", "sliding_window_size")
        elif kind is CacheKind.CHUNKED:
            window = fields.size("attention_chunk_size")
        gqa_cache(draft, spec, where(kinds, name), kind, window)


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How a dense decoder differs from Llama's."""

    qkv_bias: bool = False
    o_bias: bool = False
    head_norms: int = 0
    wide_norms: bool = False
    norms: int = 2
    norm_bias: bool = False
    gated: bool = True
    mlp_bias: bool = False
    windowed: Callable[[int], bool] | None = None
    all_windowed: bool = False
    sinks: bool = False
    gate: bool = False


def mixed_attention(draft: Draft, style: Style) -> None:
    """Add grouped-query attention with its caches in every layer, and the norms."""
    fields = draft.fields
    layers = everywhere(fields)
    base = attention_of(fields, draft.hidden)
    spec = replace(
        base,
        qkv_bias=base.qkv_bias or style.qkv_bias,
        o_bias=base.o_bias or style.o_bias,
        head_norms=style.head_norms,
        wide_norms=style.wide_norms,
        sinks=style.sinks,
        gate=style.gate,
    )
    gqa(draft, spec, layers)
    kinds = kinds_of_layers(fields, style.windowed)
    if style.all_windowed and fields.optional("sliding_window") and not _uses_types(fields):
        kinds = ["sliding_attention"] * len(layers)
    attention_caches(draft, spec, kinds)
    draft.norms(style.norms * (2 if style.norm_bias else 1), layers)


def _uses_types(fields: Fields) -> bool:
    return fields.raw("layer_types") is not None


def dense(style: Style) -> Callable[[Draft], None]:
    """Return the recipe of a dense decoder in that style."""

    def recipe(draft: Draft) -> None:
        fields = draft.fields
        mixed_attention(draft, style)
        size = fields.size("intermediate_size", "n_inner", "ffn_hidden_size")
        bias = fields.flag("mlp_bias", default=style.mlp_bias)
        mlp(draft, size, everywhere(fields), gated=style.gated, bias=bias)

    return recipe


def _sparse_layers(fields: Fields, experts: int) -> tuple[Layers, Layers]:
    """Return the dense and the expert layers."""
    count = layer_count(fields)
    first = fields.count("first_k_dense_replace")
    step = fields.size("decoder_sparse_step", "moe_layer_freq", default=1)
    dense_only = set(fields.numbers("mlp_only_layers") or ())
    anchored = fields.raw("decoder_sparse_step") is not None
    sparse: list[int] = []
    for layer in range(count):
        on_step = (layer + 1) % step == 0 if anchored else layer % step == 0
        if experts and layer >= first and layer not in dense_only and on_step:
            sparse.append(layer)
    chosen = set(sparse)
    return tuple(layer for layer in range(count) if layer not in chosen), tuple(sparse)


def experts_of(fields: Fields) -> Experts:
    """Read a mixture of experts from the usual fields."""
    count = fields.size("num_experts", "num_local_experts", "n_routed_experts")
    size = fields.size("moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
    return Experts(
        count=count,
        intermediate=size,
        top_k=fields.size(
            "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts"
        ),
    )


def sparse(style: Style, change: Callable[[Fields, Experts], Experts]) -> Callable[[Draft], None]:
    """Return the recipe of a decoder whose layers hold experts, some of them dense."""

    def recipe(draft: Draft) -> None:
        fields = draft.fields
        mixed_attention(draft, style)
        feed_forward(draft, change(fields, experts_of(fields)))

    return recipe


def feed_forward(draft: Draft, spec: Experts) -> None:
    """Add dense and expert layers as the fields place them."""
    dense_layers, expert_layers = _sparse_layers(draft.fields, spec.count)
    if dense_layers:
        mlp(draft, draft.fields.size("intermediate_size"), dense_layers)
    moe(draft, spec, expert_layers)


def latent_moe(draft: Draft, *, corrected: bool = False) -> None:
    """DeepSeek V2, V3, V3.2 and what shares their class (Kimi K2, GLM 5, Mistral Large 3).

    The router of one that is `corrected` has a correction whatever `topk_method` says.
    """
    fields = draft.fields
    layers = everywhere(fields)
    attention = latent_of(draft)
    mla(draft, attention, layers)
    mla_cache(draft, attention, layers)
    draft.norms(2, layers)
    if not fields.optional("n_routed_experts", "num_experts", "num_local_experts"):
        mlp(draft, fields.size("intermediate_size"), layers)
        return
    spec = experts_of(fields)
    shared = fields.count("n_shared_experts", "num_shared_experts")
    noaux = fields.text("topk_method") == "noaux_tc" or corrected
    feed_forward(draft, replace(spec, shared=shared * spec.intermediate, correction=noaux))
