"""Sizes that kernels pad weights to, each product written out."""

import pytest

from models.architecture.types import Part, Rows, Scheme, SchemeKind, Shard, Weight
from models.memory.terms.kernels import marlin_fp8

pytestmark = pytest.mark.pure


def linear(experts: int = 0) -> Weight:
    """Return a weight whose padding is asked about; its own sizes do not count."""
    return Weight(
        part=Part.ATTENTION,
        modules=("m",),
        rows=(Rows(units=1, width=1),),
        shard=Shard.OUTPUT,
        linear=True,
        experts=experts,
    )


@pytest.mark.parametrize(
    ("out", "columns", "block", "sizes"),
    [
        # 64 x 128 = 8192, or 128 x 128: the first. Scales: one 16-bit number for each output.
        ([64], 128, None, [8192, 128]),
        # 192 x 128 = 24576, or 256 x 64 = 16384: the second.
        ([192], 64, None, [16384, 512]),
        # Slices of one weight are one height: 64 + 128 = 192.
        ([64, 128], 64, None, [16384, 512]),
        # 64 x 128 and 128 x 64 are as large: the one with fewer outputs and inputs in sum is the
        # same too, so the first stays, with 64 outputs.
        ([64], 64, None, [8192, 128]),
        # Groups of 96: 64 x lcm(128, 96) = 64 x 384 = 24576, or 128 x lcm(64, 96) = 128 x 192,
        # as large; 64 + 384 = 448 is more than 128 + 192 = 320. Two groups: 2 x 128 x 2 bytes.
        ([64], 96, (1, 96), [24576, 512]),
    ],
)
def test_fp8_in_marlins_form_takes_the_smaller_tiling(
    out: list[int], columns: int, block: tuple[int, int] | None, sizes: list[int]
) -> None:
    kind = SchemeKind.FP8_TENSOR if block is None else SchemeKind.FP8_BLOCK
    assert marlin_fp8(linear(), Scheme(kind=kind, bits=8, block=block), out, columns) == sizes
