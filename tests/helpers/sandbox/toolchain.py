"""What the tests of the toolchain share: one tool, and scripts in the place of programs."""

from pathlib import Path
from typing import Final

from sandbox.toolchain.table import TOOLS

ETCD: Final = next(tool for tool in TOOLS if tool.name == "etcd")


def script(path: Path, text: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
