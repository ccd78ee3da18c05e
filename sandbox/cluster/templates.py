"""Data of a control plane with its definitions already established, kept to begin others from.

The API server takes fifteen seconds of a processor to take in a hundred definitions one by one, and
three to start on data that have them. So they are loaded once per set, by a control plane of
their own that is thrown away, and a new sandbox begins with a copy of its data: the namespaces and
roles that every API server makes, the definitions, and nothing else.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.core import locks
from sandbox.crds.sources import PinnedDefinition
from sandbox.toolchain import Toolchain

DATA: Final = "etcd"
"""The folder of etcd's data in a sandbox's home."""

RECORD: Final = "crds.json"
"""Which definitions were applied (`sandbox.crds.apply`)."""

_LAYOUT: Final = 1
_TOOLS: Final = ("etcd", "kube-apiserver")

Make = Callable[[], Path]
"""Loads the definitions in a control plane of its own; returns its home once it is stopped."""


def key(tools: Toolchain, definitions: Sequence[PinnedDefinition]) -> str:
    """Return the name of the template: what made it and what is in it decide it."""
    parts = {
        "layout": _LAYOUT,
        # A build's folder is named by a hash of its sources, and so is an official one's content.
        "tools": [str(tools.path(tool).resolve()) for tool in _TOOLS],
        "definitions": sorted(
            [each.lock.name, hashlib.sha256(each.text).hexdigest()] for each in definitions
        ),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Templates:
    """The templates of a cache."""

    root: Path

    def lay(self, name: str, home: Path, make: Make) -> None:
        """Copy the template `name` into `home`; make it first where there is none."""
        kept = self.root / name
        with locks.exclusive(self.root / f"{name}.lock"):
            if not kept.exists():
                self._keep(make(), kept)
        partial = home / f"{DATA}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(kept / DATA, partial)
        shutil.copyfile(kept / RECORD, home / RECORD)
        # Last, and whole or not at all: where it is, nobody looks for a template again.
        partial.rename(home / DATA)

    def _keep(self, made: Path, kept: Path) -> None:
        partial = kept.with_name(f".{kept.name}.{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, mode=0o700)
        shutil.copytree(made / DATA, partial / DATA)
        # Space that the log reserves for its next segment: 64 MB of nothing.
        for reserved in (partial / DATA).rglob("*.tmp"):
            reserved.unlink()
        shutil.copyfile(made / RECORD, partial / RECORD)
        partial.rename(kept)
