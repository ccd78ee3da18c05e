"""Counts weights: every live tensor on the pretended GPU, by storage."""

import gc
from collections import Counter
from typing import Any

from goldens.oracle.engine import package

_MIB = 1024**2
_PIECE = 512
_LARGE = 10 * _MIB
_ROUND = 2 * _MIB
_NEVER_SPLIT = 20 * _MIB

Sizes = Counter[int]
"""How many storages there are of each size in bytes."""


def allocated(size: int, *, splits_large: bool) -> int:
    """Return the block that PyTorch's allocator holds for `size` bytes.

    From 10 MiB on a segment is made in steps of 2 MiB and what is left over is split off when above
    1 MiB; under max_split_size_mb=20 (the engine's Worker.load_model) large blocks are not split.
    """
    piece = -(-size // _PIECE) * _PIECE
    if piece < _LARGE:
        return piece
    segment = -(-piece // _ROUND) * _ROUND
    if not splits_large and piece >= _NEVER_SPLIT:
        return segment
    return piece if segment - piece > _MIB else segment


def totals(sizes: Sizes) -> dict[str, int]:
    """Return the bytes as created and as the allocator holds them, by its old and new rule."""
    return {
        "raw_bytes": sum(size * times for size, times in sizes.items()),
        "alloc_old_bytes": sum(
            allocated(size, splits_large=True) * times for size, times in sizes.items()
        ),
        "alloc_new_bytes": sum(
            allocated(size, splits_large=False) * times for size, times in sizes.items()
        ),
    }


def count() -> Sizes:
    """Return what is alive on the GPU: parameters, buffers and plain attributes alike."""
    fake_tensor = package("torch._subclasses.fake_tensor").FakeTensor
    gc.collect()
    seen: dict[int, int] = {}
    for item in gc.get_objects():
        if issubclass(type(item), fake_tensor) and _device(item) == "cuda":
            storage = item.untyped_storage()
            seen.setdefault(storage._cdata, storage.nbytes())
    return Counter(size for size in seen.values() if size)


def _device(item: Any) -> str:
    try:
        return str(item.fake_device.type)
    except AttributeError:
        return ""
