"""The forms that kernels bring quantized weights into: padding, and what scales become.

Which kernel takes them follows from the card and the method (vLLM 0.33.0; engine goldens).
"""

import math
from typing import Final

from models.architecture import Architecture, Scheme, SchemeKind, Shard, Weight
from models.memory.terms.rank import Rank

_FP8_KINDS: Final = (SchemeKind.FP8_TENSOR, SchemeKind.FP8_CHANNEL, SchemeKind.FP8_BLOCK)
_FP8_SINCE: Final = (8, 9)
_FP8_BLOCK_SINCE: Final = (9, 0)


def by_marlin(scheme: Scheme, rank: Rank, *, expert: bool) -> bool:
    """Tell whether FP8 weights go to Marlin, which computes in 16 bit.

    So do all on cards without FP8, and block-scaled ones of dense layers on 8.9, where neither
    DeepGEMM nor Cutlass has a kernel for them; experts have Triton's there (vLLM 0.33.0
    `kernels/linear/__init__.py` and the goldens' `kernel_backends`).
    """
    if scheme.kind not in _FP8_KINDS:
        return False
    block = scheme.kind is SchemeKind.FP8_BLOCK and not expert
    return rank.capability < (_FP8_BLOCK_SINCE if block else _FP8_SINCE)


def marlin_fp8(weight: Weight, scheme: Scheme, out: list[int], columns: int) -> list[int]:
    """Return the bytes of FP8 data and scales in Marlin's form, for one expert or layer.

    Scales are 16-bit numbers, one per output and block of inputs, however coarse the checkpoint's
    are (vLLM 0.33.0 `marlin_utils_fp8.py`); sizes are padded to the kernel's tiles.
    """
    height, group = sum(out), scheme.block[1] if scheme.block is not None else 0
    if weight.experts:
        step = math.lcm(64, group or 1)
        if weight.shard is Shard.OUTPUT:
            height = sum(_up(size, step) for size in out)
        else:
            columns = _up(columns, step)
    else:
        tiles = (
            (_up(height, 64), _up(columns, math.lcm(128, group or 1))),
            (_up(height, 128), _up(columns, math.lcm(64, group or 1))),
        )
        height, columns = min(tiles, key=lambda tile: (tile[0] * tile[1], tile[0] + tile[1]))
    groups = columns // group if group else 1
    return [height * columns, 2 * height * groups]


def has_mxfp4(architecture: Architecture) -> bool:
    """Tell whether the checkpoint is stored as MXFP4."""
    quantization = architecture.quantization
    return quantization is not None and quantization.scheme.kind is SchemeKind.MXFP4


def _mxfp4_steps(rank: Rank, architecture: Architecture) -> tuple[int, int]:
    """Return the steps that MXFP4 kernels round hidden and intermediate sizes up to.

    vLLM 0.33.0 `fused_moe/oracle/mxfp4.py`: Marlin and TRT-LLM take 256 and 128, Humming (models
    other than gpt-oss on Hopper) the hidden size as it is. gpt-oss on Hopper goes to Triton:
    64 for the intermediate size; earlier releases padded the hidden size to 256 there as well.
    Those to 0.11 take Marlin there: `triton_kernels` is in the wheel from 0.12 on (`setup.py`).
    """
    if rank.capability[0] != 9 or rank.marlin_mxfp4:
        return 256, 128
    if not architecture.engine.mxfp4_by_triton:
        return 1, 128
    return (256 if rank.padded_mxfp4 else 1), 64


def mxfp4(
    weight: Weight, out: list[int], columns: int, rank: Rank, architecture: Architecture
) -> list[int]:
    """Return an MXFP4 expert's data and scales, padded as the kernel wants them.

    Triton's Hopper layout pads scales to 256 rows and 4 groups (measured on the goldens).
    """
    hidden_step, inner_step = _mxfp4_steps(rank, architecture)
    up = weight.shard is Shard.OUTPUT
    out_step, column_step = (inner_step, hidden_step) if up else (hidden_step, inner_step)
    total = sum(-(-size // out_step) * out_step for size in out)
    columns = -(-columns // column_step) * column_step
    groups = -(-columns // 32)
    data = total * columns // 2
    if _is_triton(rank, architecture):
        return [data, -(-total // 256) * 256 * (-(-groups // 4) * 4)]
    return [data, total * groups]


def _is_triton(rank: Rank, architecture: Architecture) -> bool:
    hopper = rank.capability[0] == 9 and not rank.marlin_mxfp4
    return hopper and architecture.engine.mxfp4_by_triton


def mxfp4_bias(weight: Weight, out: list[int], rank: Rank, architecture: Architecture) -> int:
    """Return the bytes of an expert's bias beside MXFP4 weights: float32 under Triton."""
    hidden_step, inner_step = _mxfp4_steps(rank, architecture)
    step = inner_step if weight.shard is Shard.OUTPUT else hidden_step
    total = sum(-(-size // step) * step for size in out)
    return total * (4 if _is_triton(rank, architecture) else 2)


_REFINED_LEAST: Final = 32


def refined_block(block: tuple[int, int], inner: int, hidden: int) -> tuple[int, int] | None:
    """Return the block that an expert's FP8 scales are brought to; None where it cannot be.

    Blocks that do not divide a rank's intermediate size are refined to what divides everything, at
    least 32 (vLLM 0.33.0 `fused_moe/oracle/fp8.py`); only Triton's kernels take that.
    """
    if inner % block[0] == 0 and inner % block[1] == 0:
        return block
    step = math.gcd(*block, inner, hidden)
    return (step, step) if step >= _REFINED_LEAST else None


_TRTLLM_STEP: Final = 128


def by_machete(scheme: Scheme, rank: Rank, out: list[int], columns: int, *, expert: bool) -> bool:
    """Tell whether grouped integers go to Machete: dense layers on Hopper.

    AWQ's do in newer releases only. Sizes that Machete does not take go to Marlin.
    """
    if scheme.kind is not SchemeKind.WNA16 or expert or rank.capability != (9, 0):
        return False
    early = scheme.zero_points and not rank.machete_awq
    return not early and columns % 64 == 0 and sum(out) % 128 == 0


def machete_zero_points(scheme: Scheme, architecture: Architecture, total: int, groups: int) -> int:
    """Return the bytes of zero points beside Machete's weights, where Marlin's differ.

    Zero points become 16-bit numbers (`mixed_precision/machete.py`); GPTQ's, of symmetric weights
    too, stay as the checkpoint packs them, while Marlin empties them.
    """
    if scheme.zero_points:
        return 2 * total * groups
    quantization = architecture.quantization
    if quantization is not None and quantization.method == "gptq":
        return int(total * groups * scheme.bits) // 8
    return 0


def padded_expert(
    weight: Weight, out: list[int], columns: int, rank: Rank, architecture: Architecture
) -> tuple[list[int], int]:
    """Return a 16-bit expert's sizes as the kernel wants them: TRT-LLM's steps on Blackwell.

    vLLM 0.24.0 and 0.33.0 `fused_moe/oracle/unquantized.py`.
    """
    refused = not architecture.engine.experts_by_trtllm
    if rank.capability[0] != 10 or not rank.trtllm_experts or refused:
        return out, columns
    if weight.shard is Shard.OUTPUT:
        return [_up(size, _TRTLLM_STEP) for size in out], columns
    return out, _up(columns, _TRTLLM_STEP)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
