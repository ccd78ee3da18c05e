"""The compute capability that a GPU's name tells where the very card is in no table.

By NVIDIA's published table of CUDA GPUs. A card's memory is not told by its name: without a stated
size it stays unknown.
"""

import re
from collections.abc import Sequence
from typing import Final

_FAMILIES: Final[Sequence[tuple[str, tuple[int, int]]]] = (
    (r"\bg?b300\b", (10, 3)),
    (r"\bg?b[12]00\b", (10, 0)),
    (r"\bgb10\b|dgx spark", (12, 1)),
    (r"rtx pro \d{4}|\brtx ?50[5-9]0|\b50[5-9]0 ?(ti)?\b", (12, 0)),
    (r"\b(gh200|h[128]00|h20|h800)\b", (9, 0)),
    (r"\bada\b|\brtx ?40[5-9]0|\b40[5-9]0 ?(ti)?\b|\bl(4|20|40s?)\b", (8, 9)),
    (r"\b(a100|a800|a30)\b", (8, 0)),
    (r"\b(rtx )?a[2-6]000\b|\brtx ?30[5-9]0|\b30[5-9]0 ?(ti)?\b|\ba(2|10g?|16|40)\b", (8, 6)),
    (r"\bt4g?\b|\brtx ?20[6-8]0|\b20[6-8]0 ?(ti)?\b|\brtx 8000|\bgtx 16\d0|titan rtx", (7, 5)),
    (r"\bv100s?\b|titan v\b", (7, 0)),
    (r"\bp40\b|\bp4\b|\bgtx 10\d0", (6, 1)),
    (r"\bp100\b", (6, 0)),
)


def capability_of_name(text: str) -> tuple[int, int] | None:
    """Return the compute capability of the family that a name belongs to, or None."""
    plain = re.sub(r"[-_]+", " ", text.lower())
    plain = re.sub(r"\b(rtx|gtx)(\d)", r"\1 \2", plain)
    return next((have for pattern, have in _FAMILIES if re.search(pattern, plain)), None)
