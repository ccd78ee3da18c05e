"""Chosen tests in a forked copy: on functions replaced in place, or on modules imported anew."""

import importlib
import importlib.abc
import importlib.machinery
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

import pytest

from benchmarks.mutants import forks

_SLOWER: Final = 10
"""A test that takes so many times its recorded processor time, and more, does not end."""
_AT_LEAST_SEC: Final = 10.0


class Said(StrEnum):
    """The words with which a copy reports."""

    STARTED = "started"
    FAILED = "failed"
    BROKEN = "broken"
    BOUND = "bound"
    DONE = "done"


class Watch:
    """A pytest plugin: says which test starts, and ends everything at the first that fails."""

    def __init__(self, tell: forks.Tell, seconds: Mapping[str, float], bound_sec: float) -> None:
        self._tell = tell
        self._seconds = seconds
        self._bound = bound_sec
        self._began: float | None = None
        self.failed = False
        self.bounded = False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Allow the test a multiple of what it took when nothing was changed."""
        if self._began is None:
            self._began = time.process_time()
        usual = self._seconds.get(nodeid, 0.0)
        forks.limit_processor(max(_AT_LEAST_SEC, _SLOWER * usual))
        self._tell(f"{Said.STARTED} {nodeid}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure, in the test or in what it needs."""
        if report.failed and not self.failed:
            self.failed = True
            self._tell(f"{Said.FAILED} {report.nodeid}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test module that cannot be read any more has noticed the change."""
        if report.failed and not self.failed:
            self.failed = True
            self._tell(f"{Said.FAILED} {report.nodeid}")

    def over(self) -> bool:
        """Tell whether nothing more is to be run, and say so where it is the bound."""
        took = 0.0 if self._began is None else time.process_time() - self._began
        self.bounded = self.bounded or (not self.failed and took > self._bound)
        return self.failed or self.bounded

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Stop the session after a failure or at the bound."""
        result = yield
        if self.over():
            item.session.shouldstop = "enough"
        return result

    def close(self) -> None:
        """Say how it ended."""
        forks.limit_processor(0)
        self._tell(Said.BOUND if self.bounded and not self.failed else Said.DONE)


def run_items(session: pytest.Session, items: Sequence[pytest.Item], watch: Watch) -> None:
    """Run tests that are already collected, in this process."""
    session.config.pluginmanager.register(watch)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if watch.over():
            break
    watch.close()


def run_anew(
    root: Path, changed: tuple[Path, str] | None, nodes: Sequence[str], watch: Watch
) -> bool:
    """Import a tree's modules anew, one of them changed, and run these tests on them.

    Returns whether the changed module could be imported.
    """
    forget(root)
    if changed is not None:
        path, source = changed
        sys.meta_path.insert(0, Changed(path, source))
        try:
            importlib.import_module(module_name(root, path))
        except Exception:
            return False
    quiet = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist")
    pytest.main([*quiet, f"--rootdir={root}", *nodes], plugins=[watch])
    watch.close()
    return True


def module_name(root: Path, path: Path) -> str:
    """Return the dotted name under which a file of a tree is imported."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def forget(root: Path) -> None:
    """Take every module of a tree out of this process; installed packages stay."""
    installed = Path(sys.prefix)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.startswith("benchmarks.mutants"):
            continue
        path = Path(file)
        if path.is_relative_to(root) and not path.is_relative_to(installed):
            del sys.modules[name]
    importlib.invalidate_caches()


class Changed(importlib.abc.MetaPathFinder):
    """Finds one module with a changed source instead of the file's."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = path
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the usual finding with another loader where it is the changed file."""
        del target
        if self._path.stem != fullname.rpartition(".")[2] and self._path.stem != "__init__":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None or Path(spec.origin) != self._path:
            return None
        spec.loader = _Loader(fullname, str(self._path), self._source)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed source; the compiled file of the old one is not looked at."""
        del fullname
        return compile(self._source, self.path, "exec", dont_inherit=True)
