"""Cache pages of each layer on one rank: bytes, tokens per block, and blocks that a request needs.

Follows vLLM 0.33.0 `v1/kv_cache_interface.py` (page sizes and need per request) and
`platforms/interface.py` (block sizes by attention backend, alignment of hybrid models).
"""

import math
from dataclasses import dataclass, replace

from models.architecture import Architecture, CacheKind, CacheLayers, State
from models.memory.inputs.request import BudgetRequest, Resolved
from models.memory.terms.dtypes import DTYPE_BYTES, cache_bytes, is_eight_bit


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The page of layers that share one format. `bytes_` is the page, `padded` what it takes."""

    kind: CacheKind
    layers: tuple[int, ...]
    block: int
    bytes_: int
    padded: int
    window: int | None = None
    sharded: bool = True
    """Whether decode context parallelism spreads its tokens."""

    def grown(self, times: int) -> "Page":
        """Return the page with `times` the tokens in a block."""
        return replace(
            self, block=self.block * times, bytes_=self.bytes_ * times, padded=self.padded * times
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PageDemand:
    """What the need of a request depends on beside the page."""

    length: int
    in_flight: int
    state_blocks: int
    context: int = 1


def blocks_per_request(page: Page, serving: PageDemand) -> int:
    """Return the blocks of one request at full length in one group of that page.

    Full attention keeps every token, a window its tokens and those in flight, plus one block
    since it may start anywhere, a chunk likewise without; a state a fixed number of blocks.
    """
    if page.kind.is_state:
        return serving.state_blocks
    if page.kind in (CacheKind.SLIDING, CacheKind.MLA_SLIDING) and page.window:
        tokens = min(page.window - 1 + serving.in_flight, serving.length)
        return _blocks(tokens, page.block) + 1
    if page.kind is CacheKind.CHUNKED and page.window:
        return _blocks(min(page.window + serving.in_flight, serving.length), page.block)
    length = serving.length
    if page.sharded and serving.context > 1:
        length = -(-length // serving.context)
    return _blocks(length, page.block)


def _blocks(tokens: int, block: int) -> int:
    return -(-tokens // block)


def serving_of(
    request: BudgetRequest, resolved: Resolved, *, length: int | None = None
) -> PageDemand:
    """Return what one request's need depends on; `length` in place of max_model_len."""
    behavior, pipeline = request.behavior, request.arguments.pipeline_parallel_size
    batches = behavior.in_flight_batches
    if pipeline > 1:
        batches = pipeline + (1 if batches > 1 else 0)
    blocks = 1
    if _is_aligned(request, resolved):
        blocks = 2 + (_checkpoint_step(request) is not None)
    return PageDemand(
        length=length or resolved.max_model_len,
        in_flight=batches * resolved.max_num_batched_tokens,
        state_blocks=blocks + request.arguments.num_speculative_tokens,
        context=request.arguments.decode_context_parallel_size,
    )


def _is_aligned(request: BudgetRequest, resolved: Resolved) -> bool:
    return resolved.enable_prefix_caching and request.behavior.mamba_prefix_mode == "align"


def _checkpoint_step(request: BudgetRequest) -> int | None:
    """Return the tokens that states written inside a prefill are aligned to; None if they are not.

    Such states take one block more per request. Mamba 2 writes them anywhere; gated delta nets
    where FlashInfer's kernel runs (Hopper, Blackwell; 64 tokens), Kimi's delta attention on Hopper
    and later (16 tokens); Mamba 1 and short convolutions do not.
    """
    if not request.behavior.prefill_checkpoints:
        return None
    recent = request.card.capability[0] >= 9
    steps = {
        CacheKind.MAMBA2: 1,
        CacheKind.GDN: 64 if recent else None,
        CacheKind.KDA: 16 if recent else None,
    }
    for cache in request.architecture.caches:
        if cache.kind.is_state:
            return steps.get(cache.kind)
    return None


