"""Where the sandbox keeps what it makes: always outside the project's tree.

A cold toolchain costs half an hour, so it must outlive a clean checkout; data and logs of a control
plane hold credentials, so they must never be committed by accident.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from catalog.readers.cache import cache_root

__all__ = ("PROJECT_ROOT", "cache_root", "sandboxes_home")

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]


def sandboxes_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory that holds one folder per control plane (`$TRIPLANE_SANDBOX_HOME`)."""
    env = os.environ if environ is None else environ
    if own := env.get("TRIPLANE_SANDBOX_HOME"):
        return Path(own).expanduser().absolute()
    return cache_root(env) / "sandboxes"
