"""What the files under a folder hold, read once, with a digest of it. Judges nothing."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_DATA_SUFFIXES: Final = frozenset({".yaml", ".json", ".lock"})


class Contents:
    """The data files and pod programs under `root`, by name relative to it."""

    def __init__(self, root: Path) -> None:
        """Read every file."""
        files = [path for path in root.rglob("*") if path.suffix in _DATA_SUFFIXES]
        files += (root / "programs").rglob("*.py")
        self.files: Mapping[str, bytes] = {
            name: path.read_bytes().replace(b"\r\n", b"\n")
            for name, path in sorted((path.relative_to(root).as_posix(), path) for path in files)
        }
        self.digest: str = _digest(self.files.items())


def digest_of_code(folders: Iterable[Path]) -> str:
    """Return a digest of the Python files in the folders themselves."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    return _digest((path.name, path.read_bytes()) for path in paths)


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Return a hash of names and contents."""
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
