"""What a checkpoint says of itself: headers of safetensors files, and the index over the shards.

Used where no checksum vouches for the whole: a file that was cut before it was uploaded has the
right size in the store and the right MD5, and only its own header tells.

Format: huggingface/safetensors, README.md ("Format"): eight bytes with the header's length, the
header as JSON, then the tensors' bytes without holes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

SUFFIX: Final = ".safetensors"
INDEX_SUFFIX: Final = ".safetensors.index.json"
HEADER_MAX: Final = 100_000_000  # bytes; the format's own bound
INDEX_MAX: Final = 64 * 1024**2
METADATA: Final = "__metadata__"


class LayoutError(ValueError):
    """The file is not what its header says."""


def tensors_of(path: Path) -> dict[str, Any]:
    """Return a file's tensors by name, as its header describes them.

    Raises `LayoutError` where header and file do not fit: the file was cut, or is none.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8 or not 2 <= length <= min(HEADER_MAX, size - 8):
            raise LayoutError(f"its header cannot be {length} bytes long in a file of {size} bytes")
        text = file.read(length)
    try:
        header: Any = json.loads(text)
        spans = sorted(_span(name, entry) for name, entry in header.items() if name != METADATA)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LayoutError(f"its header cannot be read ({type(error).__name__})") from error
    end = 0
    for begin, stop in spans:
        if begin != end or stop < begin:
            raise LayoutError(f"its tensors leave a hole or overlap at byte {begin} of the data")
        end = stop
    if end != size - 8 - length:
        raise LayoutError(
            f"its tensors take {end} bytes and the file has {size - 8 - length} for them: it was"
            " cut, or something was added to it"
        )
    return {name: entry for name, entry in header.items() if name != METADATA}


def _span(name: str, entry: Mapping[str, Any]) -> tuple[int, int]:
    begin, end = entry["data_offsets"]
    if not isinstance(begin, int) or not isinstance(end, int):
        raise TypeError(name)
    return begin, end


def layout_problem(path: Path) -> str | None:
    """Say what is wrong with a safetensors file; None where nothing is, or it is none."""
    if not path.name.endswith(SUFFIX):
        return None
    try:
        tensors_of(path)
    except LayoutError as error:
        return str(error)
    return None


def index_problems(folder: Path, names: Iterable[str]) -> list[str]:
    """Say which shards of an index are not there, or lack a tensor that they should have."""
    present = set(names)
    problems: list[str] = []
    for name in sorted(name for name in present if name.endswith(INDEX_SUFFIX)):
        path = folder / name
        try:
            if path.stat().st_size > INDEX_MAX:
                raise ValueError(name)
            wanted: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
            shards = sorted(set(wanted.values()))
        except (ValueError, TypeError, KeyError, AttributeError):
            problems.append(f"{name} is no index of shards (weight_map)")
            continue
        above = f"{name.rpartition('/')[0]}/" if "/" in name else ""
        for shard in shards:
            full = f"{above}{shard}"
            if full not in present:
                problems.append(f"{full} is named by {name} and is not there")
            elif lacking := _lacking(folder / full, shard, wanted):
                problems.append(f"{full} lacks {len(lacking)} tensors, such as {lacking[0]!r}")
    return problems


def _lacking(path: Path, shard: str, wanted: Mapping[str, str]) -> list[str]:
    try:
        held = tensors_of(path)
    except LayoutError:
        return []  # a file with a checksum of its own: what it vouches for is not judged here
    return sorted(name for name, where in wanted.items() if where == shard and name not in held)
