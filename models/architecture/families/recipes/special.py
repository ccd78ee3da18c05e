"""Recipes of decoders that don't fit the general styles: Gemma 4, gpt-oss, Llama 4 and others."""

from dataclasses import replace

from models.architecture.blocks.attention import Attention, gqa, gqa_cache, latent_of, mla
from models.architecture.blocks.draft import FLOAT32, Draft, Layers, rows
from models.architecture.blocks.feedforward import Experts, mlp, moe
from models.architecture.config.fields import Fields, layer_count
from models.architecture.families.recipes.common import (
    Style,
    attention_caches,
    attention_of,
    everywhere,
    experts_of,
    feed_forward,
    kinds_of_layers,
    mixed_attention,
    where,
)
from models.architecture.types import CacheKind, Part, Shard


def gemma4(draft: Draft) -> None:
    """Gemma 4: full-attention layers have their own head size and KV heads."""
    fields = draft.fields
    layers = everywhere(fields)
    kinds = kinds_of_layers(fields, lambda layer: (layer + 1) % 6 != 0)
    local = replace(attention_of(fields, draft.hidden), head_norms=2)
    shared_keys = fields.flag("attention_k_eq_v")
    kv_heads = fields.optional("num_global_key_value_heads") if shared_keys else None
    wide = replace(
        local,
        head_dim=fields.size("global_head_dim", default=local.head_dim),
        kv_heads=kv_heads or local.kv_heads,
    )
    own = with_own_keys(fields, layers)
    for spec, kind, name in (
        (local, CacheKind.SLIDING, "sliding_attention"),
        (wide, CacheKind.FULL, "full_attention"),
    ):
        numbers = where(kinds, name)
        if not numbers:
            continue
        borrowing_attention(draft, spec, numbers, own)
        window = fields.size("sliding_window") if kind is CacheKind.SLIDING else None
        gqa_cache(draft, spec, tuple(n for n in numbers if n in own), kind, window)
    _gemma4_feed_forward(draft, layers, own)


def with_own_keys(fields: Fields, layers: Layers) -> Layers:
    """Return the layers that keep keys and values; the last may borrow those of earlier ones."""
    borrowed = fields.count("num_kv_shared_layers")
    if borrowed >= len(layers):
        fields.wrong("num_kv_shared_layers", borrowed, f"less than {len(layers)}")
        borrowed = 0
    return layers[: len(layers) - borrowed]


def borrowing_attention(draft: Draft, spec: Attention, numbers: Layers, own: Layers) -> None:
    """Add attention in the layers `numbers`; those not in `own` have queries and output only."""
    mine = tuple(number for number in numbers if number in own)
    gqa(draft, spec, mine)
    borrowers = tuple(number for number in numbers if number not in own)
    if borrowers:
        size = spec.heads * spec.head_dim
        draft.column(Part.ATTENTION, "self_attn.q_proj", rows(size), draft.hidden, borrowers)
        draft.row(Part.ATTENTION, "self_attn.o_proj", draft.hidden, size, borrowers)
        draft.norms(1, borrowers, spec.head_dim)


def _gemma4_feed_forward(draft: Draft, layers: Layers, own: Layers) -> None:
    fields = draft.fields
    size = fields.size("intermediate_size")
    doubled = fields.flag("use_double_wide_mlp")
    borrowers = tuple(layer for layer in layers if layer not in own)
    mlp(draft, size, own)
    mlp(draft, size * (2 if doubled else 1), borrowers)
    draft.norms(4, layers)
    if fields.flag("enable_moe_block"):
        spec = replace(experts_of(fields), name="moe.")
        moe(draft, spec, layers)
        draft.norms(4, layers)
        draft.vector(Part.ROUTER, spec.count, layers)
    if fields.optional("hidden_size_per_layer_input"):
        layer_embeddings(draft, layers)


def layer_embeddings(draft: Draft, layers: Layers) -> None:
    """Add the embeddings that each layer has of its own (Gemma 3n and 4)."""
    fields = draft.fields
    per_layer = fields.size("hidden_size_per_layer_input")
    # Asked one by one: a class default comes before the vocabulary of the whole model.
    vocab = fields.optional("vocab_size_per_layer_input") or fields.size("vocab_size")
    width = per_layer * len(layers)
    draft.add(Part.EMBEDDING, "embed_tokens_per_layer", rows(vocab), width, shard=Shard.VOCABULARY)
    draft.add(
        Part.EMBEDDING, "per_layer_model_projection", rows(width), draft.hidden,
        shard=Shard.OUTPUT, linear=True,
    )  # fmt: skip  # one tensor, read like its neighbors
    draft.whole(Part.MLP, "per_layer_input_gate", per_layer, draft.hidden, layers)
    draft.whole(Part.MLP, "per_layer_projection", draft.hidden, per_layer, layers)
    draft.norms(1, layers)


