"""YAML parsed once: kept outside the tree, under a digest of what was parsed and of who read it.

Parsing and checking the catalog costs more than all the rest of a short command. A digest has a
file here only once a whole catalog of that digest was read without a problem, so what is found
here need not be checked again: the parts that are asked for are validated, the others never read.

Nothing depends on it: a folder that cannot be written, a file that is damaged or belongs to
somebody else only mean that the catalog is read as if there were none. A file is written beside
and renamed, so that whoever reads at the same time sees a whole one.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from pydantic import JsonValue

_KEPT: Final = 8
"""Files kept: a few checkouts of the project, each at the state that was last read."""


def cache_root(environ: Mapping[str, str] | None = None) -> Path:
    """Return `$TRIPLANE_CACHE`, else `$XDG_CACHE_HOME/triplane`, else `~/.cache/triplane`.

    An empty variable counts as unset, as the XDG specification asks.
    """
    env = os.environ if environ is None else environ
    if own := env.get("TRIPLANE_CACHE"):
        return Path(own).expanduser().absolute()
    if shared := env.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser().absolute() / "triplane"
    return Path.home() / ".cache" / "triplane"


def read_parsed(digest: str) -> Mapping[str, JsonValue] | None:
    """Return the parsed files of a digest by name, or None where they are not kept."""
    try:
        path = _folder() / f"{digest}.json"
        if path.stat().st_uid != os.geteuid():
            return None
        data: object = json.loads(path.read_bytes())
    except (OSError, RuntimeError, ValueError):
        return None
    return cast("Mapping[str, JsonValue]", data) if isinstance(data, dict) else None


def keep_parsed(digest: str, parsed: Mapping[str, JsonValue]) -> None:
    """Keep the parsed files of a digest; the oldest of other digests go."""
    try:
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(parsed, file)
        _ = Path(name).replace(folder / f"{digest}.json")
        for old in _oldest_first(folder)[:-_KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError):
        return


def _folder() -> Path:
    return cache_root() / "catalog"


def _oldest_first(folder: Path) -> list[Path]:
    entries = [entry for entry in os.scandir(folder) if entry.is_file()]
    return [Path(entry.path) for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime)]
