"""The model's directory: what is published, what is under way, how one becomes the other."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from catalog.programs.seed.errors import ConfigError, SeedError, listed, say
from catalog.programs.seed.keys import MANIFEST, Remote
from catalog.programs.seed.partial import Partial
from catalog.programs.seed.settings import GIB, Settings
from catalog.programs.seed.source import BLOCK

DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
DISK_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class Published(NamedTuple):
    """What the manifest says of one file."""

    size: int
    etag: str
    sha256: str


class Volume:
    """The model's directory: what is published, what is under way, how one becomes the other."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.final = settings.target / settings.revision
        self.partial = settings.target / f"{settings.revision}.partial"
        self.link = settings.target / "current"
        self.damaged: list[str] = []

    def published(self) -> dict[str, Published]:
        """Name to manifest entry of the published revision; empty if there is none."""
        if not os.path.lexists(self.final):
            return {}
        try:
            manifest: Any = json.loads((self.final / MANIFEST).read_text(encoding="utf-8"))
            return {
                str(entry["name"]): Published(entry["size"], entry["etag"], entry["sha256"])
                for entry in manifest["files"]
            }
        except (OSError, ValueError, TypeError, KeyError) as error:
            # Ours appear by one rename, with the manifest inside.
            raise ConfigError(
                f"{self.final} has no readable {MANIFEST}, so this program did not make it and does"
                " not replace it; move it away"
            ) from error

    def complete(self) -> bool:
        """Whether the published revision is whole; says when it is, and what is damaged."""
        entries = self.published()
        if entries and self.settings.verify_full:
            say(f"reading {len(entries)} files of {self.final} to compare their sums")
        self.damaged = [name for name, entry in entries.items() if not self._intact(name, entry)]
        if self.damaged:
            say(f"{self.final} is damaged in {len(self.damaged)} files:{listed(self.damaged)}")
        elif entries:
            how = "sizes and sums" if self.settings.verify_full else "sizes"
            say(f"{self.final} is complete: {len(entries)} files, {how} match")
        return bool(entries) and not self.damaged

    def prepare(self, remotes: Sequence[Remote]) -> list[Partial]:
        """Make the partial directory hold exactly these files, each as far as it had come."""
        files, chunk = self.partial / "files", self.settings.chunk
        if entries := self.published():
            # Withdrawn, so that no engine starts on damaged weights; what is good is kept.
            shutil.rmtree(self.partial, ignore_errors=True)
            self.partial.mkdir()
            self.final.rename(files)
            say(f"withdrew {self.final} until it is repaired")
            for remote in remotes:
                entry = entries.get(remote.name)
                same = entry is not None and entry[:2] == (remote.size, remote.etag)
                if entry and same and remote.name not in self.damaged:
                    Partial(remote, self.partial, chunk, entry.sha256)
        keep = {files / remote.name for remote in remotes}
        for path in sorted(files.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                with contextlib.suppress(OSError):  # it holds something that is kept
                    path.rmdir()
            elif path not in keep or path.is_symlink():
                path.unlink()
        return [Partial(remote, self.partial, chunk) for remote in remotes]

    def shortage(self, partials: Sequence[Partial]) -> str:
        """Say what does not fit beside the reserve; empty if all does."""
        needed = sum(part.remote.size - sum(part.done) for part in partials)
        volume = os.statvfs(self.settings.target)
        free, reserve = volume.f_bavail * volume.f_frsize, self.settings.reserve
        missing = needed + reserve - free
        if needed == 0 or missing <= 0:
            return ""
        return (
            f"needed {needed / GIB:.3f} GiB, free {free / GIB:.3f} GiB of which"
            f" {reserve / GIB:.3f} GiB must remain (TRIPLANE_RESERVE_GIB), missing"
            f" {missing / GIB:.3f} GiB."
        )

    def publish(self, partials: Sequence[Partial], alive: Callable[[], None]) -> None:
        """Write the manifest, flush, and make the revision appear by one rename."""
        files = self.partial / "files"
        manifest = {
            "schema": 1,
            "model": self.settings.model,
            "revision": self.settings.revision,
            "source": self.settings.source,
            "endpoint": self.settings.where,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "bytes": sum(part.remote.size for part in partials),
            "unverified": [part.remote.name for part in partials if part.remote.expected is None],
            "files": [
                {
                    "name": part.remote.name,
                    "size": part.remote.size,
                    "sha256": part.sha256,
                    "etag": part.remote.etag,
                    "verified": part.remote.proof,
                }
                for part in partials
            ],
        }
        with (files / MANIFEST).open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        for folder in (files, *(path for path in files.rglob("*") if path.is_dir())):
            flush_folder(folder)
        alive()
        files.rename(self.final)
        flush_folder(self.settings.target)

    def is_current(self) -> bool:
        """Whether `current` names this revision already."""
        if self.link.exists() and not self.link.is_symlink():
            raise ConfigError(f"{self.link} is not a symbolic link; move it away")
        return self.link.is_symlink() and str(self.link.readlink()) == self.settings.revision

    def make_current(self) -> None:
        """Let `current` name this revision, without a moment in which it names nothing."""
        if not self.is_current():
            spare = self.settings.target / f".triplane-current-{uuid.uuid4().hex}"
            spare.symlink_to(self.settings.revision)
            spare.replace(self.link)
            flush_folder(self.settings.target)
        shutil.rmtree(self.partial, ignore_errors=True)

    def _intact(self, name: str, entry: Published) -> bool:
        path, digest = self.final / name, hashlib.sha256()
        if not path.is_file() or path.is_symlink() or path.stat().st_size != entry.size:
            return False
        if not self.settings.verify_full:
            return True
        with path.open("rb") as file:
            while block := file.read(4 * BLOCK):
                digest.update(block)
        return digest.hexdigest() == entry.sha256


def flush_folder(folder: Path) -> None:
    """Make the names in a folder outlast a lost node."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse it
            os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(error: OSError, shortage: str) -> SeedError:
    """Explain a failed use of the volume."""
    what = f"cannot use {error.filename or 'the volume'}: {error.strerror or error}"
    if error.errno in DISK_FULL:
        return SeedError(
            f"the volume is full: {what}. {shortage or 'A quota or a limit of it may be lower.'}"
            " Enlarge it or remove old revisions, then run again: what is there is kept"
        )
    if error.errno in DISK_FORBIDDEN:
        return ConfigError(f"{what}, as user {os.getuid()}; set the pod's fsGroup")
    return SeedError(f"{what}; run again")
