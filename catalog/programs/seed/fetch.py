"""Fetching with several streams, and verifying behind them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

from catalog.programs.seed.errors import SeedError, TransientError, listed, say
from catalog.programs.seed.keys import SUMS
from catalog.programs.seed.lock import REPORT_SEC
from catalog.programs.seed.partial import Partial
from catalog.programs.seed.settings import MIB
from catalog.programs.seed.source import Source
from catalog.programs.seed.tensors import layout_problem

ATTEMPTS: Final = 8  # per chunk
PAUSE_SEC: Final = 0.1  # doubled with every attempt: 25 s in all, beside the SDK's own attempts


class Fetch:
    """Fetches missing chunks with several streams, and verifies the files in order behind them."""

    def __init__(
        self, source: Source, partials: Sequence[Partial], alive: Callable[[], None]
    ) -> None:
        self.source = source
        self.partials = partials
        self.alive = alive
        self.error: Exception | None = None
        self.stop = threading.Event()
        self.pool = ThreadPoolExecutor(source.settings.parallel)
        self.running: list[Future[None]] = []
        self._told, self._before = time.monotonic(), 0

    @property
    def fetched(self) -> int:
        """Bytes that came over the network in this run."""
        return sum(sum(part.fetched) for part in self.partials)

    def run(self) -> None:
        """Return when every file is whole and verified; raise the first error otherwise.

        Corrupt objects are raised last: all of them are named, and all others are kept.
        """
        corrupt: list[str] = []
        try:
            started = [(p, self._submit(p)) for p in self.partials if p.sha256 is None]
            for part, chunks in started:
                if (wrong := self._verify(part, chunks)) is None:
                    continue
                say(f"corrupt object: {wrong}; fetching it once more from the beginning")
                part.reset()
                if wrong := self._verify(part, self._submit(part)):
                    corrupt.append(wrong)
                    part.remove()
        finally:
            self.stop.set()
            self.pool.shutdown(wait=False, cancel_futures=True)
            # A stalled read takes a minute to end, and Kubernetes kills after thirty seconds.
            wait([future for future in self.running if not future.done()], timeout=5)
        if corrupt:
            raise SeedError(
                f"{len(corrupt)} corrupt objects, fetched twice; nothing was published. Upload them"
                f" anew or correct {SUMS}, then run again:{listed(corrupt)}"
            )

    def _submit(self, part: Partial) -> dict[int, Future[None]]:
        chunks = {index: self.pool.submit(self._chunk, part, index) for index in part.missing}
        self.running += chunks.values()
        return chunks

    def _verify(self, part: Partial, chunks: Mapping[int, Future[None]]) -> str | None:
        remote = part.remote
        digests = {name: hashlib.new(name, usedforsecurity=False) for name in remote.algorithms}
        for index in range(len(part.done)):
            while index in chunks and not wait((chunks[index],), timeout=0.2).done:
                self._report()
            if self.error is not None:
                raise self.error
            if index in chunks:
                chunks[index].result()  # raises what no handler of errors has caught
            part.sum(index, [digest.update for digest in digests.values()])
            self._report()
        found = digests[remote.algorithm].hexdigest()
        if remote.expected not in {None, found}:
            return (
                f"{self.source.settings.source}{remote.name}: {remote.algorithm} is {found}, but"
                f" {remote.proof} says {remote.expected}"
            )
        # Whoever wrote the sums may be trusted; an upload of a file that was cut has an MD5 too.
        if remote.proof != SUMS and (problem := layout_problem(part.data)):
            return f"{self.source.settings.source}{remote.name}: {problem}"
        self.alive()
        part.sha256 = digests["sha256"].hexdigest()
        part.save()
        return None

    def _chunk(self, part: Partial, index: int) -> None:
        try:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return part.fill(index, self.source, self._check)
                except TransientError:
                    if attempt == ATTEMPTS or self.stop.wait(PAUSE_SEC * 2**attempt):
                        raise
        except Exception as error:
            self.error = self.error or error  # the first is the cause of what follows
            self.stop.set()

    def _check(self) -> None:
        self.alive()
        if self.stop.is_set():
            raise TransientError("stopped")

    def _report(self) -> None:
        seconds = time.monotonic() - self._told
        if seconds < REPORT_SEC:
            return
        total = max(1, sum(part.remote.size for part in self.partials))
        have = sum(sum(part.done) for part in self.partials)
        rate = (self.fetched - self._before) / seconds
        left = f"{(total - have) / rate:.0f} s left" if rate else "stalled"
        say(f"{have} of {total} bytes, {100 * have / total:.1f} %, {rate / MIB:.1f} MiB/s, {left}")
        self._told, self._before = time.monotonic(), self.fetched
