"""checkov's kubernetes framework over the rendered dev manifests.

checkov pins packages that would fight ours, so that it has an environment of its own in the cache,
made from `checkov.lock`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from sandbox.core import locks
from sandbox.core.paths import cache_root
from sandbox.engine.stack import SandboxStack

pytestmark = pytest.mark.engine

HERE: Final = Path(__file__).parent
LOCK: Final = HERE / "checkov.lock"
REASONS: Final = HERE / "checkov_reasons.yaml"


@pytest.fixture(scope="module")
def checkov() -> Path:
    """Return checkov's executable, installing it into the cache where it is not there yet."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    home = cache_root() / "checkov" / digest
    home.parent.mkdir(parents=True, exist_ok=True)
    done = home / "installed"
    with locks.exclusive(home.with_suffix(".lock")):
        if not done.exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--require-hashes", "-r", str(LOCK)], check=True)
            done.touch()
    return home / "bin" / "checkov"


def test_no_check_fails_without_a_recorded_reason(
    checkov: Path, make_stack: Callable[..., SandboxStack], tmp_path: Path
) -> None:
    tree = make_stack().render(tmp_path / "tree")
    words = ["--framework", "kubernetes", "--skip-download", "--quiet", "--compact", "-o", "json"]
    done = subprocess.run(
        [str(checkov), *words, "-d", str(tree)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LOG_LEVEL": "ERROR"},
    )
    report = cast("dict[str, Any]", json.loads(done.stdout))
    assert report["summary"]["passed"] > 200, "it looked at our manifests"
    assert report["summary"]["parsing_errors"] == 0
    failed = {check["check_id"] for check in report["results"]["failed_checks"]}
    reasons = cast("dict[str, str]", yaml.safe_load(REASONS.read_text()))
    assert failed == set(reasons), "correct the manifests, or record the reason"
