"""Attention blocks: grouped queries, multi-head latent attention, and their caches.

Shapes follow the engine's modules (`model_executor/models/*.py` and `layers/mla.py` of vLLM
0.33.0): queries, keys and values are one tensor, KV heads are copied where ranks outnumber them.
"""

from dataclasses import dataclass

from models.architecture.blocks.draft import Draft, Layers, rows
from models.architecture.types import CacheKind, CacheLayers, Part, Rows, Shard


@dataclass(frozen=True, kw_only=True, slots=True)
class Attention:
    """Grouped-query attention: `gate` doubles the queries, `sinks` adds one number per head."""

    heads: int
    kv_heads: int
    head_dim: int
    head_dim_v: int | None = None
    qkv_bias: bool = False
    o_bias: bool = False
    head_norms: int = 0
    """Norms over one head, shared by the heads."""
    wide_norms: bool = False
    """Norms over all query heads and over all key heads."""
    gate: bool = False
    sinks: bool = False
    output: str = "self_attn.o_proj"
    inputs: tuple[str, ...] = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    input_size: int | None = None

    @property
    def value_dim(self) -> int:
        """Width of one value head."""
        return self.head_dim if self.head_dim_v is None else self.head_dim_v


def gqa(draft: Draft, spec: Attention, layers: Layers) -> None:
    """Add the weights of grouped-query attention in `layers`."""
    draft.heads = max(draft.heads, spec.heads)
    draft.kv_heads = max(draft.kv_heads, spec.kv_heads)
    draft.head_dim = max(draft.head_dim, spec.head_dim)
    hidden = spec.input_size or draft.hidden
    queries = spec.heads * (2 if spec.gate else 1)
    out = (
        Rows(units=queries, width=spec.head_dim),
        Rows(units=spec.kv_heads, width=spec.head_dim, replicated=True),
        Rows(units=spec.kv_heads, width=spec.value_dim, replicated=True),
    )
    draft.column(Part.ATTENTION, spec.inputs, out, hidden, layers, bias=spec.qkv_bias)
    draft.row(
        Part.ATTENTION,
        spec.output,
        draft.hidden,
        spec.heads * spec.value_dim,
        layers,
        bias=spec.o_bias,
    )
    draft.norms(spec.head_norms, layers, spec.head_dim)
    if spec.wide_norms:
        wide = (
            Rows(units=spec.heads, width=spec.head_dim),
            Rows(units=spec.kv_heads, width=spec.head_dim, replicated=True),
        )
        for part in wide:
            draft.column(Part.NORM, "norm", (part,), 1, layers, quantized=False)
    if spec.sinks:
        draft.vector(Part.ATTENTION, spec.heads, layers, split=True)


