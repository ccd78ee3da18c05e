"""The places of docs/memory-model.md that scripts write, between HTML comments with their names."""

import re
from functools import partial
from typing import Final

from benchmarks.shared.memory_cases import ROOT

DOCUMENT: Final = ROOT / "docs" / "memory-model.md"


def renewed(text: str, places: dict[str, str]) -> str:
    """Return a document with what is between the markers of `places` replaced.

    Raises:
        ValueError: when a place is not marked exactly once.

    """
    for name, body in places.items():
        pattern = rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)"
        text, count = re.subn(pattern, partial(_filled, body), text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{DOCUMENT.name}: {count} places are marked {name}, wanted 1")
    return text


def place(text: str, name: str) -> str:
    """Return what a document holds between the markers of a name, "" if it is not marked."""
    found = re.search(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", text, flags=re.DOTALL)
    return "" if found is None else found[1]


def _filled(body: str, found: re.Match[str]) -> str:
    return f"{found[1]}{body}\n{found[2]}"
