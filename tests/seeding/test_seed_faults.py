"""Random faults, one after the other, against the seeding program: cut, wrong, full, killed.

Each run is a forked process with a store in memory, so that a kill is a real SIGKILL on a real
file system and a hundred runs take seconds. After every run the same must hold: either nothing is
published or everything is, byte by byte; and a last run without faults always succeeds.
"""

import errno
import hashlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, ResponseStreamingError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.programs.seed import fetch, partial, source
from catalog.programs.seed.errors import SeedError
from catalog.programs.seed.fetch import ATTEMPTS
from catalog.programs.seed.keys import MANIFEST
from catalog.programs.seed.run import seed
from catalog.programs.seed.settings import Settings
from catalog.programs.seed.source import Source
from tests.helpers.seeding.server import tensors

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

KIB = 1024
# Each example clears the directory itself, and forks take their time.
ALLOWED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
CHUNK = 32 * KIB
PREFIX = "tiny/r1/"
FAULTS = ("fine", "fine", "cut", "wrong", "busy", "full", "killed")
FILES = {
    "a.json": b"{}",
    "empty": b"",
    "one.safetensors": tensors(150 * KIB, salt=1),
    "sub/two.safetensors": tensors(2 * CHUNK, salt=2),
}


class _Body:
    """Streams a range and fails in the middle as told."""

    def __init__(self, content: bytes, fault: str) -> None:
        self.content, self.fault, self.at = content, fault, 0

    def read(self, amount: int) -> bytes:
        if self.at and self.fault == "cut":
            raise ResponseStreamingError(error="connection reset")
        if self.fault == "strange":
            raise SystemExit
        if self.at and self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        block = self.content[self.at : self.at + amount]
        self.at += len(block)
        return bytes(b ^ 1 for b in block) if self.fault == "wrong" else block

    def close(self) -> None:
        pass


class _Store:
    """What the program uses of an S3 client; every GET takes the next fault."""

    def __init__(self, files: Mapping[str, bytes], faults: list[str], parts: str) -> None:
        self.files, self.faults, self.parts = files, faults, parts
        self.lock = threading.Lock()

    def get_paginator(self, _: str) -> "_Store":
        return self

    def paginate(self, **_: str) -> Iterator[dict[str, Any]]:
        yield {
            "Contents": [
                {"Key": PREFIX + name, "Size": len(content), "ETag": self.etag(name)}
                for name, content in self.files.items()
            ]
        }

    def head_object(self, *, Key: str, **_: str) -> dict[str, str]:
        return {"ETag": self.etag(Key.removeprefix(PREFIX))}

    def get_object(self, *, Key: str, Range: str, **_: str) -> dict[str, Any]:
        with self.lock:
            fault = self.faults.pop(0) if self.faults else "fine"
        if fault == "busy":
            raise ClientError({"Error": {"Code": "SlowDown", "Message": "slow down"}}, "GetObject")
        if fault == "full":
            _fill_disk()
        name = Key.removeprefix(PREFIX)
        first, last = map(int, Range.removeprefix("bytes=").split("-"))
        content = self.files[name][first : last + 1]
        return {
            "ETag": self.etag(name),
            "ContentLength": len(content),
            "Body": _Body(content, fault),
        }

    def etag(self, name: str) -> str:
        return f'"{hashlib.md5(self.files[name], usedforsecurity=False).hexdigest()}{self.parts}"'


def _fill_disk() -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    partial.os.fdatasync = full  # where a network file system tells it; only this process sees it


