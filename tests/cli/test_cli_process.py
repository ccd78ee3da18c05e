"""The command as a process of its own: what a shell asks it for."""

import os
import subprocess
import sys

import pytest

from tests.helpers.cli.command import ROOT

pytestmark = pytest.mark.process


def test_completion_knows_models_and_cards() -> None:
    environment = {"_TRIPLANE_COMPLETE": "complete_bash", "COMP_CWORD": "4"}
    ran = subprocess.run(
        [sys.executable, "-m", "cli"],
        env={**os.environ, **environment, "COMP_WORDS": "triplane budget qwen3-8b --gpu h1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "h100-80gb" in ran.stdout
