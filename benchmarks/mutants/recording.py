"""Which functions each test runs: one file for each test module, under build/mutants/.

A module's tests run in a forked copy under the interpreter's own profiler, which names every
function that was called and costs less than a tracer of lines. What a fixture shared by several
tests runs counts for all that use it. A recording holds until its test module changes. Functions
that are younger, or run in another thread, are found by their names instead (`reach.py`).
"""

import cProfile
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Final

import pytest

from benchmarks.mutants import forks

_CLOCK_SEC: Final = 3600.0
_FIXTURE: Final = "fixture "


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What a test module's tests took and ran."""

    seconds: Mapping[str, float]
    """Processor time by test."""
    functions: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Tests by file (from the tree's root) and by function."""
    failed: tuple[str, ...] = ()
    """Tests that fail on the code as it is: they can notice nothing."""


class _Calls:
    """A pytest plugin: collects the functions that each test calls."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._profile = cProfile.Profile(builtins=False)
        self._now = ""
        self._users: defaultdict[str, list[str]] = defaultdict(list)
        self._called: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        began = time.process_time()
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")
            self.seconds[item.nodeid] = round(time.process_time() - began, 3)
            for name in getattr(item, "fixturenames", ()):
                self._users[f"{_FIXTURE}{name}"].append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        before = self._now
        if fixturedef.scope != "function":
            self._switch(f"{_FIXTURE}{fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def _switch(self, name: str) -> None:
        """Put what was called since the last time down to who ran then."""
        self._profile.disable()
        if self._now:
            codes = [entry.code for entry in self._profile.getstats()]
            called = {self._place(code) for code in codes if isinstance(code, CodeType)}
            self._called[self._now] |= called - {("", "")}
        self._profile.clear()
        self._now = name
        if name:
            self._profile.enable()

    def _place(self, code: CodeType) -> tuple[str, str]:
        path = Path(code.co_filename)
        if not path.is_relative_to(self._root) or path.is_relative_to(self._root / "tests"):
            return "", ""
        parts = code.co_qualname.replace(".<locals>", "").split(".")
        name = ".".join(part for part in parts if not part.startswith("<"))
        return str(path.relative_to(self._root)), name

    def functions(self) -> dict[str, dict[str, list[str]]]:
        """Return the tests by file and function."""
        found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for who, places in self._called.items():
            tests = self._users[who] if who.startswith(_FIXTURE) else [who]
            for file, name in places:
                found[file][name].update(tests)
        return {
            file: {name: sorted(tests) for name, tests in sorted(names.items())}
            for file, names in sorted(found.items())
        }


def record(
    root: Path, items: Sequence[pytest.Item], folder: Path, session: pytest.Session
) -> Recording:
    """Return a test module's recording, made now where there is none of it as it is."""
    path = items[0].path
    place = folder / f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:10]}.json"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{path.stem}-*.json"):
            old.unlink()
        forks.run(lambda _: _run(root, items, place, session), clock_sec=_CLOCK_SEC)
    if not place.exists():
        return Recording(seconds={}, functions={})
    stored = json.loads(place.read_text(encoding="utf-8"))
    present = {item.nodeid for item in items}
    return Recording(
        seconds=stored["seconds"],
        failed=tuple(stored["failed"]),
        functions={
            file: {
                name: tuple(each for each in tests if each in present)
                for name, tests in names.items()
            }
            for file, names in stored["functions"].items()
        },
    )


def _run(root: Path, items: Sequence[pytest.Item], place: Path, session: pytest.Session) -> None:
    calls = _Calls(root)
    session.config.pluginmanager.register(calls)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    part = place.with_suffix(".part")
    text = {"seconds": calls.seconds, "failed": calls.failed, "functions": calls.functions()}
    part.write_text(json.dumps(text), encoding="utf-8")
    part.replace(place)
