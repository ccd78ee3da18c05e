"""One writer per model directory, over NFS too."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import Final

from catalog.programs.seed.errors import SeedError, say

REPORT_SEC: Final = 5.0


class Lock:
    """One writer per model directory, over NFS too: an exclusively created file that is kept fresh.

    A waiter takes over a lock whose time stamp did not move for `stale_sec` of the waiter's own
    monotonic clock. The owner stops writing before that, when it could not refresh the file.
    """

    def __init__(self, path: Path, stale_sec: float) -> None:
        self.path = path
        self.stale_sec = stale_sec
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._beaten = 0.0
        self._guarded = 0.0
        self._end = threading.Event()

    def acquire(self) -> None:
        """Wait for the lock, telling every REPORT_SEC who has it."""
        begin = since = time.monotonic()
        told = begin - REPORT_SEC
        seen: tuple[str, int] | None = None
        while not self._create():
            now, state = time.monotonic(), self._state()
            if state is None or state != seen:
                seen, since, self._guarded = state, now, 0.0
            elif now - since > self.stale_sec:
                self.evict(state)
                continue
            if state is not None and now - told >= REPORT_SEC:
                told = now
                say(f"waiting for {state[0]}, which seeds {self.path.parent}: {now - begin:.0f} s")
            time.sleep(min(1.0, self.stale_sec / 10))

    def check(self) -> None:
        """Raise unless this process still surely owns the lock."""
        limit = 0.8 * self.stale_sec
        if time.monotonic() - self._beaten > limit:
            raise SeedError(
                f"lost the lock {self.path}, which was not refreshed for {limit:.0f} s: the process"
                " was paused, the volume hangs, or another run took over; run again"
            )

    def beat(self) -> None:
        """Refresh the lock file, and give up the claim if the file is not ours any more."""
        now = time.monotonic()
        try:
            with self.path.open(encoding="utf-8") as file:
                ours = file.read() == self.owner
                if ours:
                    os.utime(file.fileno())
        except FileNotFoundError:
            ours = False
        self._beaten = now if ours else float("-inf")

    def evict(self, state: tuple[str, int]) -> None:
        """Remove a lock that was judged dead, if it is still the one that was judged."""
        # The guard lets one waiter at a time judge and remove. Without it, a slow one would remove
        # the lock that a fast one has just made in the place of the dead one's.
        guard = self.path.with_name(f"{self.path.name}.evict")
        try:
            guard.touch(exist_ok=False)
        except FileExistsError:
            self._guarded = self._guarded or time.monotonic()
            if time.monotonic() - self._guarded > self.stale_sec:  # it died between these lines
                guard.unlink(missing_ok=True)
                self._guarded = 0.0
            time.sleep(self.stale_sec / 20)
            return
        try:
            if self._state() == state:
                self.path.unlink(missing_ok=True)
                say(f"took over the lock of {state[0]}: no heartbeat for {self.stale_sec:.0f} s")
        finally:
            guard.unlink(missing_ok=True)

    def release(self) -> None:
        """Remove the lock file if it is surely ours; otherwise it grows stale."""
        self._end.set()
        with contextlib.suppress(SeedError):
            self.check()
            if (state := self._state()) is not None and state[0] == self.owner:
                self.path.unlink(missing_ok=True)

    def _create(self) -> bool:
        now = time.monotonic()
        try:
            with self.path.open("x", encoding="utf-8") as file:
                file.write(self.owner)
        except FileExistsError:
            return False
        except OSError:
            self.path.unlink(missing_ok=True)  # made, but without our name in it: a full volume
            raise
        self._beaten = now
        threading.Thread(target=self._keep, daemon=True).start()
        return True

    def _keep(self) -> None:
        while not self._end.wait(self.stale_sec / 6):
            with contextlib.suppress(OSError):  # a hiccup of the volume; check() sets the limit
                self.beat()

    def _state(self) -> tuple[str, int] | None:
        # Opening makes an NFS client ask the server; a bare stat may answer from its cache.
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                return file.read(200), os.fstat(file.fileno()).st_mtime_ns
        except OSError:
            return None
