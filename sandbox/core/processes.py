"""Starting, recognizing and ending the sandbox's own processes, and nobody else's.

A process id alone says nothing: the kernel reuses them. A record therefore holds the start time and
the program too, and only a process that matches all three is ever signaled.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from sandbox.core.errors import SandboxError

_LOG_TAIL_LINES: Final = 15
_CLOCK_SLACK_SEC: Final = 2.0
"""Start times are counted from boot, which moves a little whenever the clock is set."""
_LOG_LIMIT_BYTES: Final = 20 * 1024 * 1024


GO_MEMORY: Final = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
"""Go collects its garbage later, up to a bound: a start takes a quarter less of the processor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessSpec:
    """One process of a sandbox: what to run and, beyond its arguments, what it depends on."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    inputs: tuple[Path, ...] = ()
    """Files whose change means that a running process is out of date."""

    @property
    def fingerprint(self) -> str:
        """Return a hash that changes when the process would be started differently."""
        digest = hashlib.sha256("\0".join(self.argv).encode())
        for path in self.inputs:
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Supervisor:
    """The records and logs of one sandbox's processes."""

    records: Path
    logs: Path

    def log(self, name: str) -> Path:
        """Return the log of the process called `name`."""
        return self.logs / f"{name}.log"

    def running(self, name: str) -> psutil.Process | None:
        """Return the process that we started under `name`, if it is still that one."""
        record = self._record(name)
        if record is None:
            return None
        try:
            process = psutil.Process(int(record["pid"]))
            same = abs(process.create_time() - float(record["created"])) < _CLOCK_SLACK_SEC
            alive = process.status() != psutil.STATUS_ZOMBIE
            # For an instant after its start a process shows no arguments.
            if same and alive and process.cmdline()[:1] in ([], [record["program"]]):
                return process
        except psutil.Error:
            return None
        return None

    def is_current(self, spec: ProcessSpec) -> bool:
        """Tell whether `spec` runs already, as it would be started now."""
        record = self._record(spec.name)
        if self.running(spec.name) is None or record is None:
            return False
        return record["fingerprint"] == spec.fingerprint

    def spawn(self, spec: ProcessSpec) -> None:
        """Start `spec` in a session of its own, so that no terminal's signal reaches it."""
        self.records.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.log(spec.name)
        if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
            log.replace(log.with_suffix(".log.old"))
        with log.open("ab") as out:
            child = subprocess.Popen(
                spec.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**os.environ, **spec.env},
                cwd=self.logs,
            )
        record = {
            "pid": child.pid,
            "created": psutil.Process(child.pid).create_time(),
            "program": spec.argv[0],
            "fingerprint": spec.fingerprint,
        }
        path = self.records / f"{spec.name}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(record))
        partial.replace(path)

    def require_alive(self, name: str) -> None:
        """Raise `SandboxError` with the end of its log when the process `name` has ended."""
        if self.running(name) is None:
            raise SandboxError(f"{name} did not stay up. {self.explain(name)}")

    def explain(self, name: str) -> str:
        """Return the end of the log of `name`, with its path."""
        log = self.log(name)
        text = log.read_text(errors="replace") if log.exists() else ""
        lines = text.splitlines()[-_LOG_TAIL_LINES:] or ["(nothing was written)"]
        return f"The end of {log}:\n" + "\n".join(f"    {line}" for line in lines)

    def stop(self, names: Iterable[str], timeout_sec: float) -> None:
        """End the processes of `names` together: SIGTERM, then SIGKILL after `timeout_sec`.

        Zero kills them at once.
        """
        found = {name: self.running(name) for name in names}
        live = [process for process in found.values() if process is not None]
        for process in live:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill() if timeout_sec == 0 else process.terminate()
        if stubborn := _wait_gone(live, timeout_sec):
            for process in stubborn:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            if left := _wait_gone(stubborn, 5.0):
                ids = ", ".join(str(process.pid) for process in left)
                raise SandboxError(
                    f"processes {ids} do not end after SIGKILL: look at them by hand"
                )
        for name in found:
            (self.records / f"{name}.json").unlink(missing_ok=True)

    def _record(self, name: str) -> dict[str, str] | None:
        try:
            return json.loads((self.records / f"{name}.json").read_text())
        except (OSError, json.JSONDecodeError):
            return None


def _wait_gone(processes: Iterable[psutil.Process], timeout_sec: float) -> list[psutil.Process]:
    """Wait until the processes are gone or zombies; return those that are neither."""
    deadline = time.monotonic() + timeout_sec
    left = [process for process in processes if not _is_gone(process)]
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [process for process in left if not _is_gone(process)]
    return left


def _is_gone(process: psutil.Process) -> bool:
    try:
        if process.status() != psutil.STATUS_ZOMBIE:
            return not process.is_running()
    except psutil.NoSuchProcess:
        return True
    # Where we are the parent ourselves (tests), nobody else will collect it.
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        os.waitpid(process.pid, os.WNOHANG)
    return True


def kill_now(process: psutil.Process) -> None:
    """Send SIGKILL: for tests that play the out-of-memory killer."""
    os.kill(process.pid, signal.SIGKILL)
