"""Work in a forked copy of this process, which sends back lines of text and ends."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Tell = Callable[[str], None]
Work = Callable[[Tell], None]

_CHUNK: Final = 65536


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """What a copy said, and how it ended."""

    lines: tuple[str, ...]
    signal: int
    """The signal that ended it: 0 for none, SIGKILL after the time allowed on the clock."""
    status: int
    seconds: float
    """Processor time."""


def run(work: Work, *, clock_sec: float) -> Ended:
    """Do the work in a copy of this process; end it after this time on the clock."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _child(work, writing)
    os.close(writing)
    text = _read(reading, process, time.monotonic() + clock_sec)
    os.close(reading)
    _, status, usage = os.wait4(process, 0)
    return Ended(
        lines=tuple(text.splitlines()),
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1,
        seconds=usage.ru_utime + usage.ru_stime,
    )


def limit_processor(seconds: float) -> None:
    """End this process by SIGPROF once it has used this much more processor time; 0 for never."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _child(work: Work, writing: int) -> None:
    status = 1
    try:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        work(lambda text: _tell(writing, text))
        status = 0
    except BaseException as error:
        _tell(writing, f"raised {type(error).__name__}: {error}".splitlines()[0])
    finally:
        os._exit(status)


def _tell(writing: int, text: str) -> None:
    data = f"{text}\n".encode()
    while data:
        data = data[os.write(writing, data) :]


def _read(reading: int, process: int, until: float) -> str:
    found = b""
    while True:
        left = until - time.monotonic()
        ready = select.select([reading], [], [], max(0.0, left))[0]
        if not ready:
            os.kill(process, signal.SIGKILL)
            return found.decode(errors="replace")
        chunk = os.read(reading, _CHUNK)
        if not chunk:
            return found.decode(errors="replace")
        found += chunk
