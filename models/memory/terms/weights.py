"""Weight bytes on one GPU, tensor by tensor, as the engine allocates them.

The log's figure is what the caching allocator holds, not the sum of the tensors: large blocks are
rounded up (docs/memory-model.md, Terms; PyTorch's CUDA caching allocator).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from models.architecture import (
    Architecture,
    CacheKind,
    Part,
    Rows,
    Scheme,
    SchemeKind,
    Shard,
    Weight,
)
from models.architecture.config.quantization import NONE, scheme_of
from models.memory.terms.dtypes import DTYPE_BYTES
from models.memory.terms.kernels import (
    by_machete,
    by_marlin,
    has_mxfp4,
    machete_zero_points,
    marlin_fp8,
    mxfp4,
    mxfp4_bias,
    padded_expert,
    refined_block,
)
from models.memory.terms.rank import Rank

MIB: Final = 1024**2
_PIECE: Final = 512
_LARGE: Final = 10 * MIB
_ROUND: Final = 2 * MIB
_NEVER_SPLIT: Final = 20 * MIB


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightBytes:
    """Bytes on one rank: `raw` tensors, `allocated` with the allocator's rounding, by part."""

    raw: int
    allocated: int
    by_part: Mapping[Part, int]


def stage_layers(layers: int, pipeline: int, stage: int) -> range:
    """Return the layers of one pipeline stage (vLLM `distributed/utils.py: get_pp_indices`).

    Layers left over after an even split go one each to the stages before the last, from the back.
    """
    each, over = divmod(layers, pipeline)
    sizes = [each] * pipeline
    for number in range(2, over + 2):
        sizes[-number] += 1
    start = sum(sizes[:stage])
    return range(start, start + sizes[stage])


def weight_bytes(architecture: Architecture, rank: Rank, allocator: str) -> WeightBytes:
    """Return the weight bytes on `rank`; `allocator` is `old` or `new` (from 0.22) rounding."""
    raw = allocated = 0
    by_part: dict[Part, int] = {}
    held = stage_layers(architecture.num_layers, rank.pipeline, rank.stage)
    for weight in architecture.weights:
        copies = _copies(weight, held, rank, architecture)
        if not copies:
            continue
        for layers, scheme in _schemes(architecture, weight, held):
            for size in _tensors(weight, scheme, rank, architecture):
                times = copies * (layers if weight.layers is not None else 1)
                raw += size * times
                rounded = allocation(size, allocator) * times
                allocated += rounded
                by_part[weight.part] = by_part.get(weight.part, 0) + rounded
    buffers = _step_buffers(architecture, rank)
    by_part[Part.BUFFER] = by_part.get(Part.BUFFER, 0) + buffers
    return WeightBytes(raw=raw + buffers, allocated=allocated + buffers, by_part=by_part)


def _step_buffers(architecture: Architecture, rank: Rank) -> int:
    """Return the buffers of a step that models make while they load.

    What decoder layers take beside their inputs (multimodal models, 0.11 to 0.33). Of sparse
    attention the positions chosen (int32), and what stands beside its indexer. On Blackwell latent
    attention's workspace of 128 MiB, and 394 more where its heads have not DeepSeek's sizes, which
    other kernels read prompts with (vLLM 0.33.0 `v1/attention/backends/mla/prefill/`).
    """
    size = rank.batched_tokens * architecture.index_top_k * 4
    size += rank.batched_tokens * architecture.step_elements * 2
    latent = any(cache.kind is CacheKind.MLA for cache in architecture.caches)
    beside = architecture.engine.indexer_step_bytes
    if architecture.index_top_k and beside:
        size += rank.batched_tokens * architecture.num_layers * beside
    elif latent and rank.capability[0] == 10:
        size += 128 * MIB + (0 if _has_deepseeks_heads(architecture) else 394 * MIB)
    return size


def _has_deepseeks_heads(architecture: Architecture) -> bool:
    """Tell whether keys without position and values have 128 numbers per head each."""
    widths = {
        part.width
        for weight in architecture.weights
        if any(name.endswith("self_attn.kv_b_proj") for name in weight.modules)
        for part in weight.rows
    }
    return widths <= {256}


