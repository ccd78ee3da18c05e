"""One run: bring a revision onto the volume and publish it."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Final

from catalog.programs.seed.errors import SeedError, SourceChangedError, TransientError, listed, say
from catalog.programs.seed.fetch import Fetch
from catalog.programs.seed.keys import HEADER, SIZE_ONLY
from catalog.programs.seed.lock import Lock
from catalog.programs.seed.partial import Partial
from catalog.programs.seed.settings import GIB, Settings
from catalog.programs.seed.source import Source
from catalog.programs.seed.tensors import index_problems
from catalog.programs.seed.volume import Volume, disk_error

ROUNDS: Final = 3  # how often the source may change under one run


def seed(settings: Settings, connect_source: Callable[[], Source]) -> None:
    """Bring the revision onto the volume and publish it; return at once if it is there."""
    volume = Volume(settings)
    settings.target.mkdir(exist_ok=True)
    if volume.is_current() and not volume.partial.exists() and volume.complete():
        return
    lock = Lock(settings.target / ".triplane-lock", settings.stale_sec)
    try:
        lock.acquire()
        if not volume.complete():
            download(volume, connect_source(), lock.check)
        volume.make_current()
    finally:
        lock.release()


def download(volume: Volume, source: Source, alive: Callable[[], None]) -> None:
    """Fetch, verify and publish, again for what changed if the source changes meanwhile."""
    for _ in range(ROUNDS):
        partials: list[Partial] = []
        try:
            found = source.identity()
            partials += volume.prepare(source.remotes(found))
            if volume.shortage(partials):
                raise OSError(errno.ENOSPC, "not enough space", str(volume.settings.target))
            fetch = Fetch(source, partials, alive)
            announce(volume.settings, partials)
            fetch.run()
            if source.identity() == found:
                complete(volume, partials)
                volume.publish(partials, alive)
                summarise(volume, partials, fetch.fetched)
                return
        except OSError as error:
            raise disk_error(error, volume.shortage(partials)) from error
        except TransientError as error:
            raise SeedError(f"{error}; check S3_ENDPOINT_URL or run again") from error
        except SourceChangedError:
            pass
        say(f"{volume.settings.source} changed while it was fetched; fetching what changed")
    raise SeedError(f"{volume.settings.source} keeps changing; run again when its upload has ended")


def complete(volume: Volume, partials: Sequence[Partial]) -> None:
    """Refuse a checkpoint whose own index names what is not there."""
    names = [part.remote.name for part in partials]
    if problems := index_problems(volume.partial / "files", names):
        raise SeedError(
            f"{volume.settings.source} is no complete checkpoint; finish the upload or correct the"
            f" index, then run again:{listed(problems)}"
        )


def announce(settings: Settings, partials: Sequence[Partial]) -> None:
    """Say what this run is about to do."""
    total = sum(part.remote.size for part in partials) / GIB
    have = sum(sum(part.done) for part in partials) / GIB
    say(
        f"seeding {settings.model} {settings.revision} from {settings.source} at {settings.where}:"
        f" {len(partials)} files, {total:.3f} GiB, of which {have:.3f} GiB are on the volume"
    )


def summarise(volume: Volume, partials: Sequence[Partial], fetched: int) -> None:
    """Say what was done, and above all what no checksum vouches for."""
    proofs = [part.remote.proof for part in partials]
    for proof in sorted(set(proofs) - {SIZE_ONLY, HEADER}):
        say(f"verified by {proof}: {proofs.count(proof)} files")
    if loose := [part.remote.name for part in partials if part.remote.expected is None]:
        headers = (
            f", {proofs.count(HEADER)} of them by their headers too" if HEADER in proofs else ""
        )
        say(
            f"NOT verified by a checksum, only by size{headers}: {len(loose)} files:{listed(loose)}"
        )
    say(f"published {volume.final}: {len(partials)} files, {fetched} bytes fetched")
