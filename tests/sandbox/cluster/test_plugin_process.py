"""The stand-in's plugin as a process."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.core.paths import PROJECT_ROOT

pytestmark = pytest.mark.process


def test_the_plugin_does_not_serve_without_the_switch(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "sandbox.aws.plugin", "--home", str(tmp_path)]
    env = {"PYTHONPATH": str(PROJECT_ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == "", "a port would mean that it serves"
    assert "SANDBOX=1" in done.stderr
