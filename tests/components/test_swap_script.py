"""The script that switches swap off on a node, run by a shell."""

import subprocess
from pathlib import Path

import pytest

from components.render.cluster.node_isolation import SCRIPT

pytestmark = pytest.mark.process


def test_the_swap_script_ends_with_an_error_that_says_why(tmp_path: Path) -> None:
    """Run with stand-ins for swapoff and /proc/swaps: each area once, and a failure is loud."""
    swaps, log = tmp_path / "swaps", tmp_path / "log"
    swaps.write_text("Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n")
    tool = tmp_path / "swapoff"
    script = SCRIPT.replace("/proc/swaps", str(swaps)).replace("/tmp/off", str(tmp_path / "off"))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    def run(body: str) -> subprocess.CompletedProcess[str]:
        tool.write_text(f"#!/bin/sh\n{body}\n")
        tool.chmod(0o755)
        once = script.replace("sleep 300", "exit 0")
        return subprocess.run(
            ["sh", "-c", once], env=environment, capture_output=True, text=True, check=False
        )

    done = run(f'echo "$1" >> {log}; echo "Filename" > {swaps}')
    assert done.returncode == 0
    assert log.read_text() == "/host/dev/sda2\n"
    assert (tmp_path / "off").exists()
    swaps.write_text("Filename\n/swapfile file 1 0 -2\n")
    failed = run("echo 'Operation not permitted' >&2; exit 1")
    assert failed.returncode == 1
    assert "Operation not permitted" in failed.stderr