def _run(
    target: Path, files: Mapping[str, bytes], faults: list[str], parallel: int, parts: str = ""
) -> int:
    """Run once in a child process; return the exit code, or minus the signal."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            fetch.PAUSE_SEC = 0.0002  # pyright: ignore[reportConstantRedefinition] - only the child
            source.BLOCK = 4 * KIB  # pyright: ignore[reportConstantRedefinition] - only the child
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - the process ends with it
            what = Settings("tiny", "r1", "b", PREFIX, target, "", parallel, CHUNK, 0, True, 60)
            seed(what, lambda: Source(cast("Any", _Store(files, faults, parts)), what))
            code = 0
        except SeedError as error:
            code = error.code
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    (target / ".triplane-lock").unlink(missing_ok=True)  # stands in for its growing stale
    return os.waitstatus_to_exitcode(status)


@settings(max_examples=20, deadline=None, suppress_health_check=ALLOWED)
@given(
    runs=st.lists(st.lists(st.sampled_from(FAULTS), max_size=20), max_size=4),
    parallel=st.integers(1, 4),
    listed=st.booleans(),
)
def test_no_sequence_of_faults_publishes_a_wrong_file(
    tmp_path: Path, runs: list[list[str]], parallel: int, listed: bool
) -> None:
    """A file that looks complete and is not would be served to everybody."""
    sums = "".join(f"{hashlib.sha256(c).hexdigest()}  {n}\n" for n, c in FILES.items())
    files = {**FILES, "SHA256SUMS": sums.encode()} if listed else FILES
    target = tmp_path / "tiny"
    shutil.rmtree(target, ignore_errors=True)
    codes = [_run(target, files, list(faults), parallel) for faults in (*runs, [])]
    assert set(codes) <= {0, 1, -signal.SIGKILL}, "a clear failure or success, nothing else"
    assert codes[-1] == 0, "a run without faults must always end well"
    found = {
        str(path.relative_to(target / "r1")): path.read_bytes()
        for path in (target / "r1").rglob("*")
        if path.is_file() and path.name != MANIFEST
    }
    assert found == files


@settings(max_examples=10, deadline=None, suppress_health_check=ALLOWED)
@given(faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=12))
def test_a_failed_run_publishes_nothing(tmp_path: Path, faults: list[str]) -> None:
    """Engines follow `current` at once: it may only ever name a complete revision."""
    target = tmp_path / "tiny"
    shutil.rmtree(target, ignore_errors=True)
    code = _run(target, FILES, list(faults), parallel=2)
    published = (target / "r1").exists()
    assert published == (code == 0)
    assert (target / "current").is_symlink() == published
    for name, content in FILES.items() if published else ():
        assert (target / "current" / name).read_bytes() == content


def test_an_error_that_no_handler_knows_publishes_nothing(tmp_path: Path) -> None:
    """A chunk that ended without its bytes is a hole of zeros in a file of the right size."""
    target = tmp_path / "tiny"
    assert _run(target, FILES, ["fine", "strange"], parallel=1) == 99
    assert not (target / "r1").exists()
    assert _run(target, FILES, [], parallel=1) == 0


def test_a_file_that_left_the_source_is_not_published(tmp_path: Path) -> None:
    """Two sets of shards in one directory would both be loaded by an engine."""
    target = tmp_path / "tiny"
    assert _run(target, FILES, ["fine", "killed"], parallel=1) == -signal.SIGKILL
    assert (target / "r1.partial" / "files" / "a.json").exists()
    fewer = {name: content for name, content in FILES.items() if name != "a.json"}
    assert _run(target, fewer, [], parallel=1) == 0
    assert not (target / "r1" / "a.json").exists()
    assert (target / "r1" / "one.safetensors").read_bytes() == FILES["one.safetensors"]


def test_a_chunk_that_never_comes_is_not_a_hole_in_a_published_file(tmp_path: Path) -> None:
    """Without a checksum nothing but the program itself knows that bytes are missing."""
    target = tmp_path / "tiny"
    faults = ["fine", *["busy"] * ATTEMPTS]
    assert _run(target, FILES, faults, parallel=1, parts="-2") == 1
    assert not (target / "r1").exists()
    assert _run(target, FILES, [], parallel=1, parts="-2") == 0
    assert (target / "r1" / "one.safetensors").read_bytes() == FILES["one.safetensors"]