def state_bytes(state: State, tensor: int, dtype: str, speculative: int) -> int:
    """Return the bytes of one layer's state on one of `tensor` ranks.

    Groups that ranks outnumber are copied (`MambaStateShapeCalculator`).
    """
    groups = state.groups
    if groups and groups % tensor:
        groups = max(groups, tensor)
    conv = -(-(state.conv_size + groups * state.group_width) // tensor)
    short = conv * (state.kernel - 1 + speculative) * DTYPE_BYTES.get(dtype, 2)
    recurrent = -(-state.heads // tensor) * state.head_elements
    return short + recurrent * DTYPE_BYTES.get(state.dtype or dtype, 2)


_PACKED_LATENT = 656
"""DeepSeek's packed FP8 latent of sparse attention: 512 bytes, 16 of scales, 128 of positions."""


def entry_bytes(cache: CacheLayers, request: BudgetRequest, resolved: Resolved) -> int:
    """Return the bytes of one token (or compressed entry) in one layer on one rank.

    Sparse latent attention keeps an 8-bit cache in its packed form on Hopper, and on consumer
    Blackwell always (`layers/attention/mla_attention.py`).
    """
    if cache.entry_bytes is not None:
        return cache.entry_bytes
    dtype, tensor = resolved.kv_cache_dtype, request.arguments.tensor_parallel_size
    if cache.kind is CacheKind.MLA and request.architecture.index_top_k:
        major = request.card.capability[0]
        if (major == 9 and is_eight_bit(dtype)) or major == 12:
            return _PACKED_LATENT
    if cache.kind in (CacheKind.MLA, CacheKind.MLA_SLIDING):
        return cache_bytes(cache.head_dim, dtype, resolved.dtype)
    heads = max(1, cache.kv_heads // tensor)
    each = cache_bytes(cache.head_dim, dtype, resolved.dtype) + cache_bytes(
        cache.head_dim_v, dtype, resolved.dtype
    )
    return heads * each


def base_block(architecture: Architecture, capability: tuple[int, int], cache_dtype: str) -> int:
    """Return the tokens per block that the attention backend of a card wants by default.

    vLLM 0.33.0 `platforms/cuda.py` (which backend) and the backends' supported sizes: 16, but 32
    for FlashInfer's latent attention on Blackwell, 64 for FlashMLA (an 8-bit latent on Hopper),
    for sparse latent attention, and where heads of 256 (of prefix-LM models on Blackwell) and 512
    go through FlashAttention 4.
    """
    latent = any(cache.kind is CacheKind.MLA for cache in architecture.caches)
    if latent and architecture.index_top_k:
        return 64
    if latent and capability[0] == 10:
        return 32
    if latent and capability[0] == 9 and is_eight_bit(cache_dtype):
        return 64
    wide = max((cache.head_dim for cache in architecture.caches if not latent), default=0)
    if capability[0] == 9 and wide == 512 and is_eight_bit(cache_dtype):
        return 64
    if capability[0] == 10 and architecture.bidirectional_prefix and wide >= 256:
        return 64
    return 16


def pages(request: BudgetRequest, resolved: Resolved) -> tuple[Page, ...]:
    """Return every layer's page on one rank, before grouping."""
    found, asked = request.architecture, request.arguments
    default = base_block(found, request.card.capability, resolved.kv_cache_dtype)
    block = asked.block_size or default
    states = [cache for cache in found.caches if cache.state is not None]
    state_page = max(
        (
            state_bytes(
                cache.state,
                asked.tensor_parallel_size,
                resolved.dtype,
                asked.num_speculative_tokens,
            )
            for cache in states
            if cache.state is not None
        ),
        default=0,
    )
    aligned = _is_aligned(request, resolved)
    checkpoint = (_checkpoint_step(request) if aligned else None) or 1
    padded = state_page
    if found.is_hybrid:
        attention = next(cache for cache in found.caches if not cache.kind.is_state)
        each = entry_bytes(attention, request, resolved)
        least = 128 if attention.kind is CacheKind.MLA else 16
        step = math.lcm(max(block, least), checkpoint)
        block = max(block, step * -(-state_page // (step * max(1, each))))
        padded = max(state_page, block * each)
    state_block = block if aligned else resolved.max_model_len
    result: list[Page] = []
    for cache in found.caches:
        if cache.state is not None:
            own = state_bytes(
                cache.state,
                asked.tensor_parallel_size,
                resolved.dtype,
                asked.num_speculative_tokens,
            )
            size = padded if found.is_hybrid else own
            result.append(
                Page(
                    kind=cache.kind,
                    layers=cache.layers,
                    block=state_block,
                    bytes_=own,
                    padded=size,
                    sharded=False,
                )
            )
            continue
        result.append(_attention_page(cache, block, request, resolved))
    return tuple(result)


def _attention_page(
    cache: CacheLayers, block: int, request: BudgetRequest, resolved: Resolved
) -> Page:
    tokens = cache.block or block
    size = max(1, tokens // cache.compress) * entry_bytes(cache, request, resolved)
    if cache.alignment:
        size = -(-size // cache.alignment) * cache.alignment
    windowed = request.behavior.hybrid_groups or cache.kind is CacheKind.MLA_SLIDING
    return Page(
        kind=cache.kind if windowed else CacheKind.FULL,
        layers=cache.layers,
        block=tokens,
        bytes_=size,
        padded=size,
        window=cache.window if windowed else None,
        sharded=cache.kind in (CacheKind.FULL, CacheKind.MLA),
    )


def merged(found: tuple[Page, ...]) -> list[Page]:
    """Join pages of one format, keeping the order of first appearance."""
    result: dict[tuple[object, ...], Page] = {}
    for page in found:
        key = (page.kind, page.block, page.bytes_, page.padded, page.window, page.sharded)
        before = result.get(key)
        layers = page.layers if before is None else (*before.layers, *page.layers)
        result[key] = replace(page, layers=layers)
    return list(result.values())
