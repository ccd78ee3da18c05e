"""One file under way: its bytes, and what is known of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from catalog.programs.seed.errors import SeedError, TransientError
from catalog.programs.seed.keys import Remote
from catalog.programs.seed.source import BLOCK, Source


class Partial:
    """One file under way: its bytes, and a note of which of them are safely on disk.

    The note is written only after the bytes were flushed, so that neither a killed process nor a
    lost node leaves a claim about bytes that are not there. It names the inode that it is about:
    a process that lost the lock unawares may still write a note, but to a file that is gone.
    """

    def __init__(self, remote: Remote, root: Path, chunk: int, sha256: str | None = None) -> None:
        """Continue what is there. With `sha256`, the file is there already and known to be good."""
        self.remote = remote
        self.data = root / "files" / remote.name
        self.note = root / "state" / hashlib.sha256(remote.name.encode()).hexdigest()
        self.chunk = chunk
        self.fetched: list[int] = []
        self._lock = threading.Lock()
        if sha256 is not None:
            self._begin([self.length(index) for index in range(self.chunks)])
            self.sha256 = sha256
            self.save()
        elif not self._continue():
            self.reset()

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.remote.size // self.chunk)

    def length(self, index: int) -> int:
        """Size of one chunk in bytes."""
        return min(self.chunk, self.remote.size - index * self.chunk)

    @property
    def missing(self) -> list[int]:
        """Indexes of the chunks that lack bytes."""
        return [i for i, done in enumerate(self.done) if done < self.length(i)]

    def reset(self) -> None:
        """Begin anew, in a new file."""
        self.remove()
        self.data.parent.mkdir(parents=True, exist_ok=True)
        self.data.touch(exist_ok=False)
        self._begin([0] * self.chunks)
        self.save()

    def remove(self) -> None:
        """Delete the bytes and the note about them."""
        self.note.unlink(missing_ok=True)
        self.data.unlink(missing_ok=True)

    def fill(self, index: int, source: Source, alive: Callable[[], None]) -> None:
        """Fetch what one chunk lacks; flush and note it every quarter, and when the source ends."""
        begin = index * self.chunk
        position, end = begin + self.done[index], begin + self.length(index)
        with (
            self.data.open("r+b", buffering=0) as file,
            contextlib.closing(source.blocks(self.remote, position, end)) as blocks,
        ):
            file.seek(position)
            try:
                for block in blocks:
                    alive()
                    view = memoryview(block)
                    while view:
                        view = view[file.write(view) :]
                    position += len(block)
                    self.fetched[index] += len(block)
                    if position - begin - self.done[index] >= self.chunk // 4:
                        self._flushed(file.fileno(), index, position - begin)
            except TransientError:
                self._flushed(file.fileno(), index, position - begin)
                raise
            self._flushed(file.fileno(), index, position - begin)

    def sum(self, index: int, updates: Sequence[Callable[[bytes], object]]) -> None:
        """Read one chunk back from the volume into the sums."""
        left = self.length(index)
        with self.data.open("rb", buffering=0) as file:
            file.seek(index * self.chunk)
            while left and (block := file.read(min(4 * BLOCK, left))):
                left -= len(block)
                for update in updates:
                    update(block)
        if left:
            raise SeedError(f"{self.data} became shorter while it was read; run again")

    def save(self) -> None:
        """Write the note."""
        note = {"etag": self.remote.etag, "size": self.remote.size, "inode": self._inode}
        note |= {"chunk": self.chunk, "done": self.done, "sha256": self.sha256}
        self.note.parent.mkdir(exist_ok=True)
        spare = self.note.with_suffix(".new")
        spare.write_text(json.dumps(note | {"proof": self.remote.proof}), encoding="utf-8")
        spare.replace(self.note)

    def _begin(self, done: list[int]) -> None:
        self.done = done
        self.fetched += [0] * (len(done) - len(self.fetched))
        self.sha256: str | None = None
        self._inode = self.data.lstat().st_ino

    def _flushed(self, handle: int, index: int, done: int) -> None:
        if done > self.done[index]:
            os.fdatasync(handle)
            with self._lock:
                self.done[index] = done
                self.save()

    def _continue(self) -> bool:
        try:
            note: Any = json.loads(self.note.read_text(encoding="utf-8"))
            disk = self.data.lstat()
            known = (note["etag"], note["size"], note["inode"])
            chunk, done = int(note["chunk"]), [int(count) for count in note["done"]]
            reach = max((i * chunk + n for i, n in enumerate(done) if n), default=0)
            if known != (self.remote.etag, self.remote.size, disk.st_ino) or disk.st_size < reach:
                return False
        except (OSError, ValueError, TypeError, KeyError):
            return False
        self.chunk = chunk  # a changed setting counts for files that begin anew
        self._begin(done)
        # A sum that an earlier run checked in another way is taken and compared anew.
        wanted = self.remote.expected if self.remote.algorithm == "sha256" else None
        if note["proof"] == self.remote.proof and wanted in {None, note["sha256"]}:
            self.sha256 = note["sha256"]
        return True
