"""Removing revisions that no engine names any more.

Runs after every engine of the region runs its revision. Touches nothing that this program did not
publish, nothing that is named, nothing as new as what is in use, and no model that is being seeded
(it takes the model's lock). What is removed is renamed first: a half-removed revision never looks
like a whole one.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from catalog.programs.seed.errors import ConfigError, listed, say
from catalog.programs.seed.keys import MANIFEST
from catalog.programs.seed.lock import Lock
from catalog.programs.seed.settings import GIB, Environment
from catalog.programs.seed.volume import flush_folder

RETIRED: Final = ".triplane-retired-"
PARTIAL: Final = ".partial"
LOCK: Final = ".triplane-lock"


@dataclass(frozen=True)
class Collection:
    """What to keep: revisions by model. `everything`: other models are removed as well."""

    root: Path
    keep: Mapping[str, frozenset[str]]
    everything: bool
    stale_sec: float


def read_collection(env: Mapping[str, str]) -> Collection:
    """Read the environment; raise one ConfigError that lists everything that is wrong."""
    read = Environment(env)
    root = Path(read.text("TRIPLANE_ROOT", r"(?!.*/\.\.(/|$))/[^/].*", "absolute, such as /models"))
    if root.is_absolute() and not root.is_dir():
        read.problems.append(
            f"TRIPLANE_ROOT: {str(root)!r} is no directory; mount the volume there"
        )
    collection = Collection(
        root=root,
        keep=_keep(read),
        everything=read.text("TRIPLANE_COLLECT", "revisions|all", "revisions or all", "revisions")
        == "all",
        stale_sec=read.number("TRIPLANE_LOCK_STALE_SEC", 60, 2, 3600),
    )
    if read.problems:
        raise ConfigError(f"unusable environment; nothing was done:{listed(read.problems)}")
    return collection


def _keep(read: Environment) -> dict[str, frozenset[str]]:
    wanted = 'a JSON object of lists of revisions by model, such as {"tiny": ["r1"]}'
    try:
        given: Any = json.loads(read.text("TRIPLANE_KEEP", r"\{.*\}", wanted, "-"))
        found = {str(model): frozenset(map(str, revisions)) for model, revisions in given.items()}
        if all(found.values()) and not any(isinstance(each, str) for each in given.values()):
            return found
    except (ValueError, TypeError, AttributeError):
        pass
    if not any(problem.startswith("TRIPLANE_KEEP") for problem in read.problems):
        read.problems.append(f"TRIPLANE_KEEP must be {wanted}, with one revision at least each")
    return {}


def collect(collection: Collection) -> None:
    """Remove what may be removed, model by model; say what and how much."""
    for folder in sorted(path for path in collection.root.iterdir() if path.is_dir()):
        keep = collection.keep.get(folder.name)
        if folder.is_symlink() or not _holds_revisions(folder):
            continue
        if keep is None and not collection.everything:
            say(f"{folder}: no model of this region, left alone (TRIPLANE_COLLECT is revisions)")
            continue
        lock = Lock(folder / LOCK, collection.stale_sec)
        try:
            lock.acquire()
            _Model(folder, keep, lock).clean()
        finally:
            lock.release()
        if keep is None:
            _remove_empty(folder)


def _holds_revisions(folder: Path) -> bool:
    """Whether this program seeded into the folder; a file system's own (lost+found) is closed."""
    try:
        return (folder / "current").is_symlink() or any(
            (path / MANIFEST).is_file() or path.name.startswith(RETIRED) or _is_partial(path)
            for path in folder.iterdir()
        )
    except PermissionError:
        return False


def _is_partial(path: Path) -> bool:
    return path.name.endswith(PARTIAL) and (path / "state").is_dir()


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        say(f"{folder} holds something that this program did not make, and is left")


class _Model:
    """One model's directory, locked. `keep` is None for a model that nothing names any more."""

    def __init__(self, folder: Path, keep: frozenset[str] | None, lock: Lock) -> None:
        self.folder = folder
        self.keep = keep
        self.lock = lock

    def clean(self) -> None:
        """Remove what may be removed."""
        for left in self.folder.glob(f"{RETIRED}*"):
            self.lock.check()
            shutil.rmtree(left)  # of a run that was killed in the middle
        current = self._current()
        if self.keep is None:
            self._unlink_current()
            since = float("inf")
        elif current is None or current not in self.keep:
            say(f"{self.folder}: current is {current!r}, which is not named; left alone")
            return
        else:
            since = self._finished(self.folder / current)
        kept = self.keep or frozenset()
        for path in list(self._removable(kept | {current} if self.keep else kept, since)):
            self._retire(path)

    def _current(self) -> str | None:
        link = self.folder / "current"
        return str(link.readlink()) if link.is_symlink() else None

    def _unlink_current(self) -> None:
        link = self.folder / "current"
        if link.is_symlink():
            link.unlink()
            flush_folder(self.folder)

    def _removable(self, kept: frozenset[str | None], since: float) -> Iterator[Path]:
        for path in sorted(self.folder.iterdir()):
            if path.is_symlink() or not path.is_dir() or path.name.startswith("."):
                continue
            name = path.name.removesuffix(PARTIAL)
            if name in kept:
                continue
            if path.name.endswith(PARTIAL):
                if _is_partial(path) and path.stat().st_mtime < since:
                    yield path
            elif self._is_ours(path) and self._finished(path) < since:
                yield path
            else:
                say(f"{path} is not ours, or not older than what is in use; left alone")

    def _is_ours(self, path: Path) -> bool:
        return self._manifest(path).get("revision") == path.name

    def _finished(self, path: Path) -> float:
        """Return when a revision was published, by the volume's clock: of its manifest's time."""
        try:
            return (path / MANIFEST).stat().st_mtime
        except OSError:
            return float("-inf")

    def _manifest(self, path: Path) -> dict[str, Any]:
        try:
            found: Any = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def _retire(self, path: Path) -> None:
        self.lock.check()
        size = sum(each.lstat().st_size for each in path.rglob("*") if each.is_file())
        gone = self.folder / f"{RETIRED}{uuid.uuid4().hex}"
        path.rename(gone)
        flush_folder(self.folder)
        shutil.rmtree(gone)
        say(f"removed {path}: {size / GIB:.3f} GiB")