def gpt_oss(draft: Draft) -> None:
    """gpt-oss: sinks, biases everywhere, alternating windows."""
    fields = draft.fields
    style = Style(qkv_bias=True, o_bias=True, sinks=True, windowed=lambda layer: layer % 2 == 0)
    mixed_attention(draft, style)
    spec = replace(experts_of(fields), bias=True, router_bias=True)
    moe(draft, spec, everywhere(fields))


def llama4(draft: Draft) -> None:
    """Llama 4: chunked attention in layers with rotary positions, experts every n-th layer."""
    fields = draft.fields
    count = layer_count(fields)
    layers = everywhere(fields)
    spec = attention_of(fields, draft.hidden)
    gqa(draft, spec, layers)
    no_rope = fields.numbers("no_rope_layers")
    interval = fields.size("no_rope_layer_interval", default=4)
    if no_rope is not None and len(no_rope) >= count:
        chunked = [bool(no_rope[layer]) for layer in range(count)]
    else:
        chunked = [(layer + 1) % interval != 0 for layer in range(count)]
    kinds = ["chunked_attention" if each else "full_attention" for each in chunked]
    attention_caches(draft, spec, kinds)
    draft.norms(2, layers)
    step = fields.count("interleave_moe_layer_step", default=1)
    listed = fields.numbers("moe_layers")
    sparse = set(listed or [layer for layer in layers if step and (layer + 1) % step == 0])
    expert_layers = tuple(layer for layer in layers if layer in sparse)
    size = fields.size("intermediate_size")
    others = tuple(layer for layer in layers if layer not in sparse)
    if others:
        mlp(draft, fields.size("intermediate_size_mlp"), others, name="feed_forward.")
    if expert_layers:
        expert = replace(
            experts_of(fields),
            intermediate=size,
            shared=size,
            name="feed_forward.",
            shared_name="feed_forward.shared_expert.",
        )
        moe(draft, expert, expert_layers)


def mimo_v2(draft: Draft) -> None:
    """MiMo V2: windowed layers have their own head counts; sinks in the windowed layers."""
    fields = draft.fields
    layers = everywhere(fields)
    pattern = fields.numbers("hybrid_layer_pattern")
    if pattern is None or len(pattern) < len(layers):
        fields.missing("hybrid_layer_pattern")
        return
    full = attention_of(fields, draft.hidden)
    windowed = Attention(
        heads=fields.size("swa_num_attention_heads", default=full.heads),
        kv_heads=fields.size("swa_num_key_value_heads", default=full.kv_heads),
        head_dim=fields.size("swa_head_dim", default=full.head_dim),
        head_dim_v=fields.size("swa_v_head_dim", default=full.value_dim),
        sinks=fields.flag("add_swa_attention_sink_bias"),
    )
    slid = tuple(layer for layer in layers if pattern[layer])
    others = tuple(layer for layer in layers if not pattern[layer])
    gqa(draft, full, others)
    gqa_cache(draft, full, others)
    gqa(draft, windowed, slid)
    window = fields.size("sliding_window", "sliding_window_size")
    gqa_cache(draft, windowed, slid, CacheKind.SLIDING, window)
    draft.norms(2, layers)
    spec = replace(experts_of(fields), correction=True, router_dtype=FLOAT32)
    listed = fields.numbers("moe_layer_freq") if _is_list(fields, "moe_layer_freq") else None
    if listed is None:
        feed_forward(draft, spec)
        return
    sparse = tuple(layer for layer in layers if layer < len(listed) and listed[layer])
    dense_layers = tuple(layer for layer in layers if layer not in sparse)
    if dense_layers:
        mlp(draft, fields.size("intermediate_size"), dense_layers)
    moe(draft, spec, sparse)


def _is_list(fields: Fields, name: str) -> bool:
    return isinstance(fields.raw(name), list)


