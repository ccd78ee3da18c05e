"""Recipes of models with recurrent layers, alone or mixed with attention."""

from dataclasses import replace

from models.architecture.blocks.attention import gqa, latent_of, mla, mla_cache
from models.architecture.blocks.draft import Draft, Layers
from models.architecture.blocks.feedforward import Experts, mlp, moe
from models.architecture.blocks.mixers import (
    DeltaNet,
    KimiDelta,
    Mamba2,
    delta_net,
    kimi_delta,
    mamba2,
    short_conv,
)
from models.architecture.config.fields import Fields, layer_count
from models.architecture.families.recipes.common import (
    attention_caches,
    attention_of,
    everywhere,
    experts_of,
    feed_forward,
    kinds_of_layers,
    where,
)
from models.architecture.types import Part


def qwen_next(draft: Draft) -> None:
    """Qwen3-Next and Qwen3.5: gated delta nets, every n-th layer gated attention."""
    fields = draft.fields
    interval = fields.size("full_attention_interval", default=4)
    kinds = (
        kinds_of_layers(fields)
        if fields.raw("layer_types") is not None
        else [
            "full_attention" if (layer + 1) % interval == 0 else "linear_attention"
            for layer in range(layer_count(fields))
        ]
    )
    linear = where(kinds, "linear_attention")
    full = tuple(layer for layer in everywhere(fields) if layer not in linear)
    if linear:
        net = DeltaNet(
            key_heads=fields.size("linear_num_key_heads"),
            value_heads=fields.size("linear_num_value_heads"),
            key_dim=fields.size("linear_key_head_dim"),
            value_dim=fields.size("linear_value_head_dim"),
            kernel=fields.size("linear_conv_kernel_dim"),
            state_dtype=fields.text("mamba_ssm_dtype"),
        )
        delta_net(draft, net, linear)
    gate = fields.flag("attn_output_gate", default=True)
    spec = replace(attention_of(fields, draft.hidden), head_norms=2, gate=gate)
    gqa(draft, spec, full)
    if full:
        attention_caches(draft, spec, ["linear" if n in linear else kinds[n] for n in full])
        cache = draft.caches.pop()
        draft.cache(cache.model_copy(update={"layers": full}))
    draft.norms(2, everywhere(fields))
    if not fields.optional("num_experts"):
        mlp(draft, fields.size("intermediate_size"), everywhere(fields))
        return
    shared = fields.count("shared_expert_intermediate_size")
    experts = replace(
        experts_of(fields),
        shared=shared,
        shared_gate=bool(shared),
        shared_name="mlp.shared_expert.",
    )
    feed_forward(draft, experts)


