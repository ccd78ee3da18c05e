"""Counts weights: every live tensor on the pretended GPU, by storage."""

import gc
from dataclasses import dataclass, field
from typing import Any

from goldens.oracle.engine import package

_MIB = 1024**2
_PIECE = 512
_LARGE = 10 * _MIB
_ROUND = 2 * _MIB
_NEVER_SPLIT = 20 * _MIB


@dataclass
class Count:
    """Bytes: as created, and as the caching allocator holds them by its two rules."""

    raw: int = 0
    old: int = 0
    new: int = 0
    by_dtype: dict[str, int] = field(default_factory=dict)


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


def count() -> Count:
    """Return what is alive on the GPU: parameters, buffers and plain attributes alike."""
    fake_tensor = package("torch._subclasses.fake_tensor").FakeTensor
    gc.collect()
    seen: dict[int, tuple[int, str]] = {}
    for item in gc.get_objects():
        if issubclass(type(item), fake_tensor) and _device(item) == "cuda":
            storage = item.untyped_storage()
            dtype = str(item.dtype).removeprefix("torch.")
            seen.setdefault(storage._cdata, (storage.nbytes(), dtype))
    found = Count()
    for size, dtype in seen.values():
        if not size:
            continue
        found.raw += size
        found.old += allocated(size, splits_large=True)
        found.new += allocated(size, splits_large=False)
        found.by_dtype[dtype] = found.by_dtype.get(dtype, 0) + size
    return found


def _device(item: Any) -> str:
    try:
        return str(item.fake_device.type)
    except AttributeError:
        return ""
