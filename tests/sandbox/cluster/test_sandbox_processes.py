"""Only processes that we started are ever signaled."""

import json
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.core.processes import ProcessSpec, Supervisor

pytestmark = [pytest.mark.engine, pytest.mark.timeout(60)]

SLEEP = ProcessSpec(name="sleep", argv=("/bin/sleep", "60"))


@pytest.fixture
def supervisor(tmp_path: Path) -> Generator[Supervisor]:
    """A supervisor whose processes are gone after the test."""
    made = Supervisor(records=tmp_path / "records", logs=tmp_path / "logs")
    try:
        yield made
    finally:
        made.stop(["sleep"], 5.0)


def test_a_started_process_is_recognized_and_ended(supervisor: Supervisor) -> None:
    """The everyday case."""
    supervisor.spawn(SLEEP)
    process = supervisor.running("sleep")
    assert process is not None
    assert supervisor.is_current(SLEEP)
    supervisor.stop(["sleep"], 5.0)
    assert supervisor.running("sleep") is None


def test_a_reused_process_id_is_left_alone(supervisor: Supervisor) -> None:
    """After a reboot the recorded id may be anybody's."""
    supervisor.spawn(SLEEP)
    stranger = subprocess.Popen(["/bin/sleep", "60"])
    try:
        record = supervisor.records / "sleep.json"
        old = json.loads(record.read_text())
        record.write_text(json.dumps({**old, "pid": stranger.pid, "created": old["created"] - 60}))
        assert supervisor.running("sleep") is None
        supervisor.stop(["sleep"], 1.0)
        assert stranger.poll() is None, "a process that we did not start was ended"
        record.write_text(json.dumps(old))
    finally:
        stranger.kill()
        stranger.wait()


def test_changed_arguments_make_a_running_process_out_of_date(supervisor: Supervisor) -> None:
    """After an update `start` must restart what would be started differently now."""
    supervisor.spawn(SLEEP)
    assert not supervisor.is_current(ProcessSpec(name="sleep", argv=("/bin/sleep", "61")))


def test_a_process_that_ends_at_once_is_reported_with_its_log(supervisor: Supervisor) -> None:
    """The reason is in the log; the message must bring it."""
    text = "echo cannot listen on 127.0.0.1; exit 1"
    supervisor.spawn(ProcessSpec(name="broken", argv=("/bin/sh", "-c", text)))
    time.sleep(0.5)
    with pytest.raises(SandboxError, match=r"broken did not stay up[\s\S]*cannot listen"):
        supervisor.require_alive("broken")


def test_a_process_that_ignores_sigterm_is_killed(supervisor: Supervisor) -> None:
    """A stop that leaves something behind is none."""
    script = "trap '' TERM; while :; do sleep 0.1; done"
    supervisor.spawn(ProcessSpec(name="deaf", argv=("/bin/sh", "-c", script)))
    time.sleep(0.3)
    process = supervisor.running("deaf")
    assert process is not None
    supervisor.stop(["deaf"], 0.5)
    assert supervisor.running("deaf") is None
