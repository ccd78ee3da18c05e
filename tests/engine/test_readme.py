"""The commands of the README, run as a reader would: a checkout, make, nothing else."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.engine

ROOT: Final = Path(__file__).resolve().parents[2]
INSTANCE: Final = f"readme-{os.getpid()}-{secrets.token_hex(2)}"


def make(*words: str) -> tuple[str, str]:
    """Run make for an instance of its own; return its output and its progress messages."""
    # Under `make test` this would be a sub-make, which announces itself.
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    env = {**outer, "MFLAGS": "", "TRIPLANE_INSTANCE": INSTANCE}
    done = subprocess.run(
        ["make", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module", autouse=True)
def clean() -> Iterator[None]:
    """Remove the instance, whatever the tests left of it."""
    yield
    make("down")
    shutil.rmtree(ROOT / "build" / f"dev-{INSTANCE}", ignore_errors=True)
    (ROOT / "build" / f"dev-{INSTANCE}.preview.jsonl").unlink(missing_ok=True)


def outputs(printed: str) -> str:
    """Return the JSON object at the end of what `make up` printed."""
    return printed[printed.index("\n{") :]


def test_every_command_of_the_readme_is_a_target() -> None:
    """A command that was renamed and not documented is the first thing a reader meets."""
    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"`?make ([a-z-]+)", text))
    assert {"up", "test", "preview", "render", "down", "check"} <= targets
    for target in sorted(targets):
        make("--dry-run", target)


def test_up_prints_the_outputs_that_the_example_client_reads() -> None:
    printed = outputs(make("up")[0])
    assert json.loads(printed)["environment"] == "dev"
    done = subprocess.run(
        [sys.executable, "examples/client.py"],
        cwd=ROOT,
        input=printed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "local: qwen3-8b at https://models.dev.example.com/v1" in done.stdout
    assert "[secret]" in printed, "the kubeconfig is not shown"


def test_a_second_up_changes_nothing_and_builds_nothing() -> None:
    printed, said = make("up")
    assert re.search(r"\d+ unchanged", printed)
    assert not re.search(r"\d+ (created|updated|deleted|replaced)", printed)
    assert "ready in the cache" in said
    assert "already running" in said


def test_preview_and_render() -> None:
    printed = make("preview")[0]
    assert "unchanged" in printed
    assert re.search(r"steps: (\d+ read, )?\d+ same; 0 error, 0 warning, 0 unknown", printed)
    make("render")
    assert len(list((ROOT / "build" / f"dev-{INSTANCE}" / "local").rglob("*.yaml"))) > 25


def test_the_example_client_refuses_what_is_not_an_output() -> None:
    done = subprocess.run(
        [sys.executable, "examples/client.py"],
        cwd=ROOT,
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "not the output of a Triplane stack" in done.stdout