def step3p5(draft: Draft) -> None:
    """Step 3.5 and 3.7: windowed layers with other head counts, a gate per head."""
    fields = draft.fields
    layers = everywhere(fields)
    kinds = kinds_of_layers(fields)
    full = replace(
        attention_of(fields, draft.hidden),
        kv_heads=fields.size("num_attention_groups", "num_key_value_heads"),
        head_norms=2,
    )
    other = fields.section("attention_other_setting")
    inner = fields.within("attention_other_setting", other)
    windowed = full
    if other:
        windowed = replace(
            full,
            heads=inner.size("num_attention_heads"),
            kv_heads=inner.size("num_attention_groups"),
            head_dim=inner.size("head_dim", default=full.head_dim),
        )
    fields.problems.extend(inner.problems)
    for spec, kind, name in (
        (full, CacheKind.FULL, "full_attention"),
        (windowed, CacheKind.SLIDING, "sliding_attention"),
    ):
        numbers = where(kinds, name)
        if not numbers:
            continue
        gqa(draft, spec, numbers)
        if fields.flag("use_head_wise_attn_gate"):
            draft.column(
                Part.ATTENTION, "self_attn.g_proj", rows(spec.heads), draft.hidden, numbers
            )
        window = fields.size("sliding_window") if kind is CacheKind.SLIDING else None
        gqa_cache(draft, spec, numbers, kind, window)
    draft.norms(2, layers)
    _step_experts(draft, layers)


def _step_experts(draft: Draft, layers: Layers) -> None:
    fields = draft.fields
    listed = fields.text("moe_layers_enum")
    sparse = (
        {int(each) for each in listed.split(",") if each.strip().isdigit()}
        if listed
        else set(layers[1:])
    )
    expert_layers = tuple(layer for layer in layers if layer in sparse)
    dense_layers = tuple(layer for layer in layers if layer not in sparse)
    if dense_layers:
        mlp(draft, fields.size("intermediate_size"), dense_layers)
    if not expert_layers:
        return
    size = fields.size("share_expert_dim", "share_expert_dims", "moe_intermediate_size")
    spec = Experts(
        count=fields.size("moe_num_experts"),
        intermediate=fields.size("moe_intermediate_size"),
        top_k=fields.size("moe_top_k"),
        shared=size,
        router_dtype=FLOAT32,
        name="moe.",
        shared_name="share_expert.",
    )
    moe(draft, spec, expert_layers)
    draft.vector(Part.ROUTER, spec.count, expert_layers, dtype=FLOAT32)


def ernie_moe(draft: Draft) -> None:
    """ERNIE 4.5 with experts: a range of layers has them, every n-th one."""
    fields = draft.fields
    mixed_attention(draft, Style(qkv_bias=fields.flag("use_bias")))
    layers = everywhere(fields)
    spec = Experts(
        count=fields.size("moe_num_experts"),
        intermediate=fields.size("moe_intermediate_size"),
        top_k=fields.size("moe_k"),
        correction=True,
        router_dtype=FLOAT32,
    )
    shared = fields.count("moe_num_shared_experts") * spec.intermediate
    first, last = fields.count("moe_layer_start_index"), fields.optional("moe_layer_end_index")
    step = fields.size("moe_layer_interval", default=1)
    last = layers[-1] if last is None else last
    chosen = tuple(n for n in layers if first <= n <= last and (n + 1) % step == 0)
    others = tuple(n for n in layers if n not in chosen)
    if others:
        mlp(draft, fields.size("intermediate_size"), others, bias=fields.flag("use_bias"))
    moe(draft, replace(spec, shared=shared), chosen)


def minicpm3(draft: Draft) -> None:
    """MiniCPM 3: latent projections, but whole keys and values in the cache."""
    fields = draft.fields
    layers = everywhere(fields)
    latent = latent_of(draft)
    mla(draft, latent, layers)
    # Nothing is absorbed: the engine projects keys and values up and caches them.
    draft.weights = [weight for weight in draft.weights if weight.part is not Part.BUFFER]
    heads, width = latent.heads, latent.nope_dim + latent.rope_dim
    draft.kv_heads, draft.head_dim = heads, width
    gqa_cache(draft, Attention(heads=heads, kv_heads=heads, head_dim=width), layers)
    mlp(draft, fields.size("intermediate_size"), layers)
    draft.norms(2, layers)
