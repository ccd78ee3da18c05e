"""Other estimators' published packages, in a virtual environment of their own.

It lies in the cache (outside the tree) and is made once; it needs a package index. Without one the
packages' rows are left out and the table says so: their methods are not rebuilt from memory here.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from benchmarks.peers.answers import Answer, simple_answer
from benchmarks.peers.questions import Question
from sandbox.core.paths import cache_root

PLANNER: Final = "llm-d-planner"
HF_MEM: Final = "hf-mem"

PINS: Final = ("llm-d-planner[estimation]==0.3.3", "hf-mem==0.5.6")
_WORKER: Final = Path(__file__).with_name("worker.py")
_QUIET: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


class PackagesError(Exception):
    """The packages could not be installed or run; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Packages:
    """The packages' versions and their answers, in the order of the questions."""

    versions: Mapping[str, str]
    answers: Mapping[str, Sequence[Answer]]


def interpreter() -> Path:
    """Return the environment's Python, installing the pinned packages if they are not there.

    Raises:
        PackagesError: when they cannot be installed.

    """
    home = cache_root() / "peers" / "-".join(pin.split("==")[1] for pin in PINS)
    python = home / "bin" / "python"
    if (home / "complete").exists():
        return python
    shutil.rmtree(home, ignore_errors=True)
    _call([sys.executable, "-m", "venv", str(home)])
    _call([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS])
    (home / "complete").touch()
    return python


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PackagesError(f"{' '.join(PINS)} could not be installed: {last}")


def ask(questions: Sequence[Question]) -> Packages:
    """Return what the packages say.

    Raises:
        PackagesError: when they cannot be installed or run.

    """
    done = subprocess.run(
        [str(interpreter()), str(_WORKER)],
        input=json.dumps([_entry(asked) for asked in questions]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_QUIET},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PackagesError(f"the packages' own code failed: {last}")
    result = cast("dict[str, Any]", json.loads(done.stdout))
    found: dict[str, Sequence[Answer]] = {}
    for name, answers in result["answers"].items():
        pairs = zip(questions, answers, strict=True)
        found[name] = [_answer(name, asked, said) for asked, said in pairs]
    return Packages(versions=result["versions"], answers=found)


def _entry(asked: Question) -> dict[str, Any]:
    return {
        "id": asked.id,
        "config": dict(asked.config),
        "memory_gib": asked.memory_gib,
        "utilization": asked.utilization,
        "length": asked.length,
        "tensor": asked.tensor,
        "pipeline": asked.pipeline,
        "dtype": asked.dtype,
        "cache_dtype": asked.cache_dtype,
        "method": asked.method,
        "bits": None if asked.scheme is None else round(asked.scheme.bits),
        "header": None if asked.header is None else dict(asked.header),
    }


def _answer(name: str, asked: Question, said: Mapping[str, Any]) -> Answer:
    """Return a package's answer; hf-mem gives no pool, so it gets what weights leave."""
    each = said.get("bytes_per_token")
    if each is None:
        return Answer(weights_gib=said.get("weights_gib"), why=said.get("why", "no KV estimate"))
    if name == HF_MEM:
        return simple_answer(asked, each, said.get("weights_gib"))
    return Answer(
        weights_gib=said.get("weights_gib"),
        kv_gib=said.get("kv_gib"),
        need_gib=said.get("need_gib"),
        bytes_per_token=each,
        block_bytes=None if asked.block is None else each * asked.block,
        fits=said.get("fits"),
    )