def allocation(size: int, allocator: str) -> int:
    """Return the block that the caching allocator holds for a tensor of `size` bytes.

    Blocks of 10 MiB and more come from segments in steps of 2 MiB; what is left over is split
    off only if above 1 MiB. Under `new` a block of 20 MiB and more is never split.
    """
    piece = -(-size // _PIECE) * _PIECE
    if piece < _LARGE:
        return piece
    segment = -(-piece // _ROUND) * _ROUND
    if allocator == "new" and piece >= _NEVER_SPLIT:
        return segment
    return piece if segment - piece > MIB else segment


def _copies(weight: Weight, layers: range, rank: Rank, architecture: Architecture) -> int:
    if weight.layers is not None or rank.pipeline == 1:
        return weight.copies
    first, last = rank.stage == 0, rank.stage == rank.pipeline - 1
    if weight.part is Part.EMBEDDING:
        return weight.copies if first or (last and architecture.tied_embeddings) else 0
    if weight.part in (Part.HEAD, Part.NORM):
        return weight.copies if last else 0
    if weight.part is Part.VISION:
        return weight.copies if first else 0
    return weight.copies


def _schemes(
    architecture: Architecture, weight: Weight, layers: range
) -> Iterable[tuple[int, Scheme]]:
    """Yield how many of the weight's layers on this stage are stored by which scheme."""
    if weight.derived_from is not None and architecture.quantization is None:
        return
    if (not weight.linear and weight.derived_from is None) or architecture.quantization is None:
        here = weight.layers or ()
        yield sum(layer in layers for layer in here), NONE
        return
    quantization = architecture.quantization
    if weight.derived_from is not None:
        yield (
            sum(
                _is_quantized(architecture, weight, layer, layers) for layer in weight.layers or ()
            ),
            NONE,
        )
        return
    expert = weight.experts > 0
    if weight.layers is None:
        head_only = weight.part is Part.HEAD and not quantization.quantizes_head
        scheme = NONE if head_only else scheme_of(quantization, weight.modules, expert=expert)
        yield 1, scheme
        return
    if not quantization.ignored and not quantization.rules:
        count = sum(layer in layers for layer in weight.layers)
        yield count, scheme_of(quantization, weight.modules, expert=expert)
        return
    counted: dict[Scheme, int] = {}
    for layer in weight.layers:
        if layer in layers:
            names = tuple(name.format(layer) for name in weight.modules)
            scheme = scheme_of(quantization, names, expert=expert)
            counted[scheme] = counted.get(scheme, 0) + 1
    for scheme, count in counted.items():
        yield count, scheme


def _is_quantized(architecture: Architecture, weight: Weight, layer: int, layers: range) -> bool:
    if layer not in layers or weight.derived_from is None:
        return False
    names = (weight.derived_from.format(layer),)
    return scheme_of(architecture.quantization, names, expert=False).kind is not SchemeKind.NONE


def rank_rows(part: Rows, shard: Shard, tensor: int) -> int:
    """Return the rows of one output slice on one of `tensor` ranks."""
    if shard is Shard.VOCABULARY:
        padded = -(-part.size // 64) * 64
        return -(-padded // tensor)
    if shard is not Shard.OUTPUT:
        return part.size
    if part.replicated:
        return part.width * max(1, part.units // tensor)
    return -(-part.size // tensor)


def _tensors(weight: Weight, scheme: Scheme, rank: Rank, architecture: Architecture) -> list[int]:
    tensor, experts = rank.tensor, weight.experts
    if experts and rank.expert_parallel:
        experts = -(-experts // (rank.tensor * rank.data))
        tensor = 1
    elif experts:
        tensor = rank.tensor * rank.data
    out = [rank_rows(part, weight.shard, tensor) for part in weight.rows]
    columns = weight.columns
    if weight.shard is Shard.INPUT:
        columns = -(-columns // tensor)
    dtype = weight.dtype or rank.dtype or architecture.dtype
    if experts and not weight.linear and has_mxfp4(architecture):
        return [experts * mxfp4_bias(weight, out, rank, architecture)]
    if scheme.kind is SchemeKind.NONE and experts and weight.linear:
        out, columns = padded_expert(weight, out, columns, rank, architecture)
    if scheme.kind is SchemeKind.NONE:
        return [max(1, experts) * sum(out) * columns * DTYPE_BYTES.get(dtype, 2)]
    sizes = _by_kernel(weight, scheme, (out, columns), rank, architecture)
    return [size * max(1, experts) for size in sizes]


def _by_kernel(
    weight: Weight,
    scheme: Scheme,
    shape: tuple[list[int], int],
    rank: Rank,
    architecture: Architecture,
) -> list[int]:
    """Return the bytes of a quantized weight's tensors in the form that its kernel wants."""
    out, columns = shape
    experts = weight.experts > 0
    if scheme.kind is SchemeKind.MXFP4 and experts:
        return mxfp4(weight, out, columns, rank, architecture)
    if by_marlin(scheme, rank, expert=experts):
        return marlin_fp8(weight, scheme, out, columns)
    if experts and scheme.block is not None and rank.refined_fp8_blocks:
        up = weight.shard is Shard.OUTPUT
        inner, hidden = (out[0], columns) if up else (columns, sum(out))
        block = refined_block(scheme.block, inner, hidden)
        scheme = scheme.model_copy(update={"block": block or scheme.block})
    sizes = _quantized(scheme, out, columns)
    if by_machete(scheme, rank, out, columns, expert=experts):
        groups = -(-columns // scheme.group) if scheme.group else 1
        return [*sizes[:2], machete_zero_points(scheme, architecture, sum(out), groups)]
    return sizes


def _quantized(scheme: Scheme, out: list[int], columns: int) -> list[int]:
    """Return the bytes of a quantized weight's tensors: data, scales, zero points."""
    total = sum(out)
    data = int(total * columns * scheme.bits) // 8
    groups = -(-columns // scheme.group) if scheme.group else 1
    scales: Mapping[SchemeKind, list[int]] = {
        SchemeKind.FP8_TENSOR: [4],
        SchemeKind.FP8_CHANNEL: [4 * total],
        SchemeKind.INT8_CHANNEL: [4 * total],
        SchemeKind.NVFP4: [total * groups, 4],
        SchemeKind.MXFP4: [total * groups],
        SchemeKind.MXFP8: [total * groups],
        SchemeKind.BNB4: [4 * total * groups],
        SchemeKind.GGUF: [],
    }
    if scheme.kind is SchemeKind.FP8_BLOCK and scheme.block is not None:
        high, wide = scheme.block
        return [data, 4 * sum(-(-size // high) for size in out) * -(-columns // wide)]
    if scheme.kind is SchemeKind.WNA16:
        zeros = [int(total * groups * scheme.bits) // 8] if scheme.zero_points else []
        return [data, 2 * total * groups, *zeros]
    return [data, *scales[scheme.kind]]
