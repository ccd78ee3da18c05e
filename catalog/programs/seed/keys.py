"""Objects below the prefix: their names, and the sums that their bytes must have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from catalog.programs.seed.errors import ConfigError

MANIFEST: Final = ".triplane-manifest.json"
SUMS: Final = "SHA256SUMS"
SIZE_ONLY: Final = "size only"
HEADER: Final = "size and header"  # of a safetensors file


@dataclass(frozen=True)
class Remote:
    """One object below the prefix, and the sum that its bytes must have, if one is known."""

    name: str
    size: int
    etag: str
    algorithm: str = "sha256"
    expected: str | None = None
    proof: str = SIZE_ONLY

    @property
    def algorithms(self) -> set[str]:
        """What to compute: sha256 for the manifest, and what the expected sum is of."""
        return {"sha256", self.algorithm}


def unsafe_names(names: Iterable[str]) -> list[str]:
    """Say which names cannot become files below a directory, and why. Keys are untrusted."""
    # Compared as a volume does that ignores case or Unicode form: there one replaces the other.
    folded = {name: unicodedata.normalize("NFC", name).casefold() for name in sorted(names)}
    problems: list[str] = []
    seen: dict[str, str] = {}
    for name, fold in folded.items():
        parts = name.split("/")
        if name.startswith("/"):
            problems.append(f"{name!r} is absolute")
        elif not {"", ".", ".."}.isdisjoint(parts):
            problems.append(f"{name!r} has an empty, '.' or '..' part")
        elif "\\" in name or any(unicodedata.category(c) in {"Cc", "Cs"} for c in name):
            problems.append(f"{name!r} has a backslash or a control character")
        elif max(len(part.encode()) for part in parts) > 255:
            problems.append(f"{name[:40]!r}... has a part longer than 255 bytes")
        elif parts[0].startswith(".triplane"):
            problems.append(f"{name!r} begins with the reserved '.triplane'")
        elif fold in seen:
            problems.append(f"{name!r} collides with {seen[fold]!r}")
        seen.setdefault(fold, name)
    for name, fold in folded.items():
        above = [fold[: m.start()] for m in re.finditer("/", fold)]
        problems += [f"{name!r} lies below the file {seen[a]!r}" for a in above if a in seen]
    return problems


def parse_sums(text: str) -> dict[str, str]:
    """Read the output of sha256sum: names to lower-case hex sums."""
    sums: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        match = re.fullmatch(r"([0-9A-Fa-f]{64}) [ *](?:\./)?(.+)", line)
        if match and sums.setdefault(match[2], match[1].lower()) == match[1].lower():
            continue
        if line.strip() and not line.startswith("#"):
            what = "a second, different sum for a name" if match else "not a line of sha256sum"
            raise ConfigError(f"{SUMS}, line {number}, is {what}: {line[:200]!r}; correct it")
    return sums
