"""DeepSeek V4: compressed latents, a sliding window beside them, hyper-connections.

Shapes from vLLM 0.33.0's `models/deepseek_v4` (attention, compressor, nvidia/model).
"""

from models.architecture.blocks.draft import FLOAT32, Draft, Layers, rows
from models.architecture.blocks.feedforward import moe
from models.architecture.families.recipes.common import everywhere, experts_of
from models.architecture.types import CacheKind, CacheLayers, Part, Rows, Shard

_LATENT_BYTES = 584
"""448 bytes without position, 128 with, 8 of scales: one FP8 latent with its metadata."""

_ALIGNMENT = 576


def deepseek_v4(draft: Draft) -> None:
    """Add DeepSeek V4's layers."""
    fields = draft.fields
    layers = everywhere(fields)
    ratios = fields.numbers("compress_ratios")
    if ratios is None or len(ratios) < len(layers):
        fields.missing("compress_ratios")
        return
    _attention(draft, layers)
    by_ratio = {
        ratio: tuple(layer for layer in layers if ratios[layer] == ratio)
        for ratio in dict.fromkeys(ratios[: len(layers)])
    }
    window = fields.size("sliding_window")
    draft.cache(
        CacheLayers(
            kind=CacheKind.MLA_SLIDING,
            layers=layers,
            head_dim=fields.size("head_dim"),
            window=window,
            block=64,
            entry_bytes=_LATENT_BYTES,
            alignment=_ALIGNMENT,
            dtype="uint8",
        )
    )
    for ratio, numbers in sorted(by_ratio.items()):
        if ratio > 1 and numbers:
            _compressed(draft, ratio, numbers)
    _mixture(draft, layers)


def _attention(draft: Draft, layers: Layers) -> None:
    fields, part = draft.fields, Part.ATTENTION
    heads, dim = fields.size("num_attention_heads"), fields.size("head_dim")
    rank, groups = fields.size("q_lora_rank"), fields.size("o_groups")
    out_rank = fields.size("o_lora_rank")
    draft.heads, draft.kv_heads, draft.head_dim = heads, 1, dim
    draft.whole(part, "attn.wqa_wkv", rank + dim, draft.hidden, layers)
    draft.norms(1, layers, rank)
    draft.norms(1, layers, dim)
    draft.column(part, "attn.wq_b", (Rows(units=heads, width=dim),), rank, layers)
    grouped = (Rows(units=groups, width=out_rank),)
    draft.column(part, "attn.wo_a", grouped, max(1, heads * dim // groups), layers)
    draft.row(part, "attn.wo_b", draft.hidden, groups * out_rank, layers)
    draft.vector(part, heads, layers, dtype=FLOAT32)
    mult = fields.size("hc_mult")
    mixed = (2 + mult) * mult
    for _ in ("attention", "feed-forward"):
        draft.add(Part.MLP, "hc", rows(mixed), mult * draft.hidden, layers=layers, dtype=FLOAT32)
    draft.add(Part.HEAD, "hc_head", rows(mult), mult * draft.hidden, dtype=FLOAT32)
    draft.norms(2, layers)


def _compressed(draft: Draft, ratio: int, layers: Layers) -> None:
    """Add the compressor (and at ratio 4 the indexer with its own) of layers of one ratio."""
    fields = draft.fields
    dim = fields.size("head_dim")
    overlap = 2 if ratio == 4 else 1
    draft.cache(
        CacheLayers(
            kind=CacheKind.MLA,
            layers=layers,
            head_dim=dim,
            compress=ratio,
            block=256,
            entry_bytes=_LATENT_BYTES,
            alignment=_ALIGNMENT,
            dtype="uint8",
        )
    )
    _compressor(draft, ratio, overlap, dim, layers)
    if ratio != 4:
        return
    index = fields.size("index_head_dim")
    width = index + 4
    draft.cache(
        CacheLayers(
            kind=CacheKind.MLA,
            layers=layers,
            head_dim=width,
            compress=ratio,
            block=256,
            entry_bytes=width,
            alignment=_ALIGNMENT,
            dtype="uint8",
        )
    )
    _compressor(draft, ratio, overlap, index, layers)
    size = fields.size("index_n_heads") * index
    draft.whole(Part.ATTENTION, "attn.indexer.wq_b", size, fields.size("q_lora_rank"), layers)
    draft.whole(
        Part.ATTENTION,
        "attn.indexer.weights_proj",
        fields.size("index_n_heads"),
        draft.hidden,
        layers,
        quantized=False,
    )


def _compressor(draft: Draft, ratio: int, overlap: int, dim: int, layers: Layers) -> None:
    width = overlap * dim
    draft.whole(Part.ATTENTION, "attn.compressor", 2 * width, draft.hidden, layers, quantized=False)
    draft.add(Part.ATTENTION, "ape", rows(ratio), width, layers=layers, dtype=FLOAT32)
    draft.norms(1, layers, dim)
    draft.cache(
        CacheLayers(
            kind=CacheKind.MLA_SLIDING,
            layers=layers,
            head_dim=2 * width,
            window=overlap * ratio,
            block=4 if ratio == 4 else 8,
            entry_bytes=2 * width * 4,
            alignment=_ALIGNMENT,
            dtype=FLOAT32,
        )
    )


def _mixture(draft: Draft, layers: Layers) -> None:
    fields = draft.fields
    base = experts_of(fields)
    shared = fields.count("n_shared_experts") * base.intermediate
    moe(
        draft,
        base.__class__(
            count=base.count,
            intermediate=base.intermediate,
            top_k=base.top_k,
            shared=shared,
            correction=fields.text("topk_method") == "noaux_tc",
            name="ffn.",
            shared_name="ffn.shared_experts.",
        ),
        layers,
    )
    hashed = layers[: fields.count("num_hash_layers")]
    if hashed:
        vocab = fields.size("vocab_size")
        draft.add(
            Part.ROUTER, "tid2eid", rows(vocab), base.top_k, layers=hashed, shard=Shard.NONE,
            dtype="int32",
        )  # fmt: skip  # one tensor, read like its neighbors
