"""Schedules of faults through a real S3 server and real processes: cut, wrong, short, full, killed.

What must hold after every run, whatever went wrong: a revision that can be seen is whole, byte by
byte, or it cannot be seen. And a run without faults always ends well, from wherever it begins.
"""

import shutil
import signal
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.helpers.seeding.server import MIB, Fault, Lab, sums, tensors

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

BIG = tensors(2 * MIB + 300_001, salt=11)
SMALL = tensors(70_000, salt=12)
FILES = {
    "big.safetensors": BIG,
    "sub/small.safetensors": SMALL,
    "config.json": b"{}",
    "empty.txt": b"",
}
STALE = {"TRIPLANE_LOCK_STALE_SEC": "2", "TRIPLANE_PARALLEL": "3"}

KINDS = st.sampled_from(["fine", "fine", "cut", "short", "wrong", "busy", "kill"])
FAULTS = st.builds(Fault, KINDS, st.integers(0, MIB))


@dataclass(frozen=True)
class Attempt:
    """One run: the faults it meets, the size at which the kernel refuses to write on, a rival."""

    faults: tuple[Fault, ...]
    full_at: int | None = None
    rival: bool = False


ATTEMPTS = st.builds(
    Attempt,
    st.lists(FAULTS, max_size=8).map(tuple),
    st.none() | st.integers(1, 2 * MIB),
    st.booleans(),
)


def run(lab: Lab, attempt: Attempt) -> list[int]:
    """Run once, or twice at once; return the exit codes."""
    lab.proxy.clear()
    lab.proxy.faults = list(attempt.faults)
    runs = [lab.start(STALE, file_size_limit=attempt.full_at)]
    lab.proxy.kill = runs[0].process.kill
    if attempt.rival:
        runs.append(lab.start(STALE))
    return [each.end() for each in runs]


def seen_is_whole(lab: Lab, expected: dict[str, bytes]) -> bool:
    """Check what engines can see; return whether they see the revision."""
    final, link = lab.target / "r1", lab.target / "current"
    if final.exists():
        assert lab.published() == expected
    if link.is_symlink():
        assert str(link.readlink()) == "r1"
        assert final.exists(), "current names what is not there"
    return link.is_symlink()


@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow),
)
@example(
    attempts=[
        Attempt((Fault("kill", 400_000),)),
        Attempt((Fault("wrong", 5), Fault("short", 9), Fault("cut", 1)), full_at=MIB),
    ],
    listed=True,
)
@example(attempts=[Attempt((Fault("kill", 10),), rival=True)], listed=False)
@given(attempts=st.lists(ATTEMPTS, min_size=1, max_size=3), listed=st.booleans())
def test_no_schedule_of_faults_shows_a_file_that_is_not_whole(
    lab: Lab, attempts: list[Attempt], listed: bool
) -> None:
    """An engine loads what it finds, and answers nonsense without an error."""
    shutil.rmtree(lab.target, ignore_errors=True)
    lab.client.delete_object(Bucket=lab.bucket, Key="tiny/r1/SHA256SUMS")
    files = {**FILES, "SHA256SUMS": sums(FILES)} if listed else dict(FILES)
    lab.upload(files)
    for attempt in attempts:
        codes = run(lab, attempt)
        assert set(codes) <= {0, 1, -signal.SIGKILL}, "success, a clear failure, or the kill"
        assert seen_is_whole(lab, files) or 0 not in codes, "it said that it was done"
    lab.proxy.clear()
    lab.run(STALE)
    assert seen_is_whole(lab, files)
    assert sorted(p.name for p in lab.target.iterdir()) == ["current", "r1"], "nothing left over"
