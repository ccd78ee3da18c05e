"""The examples of docs/cli.md, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli.command import ROOT

TEXT = (ROOT / "docs" / "cli.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
SHIM = '#!/bin/sh\nPYTHONPATH="{root}" exec "{python}" -m cli "$@"\n'


def checked(block: str) -> str:
    """Return a block in which every command of ours is followed by a check of its exit code."""
    joined = re.sub(r"\\\n\s*", " ", block)
    lines: list[str] = []
    for line in joined.splitlines():
        lines.append(line)
        if line.startswith("triplane "):
            said = re.search(r"# exits with (\d)", line)
            code = said[1] if said else "0"
            lines.append(f'[ $? -eq {code} ] || {{ echo "not {code}" >&2; exit 9; }}')
    return "\n".join([*lines, "true"])


@pytest.mark.pure
def test_there_are_examples_of_every_command() -> None:
    assert len(BLOCKS) >= 6
    for command in ("triplane budget", "triplane calibrate"):
        assert any(command in block for block in BLOCKS)


@pytest.mark.process
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_an_example_runs_as_it_stands(block: str, tmp_path: Path) -> None:
    shim = tmp_path / "bin" / "triplane"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(root=ROOT, python=sys.executable))
    shim.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", checked(block)],
        cwd=work,
        env={**os.environ, "PATH": path, "TRIPLANE_ROOT": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