def gqa_cache(
    draft: Draft,
    spec: Attention,
    layers: Layers,
    kind: CacheKind = CacheKind.FULL,
    window: int | None = None,
) -> None:
    """Add the KV cache of grouped-query attention in `layers`."""
    if layers:
        draft.cache(
            CacheLayers(
                kind=kind,
                layers=layers,
                kv_heads=spec.kv_heads,
                head_dim=spec.head_dim,
                head_dim_v=spec.value_dim,
                window=window,
            )
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Latent:
    """Multi-head latent attention (DeepSeek's): the cache keeps one latent per token."""

    heads: int
    q_rank: int | None
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    output_gate: bool = False
    index_heads: int = 0
    index_dim: int = 0


def latent_of(draft: Draft) -> Latent:
    """Read a latent attention's sizes from the usual fields."""
    fields = draft.fields
    return Latent(
        heads=fields.size("num_attention_heads"),
        q_rank=fields.optional("q_lora_rank"),
        kv_rank=fields.size("kv_lora_rank"),
        rope_dim=fields.size("qk_rope_head_dim"),
        nope_dim=fields.size("qk_nope_head_dim"),
        value_dim=fields.size("v_head_dim"),
        output_gate=fields.flag("mla_use_output_gate"),
        index_heads=fields.count("index_n_heads"),
        index_dim=fields.count("index_head_dim"),
    )


def mla(draft: Draft, spec: Latent, layers: Layers) -> None:
    """Add the weights of latent attention in `layers`.

    The latents are whole on every rank. Beside a quantized `kv_b_proj` the engine keeps
    its halves in 16 bit for the absorbed form (`layers/attention/mla_attention.py`).
    """
    draft.heads, draft.kv_heads = spec.heads, 1
    draft.head_dim = spec.kv_rank + spec.rope_dim
    hidden, query = draft.hidden, spec.nope_dim + spec.rope_dim
    name = "self_attn."
    latent = spec.kv_rank + spec.rope_dim
    if spec.q_rank is None:
        heads = (Rows(units=spec.heads, width=query),)
        draft.column(Part.ATTENTION, name + "q_proj", heads, hidden, layers)
        draft.whole(Part.ATTENTION, name + "kv_a_proj_with_mqa", latent, hidden, layers)
    else:
        both = (name + "q_a_proj", name + "kv_a_proj_with_mqa")
        draft.whole(Part.ATTENTION, both, spec.q_rank + latent, hidden, layers)
        draft.norms(1, layers, spec.q_rank)
        heads = (Rows(units=spec.heads, width=query),)
        draft.column(Part.ATTENTION, name + "q_b_proj", heads, spec.q_rank, layers)
    draft.norms(1, layers, spec.kv_rank)
    width = spec.nope_dim + spec.value_dim
    both_halves = (Rows(units=spec.heads, width=width),)
    draft.column(Part.ATTENTION, name + "kv_b_proj", both_halves, spec.kv_rank, layers)
    for half in (spec.nope_dim, spec.value_dim):
        draft.add(
            Part.BUFFER,
            name + "absorbed",
            (Rows(units=spec.heads, width=half),),
            spec.kv_rank,
            shard=Shard.OUTPUT,
            layers=layers,
            derived_from=name + "kv_b_proj",
        )
    draft.row(Part.ATTENTION, name + "o_proj", hidden, spec.heads * spec.value_dim, layers)
    if spec.output_gate:
        gate = (Rows(units=spec.heads, width=spec.value_dim),)
        draft.column(Part.ATTENTION, name + "g_proj", gate, hidden, layers)
    _indexer(draft, spec, layers)


def _indexer(draft: Draft, spec: Latent, layers: Layers) -> None:
    """Add the sparse attention's indexer (DeepSeek V3.2), whole on every rank."""
    if not spec.index_heads:
        return
    name = "self_attn.indexer."
    size = spec.index_heads * spec.index_dim
    draft.whole(Part.ATTENTION, name + "wq_b", size, spec.q_rank or draft.hidden, layers)
    draft.whole(
        Part.ATTENTION,
        name + "wk_weights_proj",
        spec.index_dim + spec.index_heads,
        draft.hidden,
        layers,
        quantized=False,
    )
    draft.norms(2, layers, spec.index_dim)


def mla_cache(draft: Draft, spec: Latent, layers: Layers) -> None:
    """Add the latent cache in `layers`, and the indexer's keys where there is one.

    The indexer keeps one FP8 key and one float32 scale per token and 128 numbers.
    """
    if not layers:
        return
    latent = spec.kv_rank + spec.rope_dim
    draft.cache(CacheLayers(kind=CacheKind.MLA, layers=layers, head_dim=latent))
    if spec.index_heads:
        scales = 4 * -(-spec.index_dim // 128)
        entry = CacheLayers(
            kind=CacheKind.MLA,
            layers=layers,
            head_dim=spec.index_dim + scales,
            entry_bytes=spec.index_dim + scales,
            dtype="uint8",
        )
        draft.cache(entry)


def rotary(draft: Draft, positions: int, dim: int, dtype: str | None = None) -> None:
    """Add the table of rotary sines and cosines: `positions` x `dim` numbers, on every rank."""
    if positions > 0 and dim > 0:
        draft.add(Part.BUFFER, "rotary_emb", rows(positions), dim, dtype=dtype)
