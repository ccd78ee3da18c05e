"""Recipes of Jamba, Mamba, Falcon Mamba and Mamba 2."""

from models.architecture.blocks.attention import gqa
from models.architecture.blocks.draft import Draft
from models.architecture.blocks.feedforward import Experts, mlp, moe
from models.architecture.blocks.mixers import Mamba1, Mamba2, mamba1, mamba2
from models.architecture.families.recipes.common import attention_caches, attention_of, everywhere


def jamba(draft: Draft) -> None:
    """Jamba: Mamba with periodic attention, experts in every n-th layer."""
    fields = draft.fields
    layers = everywhere(fields)
    period = fields.size("attn_layer_period")
    offset = fields.count("attn_layer_offset")
    attention = tuple(layer for layer in layers if layer % period == offset % period)
    recurrent = tuple(layer for layer in layers if layer not in attention)
    rank = fields.raw("mamba_dt_rank")
    mixer = Mamba1(
        inner=fields.size("mamba_expand") * draft.hidden,
        state=fields.size("mamba_d_state"),
        kernel=fields.size("mamba_d_conv"),
        rank=rank if isinstance(rank, int) and rank > 0 else -(-draft.hidden // 16),
        conv_bias=fields.flag("mamba_conv_bias", default=True),
        bias=fields.flag("mamba_proj_bias"),
        norms=True,
        name="mamba.",
    )
    mamba1(draft, mixer, recurrent)
    if attention:
        spec = attention_of(fields, draft.hidden)
        gqa(draft, spec, attention)
        attention_caches(draft, spec, ["full_attention"])
        draft.cache(draft.caches.pop().model_copy(update={"layers": attention}))
    draft.norms(2, layers)
    count = fields.count("num_experts")
    every, start = fields.size("expert_layer_period"), fields.count("expert_layer_offset")
    sparse = tuple(n for n in layers if count > 1 and n % every == start % every)
    size = fields.size("intermediate_size")
    mlp(draft, size, tuple(n for n in layers if n not in sparse), name="feed_forward.")
    if sparse:
        top_k = fields.size("num_experts_per_tok")
        moe(
            draft,
            Experts(count=count, intermediate=size, top_k=top_k, name="feed_forward."),
            sparse,
        )


def mamba(draft: Draft) -> None:
    """Mamba and Falcon Mamba: recurrent layers only."""
    fields = draft.fields
    layers = everywhere(fields)
    rank = fields.raw("time_step_rank", "dt_rank")
    inner = fields.optional("intermediate_size", "d_inner")
    mixer = Mamba1(
        inner=inner or fields.size("expand") * draft.hidden,
        state=fields.size("state_size"),
        kernel=fields.size("conv_kernel"),
        rank=rank if isinstance(rank, int) and rank > 0 else -(-draft.hidden // 16),
        conv_bias=fields.flag("use_conv_bias", default=True),
        bias=fields.flag("use_bias"),
    )
    mamba1(draft, mixer, layers)
    draft.norms(1, layers)


def pure_mamba2(draft: Draft) -> None:
    """Mamba 2: recurrent layers only."""
    fields = draft.fields
    layers = everywhere(fields)
    inner = fields.size("expand") * draft.hidden
    heads = fields.size("num_heads")
    mixer = Mamba2(
        inner=inner,
        heads=heads,
        head_dim=fields.size("head_dim"),
        groups=fields.size("n_groups"),
        state=fields.size("state_size"),
        kernel=fields.size("conv_kernel"),
        conv_bias=fields.flag("use_conv_bias", default=True),
        bias=fields.flag("use_bias"),
    )
    mamba2(draft, mixer, layers)
    draft.norms(1, layers)
