"""The old calculator's number, shown beside ours where its flags are used, since users know it.

Its formula, that of the calculator which this command replaced, multiplies by query heads and by
the weights' bytes and leaves out the head size, so its KV cache is far too small: 32 times for
Llama 3 8B. It is kept as it was, faults included, and never decides anything.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import PositiveFloat, PositiveInt

from models.core.base import Model

_WEIGHT_BYTES: Final[Mapping[str, float]] = {
    "fp32": 4,
    "fp16": 2,
    "bf16": 2,
    "fp8": 1,
    "int8": 1,
    "awq": 0.5,
    "gptq": 0.5,
    "int4": 0.5,
    "nvfp4": 0.5,
    "mxfp4": 0.5,
}


class CalculatorInput(Model):
    """The old calculator's flags; sizes in GB (10^9 bytes), as it took them."""

    total_vram: PositiveFloat
    model_size: PositiveFloat
    quant: str
    batch: PositiveInt
    context: PositiveInt
    layers: PositiveInt
    heads: PositiveInt


class CalculatorResult(Model):
    """What the old calculator says: GB, and whether it thinks that it fits."""

    kv_cache_gb: float
    left_gb: float
    fits: bool


def weight_bytes_of(quant: str) -> float | None:
    """Return the bytes per weight that the old calculator takes for a format, None if unknown."""
    return _WEIGHT_BYTES.get(quant.lower())


def old_calculator(given: CalculatorInput) -> CalculatorResult | None:
    """Return the old calculator's number (GB), or None for a format that it does not know.

    KV = 2 x batch x context x layers x heads x bytes per weight.
    """
    each = weight_bytes_of(given.quant)
    if each is None:
        return None
    kv = 2 * given.batch * given.context * given.layers * given.heads * each / 1e9
    left = given.total_vram - given.model_size - kv
    return CalculatorResult(kv_cache_gb=kv, left_gb=left, fits=left >= 0)
