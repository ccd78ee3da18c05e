"""Reading the engine's event log while the engine writes it."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox.engine.progress import Progress

_POLL_SEC: Final = 0.2


class _Reader:
    """`pulumi up` writes its preview to the file, then empties it and writes its update."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self._path = path
        self._progress = progress
        self._position = 0
        self._rest = b""

    def read(self) -> None:
        """Take every whole line that was written since the last time."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        if size < self._position:
            self._position, self._rest = 0, b""
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line:
                self._progress.take(json.loads(line))


@contextmanager
def followed(path: Path, progress: Progress) -> Generator[Path]:
    """Feed a progress from an event log, in a thread, for as long as the context lasts."""
    path.unlink(missing_ok=True)
    reader, ended = _Reader(path, progress), threading.Event()

    def follow() -> None:
        while not ended.wait(_POLL_SEC):
            reader.read()
            progress.tick(time.time())

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield path
    finally:
        ended.set()
        thread.join()
        reader.read()
