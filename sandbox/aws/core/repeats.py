"""Creations that a killed update left open: written when a stack is recovered, read by the plugin.

Only these may get the answers of a former attempt again (`server.journal`).
"""

import json
from collections.abc import Mapping
from pathlib import Path

from sandbox.core import locks


def read(path: Path) -> dict[str, tuple[str, ...]]:
    """Return URNs with the ids that the state has for them already (of what is being replaced)."""
    if not path.exists():
        return {}
    return {urn: tuple(ids) for urn, ids in json.loads(path.read_text()).items()}


def done(path: Path, urn: str) -> None:
    """Take a creation that was repeated off the list: a later one of the same name is new."""
    with locks.exclusive(path.with_suffix(".lock")):
        write(path, {key: ids for key, ids in read(path).items() if key != urn})


def write(path: Path, repeated: Mapping[str, tuple[str, ...]]) -> None:
    """Replace the list; an empty one is removed."""
    if not repeated:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(repeated))
    partial.replace(path)