def mamba2_of(fields: Fields, hidden: int, prefix: str = "mamba_") -> Mamba2:
    """Read Mamba 2 from the fields of hybrid models (`mamba_d_state` and so on)."""
    stated = fields.raw(prefix + "d_head", prefix + "head_dim")
    head_dim = None if stated == "auto" else fields.optional(prefix + "d_head", prefix + "head_dim")
    heads = fields.size(prefix + "n_heads", prefix + "num_heads")
    inner = fields.optional(prefix + "d_ssm") or int(fields.number(prefix + "expand", 2.0) * hidden)
    return Mamba2(
        inner=inner,
        heads=heads,
        head_dim=head_dim or max(1, inner // heads),
        groups=fields.size(prefix + "n_groups", prefix + "ngroups", default=1),
        state=fields.size(prefix + "d_state"),
        kernel=fields.size(prefix + "d_conv", default=4),
        conv_bias=fields.flag(prefix + "conv_bias", default=True),
        bias=fields.flag(prefix + "proj_bias"),
    )


def falcon_h1(draft: Draft) -> None:
    """Falcon H1: attention and Mamba 2 side by side in every layer."""
    fields = draft.fields
    layers = everywhere(fields)
    spec = attention_of(fields, draft.hidden)
    gqa(draft, spec, layers)
    attention_caches(draft, spec, ["full_attention"] * len(layers))
    mixer = mamba2_of(fields, draft.hidden)
    mixer = replace(mixer, norm=fields.flag("mamba_rms_norm"), name="mamba.")
    mamba2(draft, mixer, layers)
    draft.norms(2, layers)
    mlp(draft, fields.size("intermediate_size"), layers, name="feed_forward.")


def granite_hybrid(draft: Draft) -> None:
    """Granite 4 H and Bamba: Mamba 2 with some attention layers, experts with a shared MLP."""
    fields = draft.fields
    layers = everywhere(fields)
    kinds = fields.texts("layers_block_type", "layer_types") or ()
    if len(kinds) < len(layers):
        indices = fields.numbers("attn_layer_indices")
        # The class takes every layer for Mamba where neither field is there.
        attended = indices or ()
        kinds = tuple("attention" if layer in attended else "mamba" for layer in layers)
    recurrent = where(kinds[: len(layers)], "mamba", "mamba2")
    attention = tuple(layer for layer in layers if layer not in recurrent)
    if recurrent:
        mamba2(draft, replace(mamba2_of(fields, draft.hidden), name="mamba."), recurrent)
    if attention:
        spec = attention_of(fields, draft.hidden)
        gqa(draft, spec, attention)
        attention_caches(draft, spec, ["full_attention"])
        draft.cache(draft.caches.pop().model_copy(update={"layers": attention}))
    draft.norms(2, layers)
    shared = fields.count("shared_intermediate_size")
    if not fields.optional("num_local_experts"):
        mlp(draft, shared or fields.size("intermediate_size"), layers, name="shared_mlp.")
        return
    experts = replace(
        experts_of(fields), shared=shared, name="block_sparse_moe.", shared_name="shared_mlp."
    )
    moe(draft, experts, layers)


def nemotron_layers(fields: Fields) -> int:
    """Count Nemotron H's layers: one per letter or name of its pattern."""
    kinds = fields.text("hybrid_override_pattern") or fields.texts("layers_block_type")
    return len(kinds) if kinds else layer_count(fields)


def nemotron_h(draft: Draft) -> None:
    """Nemotron H: one block per layer, by letter: M(amba), * attention, - MLP, E(xperts)."""
    fields = draft.fields
    pattern = fields.text("hybrid_override_pattern")
    kinds = list(pattern or "")
    named = fields.texts("layers_block_type")
    if not kinds and named:
        letters = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
        kinds = [letters.get(name, "?") for name in named]
    count = len(kinds)
    if not kinds or set(kinds) - set("M*-E"):
        fields.wrong("hybrid_override_pattern", pattern, "letters M, *, - and E")
        return
    fields.read.add("num_hidden_layers")
    draft.prefix = "backbone.layers.{}."
    spec = replace(attention_of(fields, draft.hidden), output="mixer.o_proj", inputs=_QKV)
    attention = where(kinds, "*")
    _nemotron_mamba(draft, where(kinds, "M"))
    gqa(draft, spec, attention)
    if attention:
        attention_caches(draft, spec, ["full_attention"])
        draft.cache(draft.caches.pop().model_copy(update={"layers": attention}))
    draft.norms(1, tuple(range(count)))
    plain = where(kinds, "-")
    if plain:
        size = fields.size("intermediate_size")
        mlp(draft, size, plain, gated=False, bias=fields.flag("mlp_bias"), name="mixer.")
    _nemotron_experts(draft, where(kinds, "E"))


_QKV = ("mixer.q_proj", "mixer.k_proj", "mixer.v_proj")


def _nemotron_mamba(draft: Draft, layers: Layers) -> None:
    if not layers:
        return
    fields = draft.fields
    heads, head_dim = fields.size("mamba_num_heads"), fields.size("mamba_head_dim")
    mixer = Mamba2(
        inner=heads * head_dim,
        heads=heads,
        head_dim=head_dim,
        groups=fields.size("n_groups"),
        state=fields.size("ssm_state_size"),
        kernel=fields.size("conv_kernel"),
        conv_bias=fields.flag("use_conv_bias", default=True),
        bias=fields.flag("use_bias"),
        state_dtype=fields.text("mamba_ssm_cache_dtype", default="float32"),
    )
    mamba2(draft, mixer, layers)


def _nemotron_experts(draft: Draft, layers: Layers) -> None:
    if not layers:
        return
    fields = draft.fields
    shared = fields.count("n_shared_experts")
    width = fields.size("moe_shared_expert_intermediate_size") if shared else 0
    spec = Experts(
        count=fields.size("n_routed_experts"),
        intermediate=fields.size("moe_intermediate_size"),
        top_k=fields.size("num_experts_per_tok"),
        shared=shared * width,
        gated=False,
        correction=True,
        latent=fields.optional("moe_latent_size"),
        name="mixer.",
        shared_name="mixer.shared_experts.",
    )
    moe(draft, spec, layers)


def kimi_linear(draft: Draft) -> None:
    """Kimi Linear and Kimi K3: delta attention with latent attention in some layers."""
    fields = draft.fields
    layers = everywhere(fields)
    section = fields.section("linear_attn_config")
    inner = fields.within("linear_attn_config", section)
    numbers = inner.numbers("kda_layers") or ()
    if not numbers:
        inner.missing("kda_layers")
    recurrent = tuple(layer for layer in layers if layer + 1 in numbers)
    if recurrent:
        delta = KimiDelta(
            heads=inner.size("num_heads"),
            head_dim=inner.size("head_dim"),
            kernel=inner.size("short_conv_kernel_size", default=4),
            full_gate=inner.flag("use_full_rank_gate"),
        )
        kimi_delta(draft, delta, recurrent)
    fields.problems.extend(inner.problems)
    attention = tuple(layer for layer in layers if layer not in recurrent)
    latent = latent_of(draft)
    mla(draft, latent, attention)
    mla_cache(draft, latent, attention)
    residuals = bool(fields.optional("attn_res_block_size"))
    draft.norms(6 if residuals else 2, layers)
    _kimi_experts(draft)


def _kimi_experts(draft: Draft) -> None:
    fields = draft.fields
    spec = experts_of(fields)
    shared = fields.count("num_shared_experts") * spec.intermediate
    spec = replace(
        spec,
        shared=shared,
        correction=True,
        latent=fields.optional("routed_expert_hidden_size"),
        name="block_sparse_moe.",
        shared_name="block_sparse_moe.shared_experts.",
    )
    feed_forward(draft, spec)
    if spec.latent and fields.flag("latent_moe_use_norm"):
        draft.norms(1, everywhere(fields), spec.latent)


def lfm2(draft: Draft) -> None:
    """LFM2: short convolutions with attention in some layers."""
    fields = draft.fields
    layers = everywhere(fields)
    kinds = fields.texts("layer_types") or ()
    if len(kinds) < len(layers):
        indices = fields.numbers("full_attn_idxs")
        if indices is None:
            fields.missing("layer_types")
            return
        kinds = tuple("full_attention" if n in indices else "conv" for n in layers)
    convolved = where(kinds[: len(layers)], "conv")
    attention = tuple(layer for layer in layers if layer not in convolved)
    size = fields.size("conv_dim", "hidden_size")
    bias = fields.flag("conv_bias")
    short_conv(draft, size, fields.size("conv_L_cache"), convolved, bias=bias)
    if attention:
        spec = replace(
            attention_of(fields, draft.hidden), head_norms=2, output="self_attn.out_proj"
        )
        gqa(draft, spec, attention)
        attention_caches(draft, spec, ["full_attention"])
        draft.cache(draft.caches.pop().model_copy(update={"layers": attention}))
    draft.norms(2, layers)
    _lfm2_feed_forward(draft)


def _lfm2_feed_forward(draft: Draft) -> None:
    fields = draft.fields
    size = fields.size("block_ff_dim", "intermediate_size")
    if fields.flag("block_auto_adjust_ff_dim", default=True) and fields.raw("block_ff_dim"):
        multiple = fields.size("block_multiple_of", default=256)
        size = int(fields.number("block_ffn_dim_multiplier", 1.0) * int(2 * size / 3))
        size = multiple * -(-size // multiple)
    if not fields.optional("num_experts"):
        mlp(draft, size, everywhere(fields), name="feed_forward.", part=Part.MLP)
        return
    dense_count = fields.count("num_dense_layers")
    layers = everywhere(fields)
    mlp(draft, size, layers[:dense_count], name="feed_forward.")
    spec = replace(
        experts_of(fields), correction=fields.flag("use_expert_bias"), name="feed_forward."
    )
    moe(draft, spec, layers[dense_count:])
