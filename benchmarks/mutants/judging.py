"""One change after the other: noticed, not noticed, or no change at all.

A change counts as noticed by a test only if the same test, alone and in the same way, passes on the
code as it is: what fails for another reason proves nothing.
"""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from benchmarks.mutants import codes, forks, running
from benchmarks.mutants.candidates import Mutant
from benchmarks.mutants.equivalents import Equivalent
from benchmarks.mutants.reach import Reach, names_given, words_changed
from benchmarks.mutants.running import Said, Watch

_CLOCK_PER_SECOND: Final = 30
"""So much slower may the clock be than the processor: other work runs beside this."""
_TRIES: Final = 3
_NEAREST_ANEW: Final = 150
_BROADEST_ANEW: Final = 100
"""Tests that are collected again where modules are imported anew: the nearest, and those that run
most, which see what a table's row is good for in the end (a snapshot of a whole stack)."""


class Outcome(StrEnum):
    """What became of a change."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    BROKEN = "does not import"

    @property
    def noticed(self) -> bool:
        """Tell whether a test failed or never ended."""
        return self in {Outcome.KILLED, Outcome.TIMED_OUT}


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantVerdict:
    """A change, what became of it and how much was tried."""

    mutant: Mutant
    outcome: Outcome
    test: str = ""
    """The test that noticed it."""
    tried: int = 0
    reaching: int = 0
    seconds: float = 0.0


class Judge:
    """Judges changes in forked copies of this process, whose tests are collected."""

    def __init__(
        self,
        root: Path,
        session: pytest.Session,
        reach: Reach,
        equivalents: Mapping[str, Equivalent],
        bound_sec: float,
    ) -> None:
        self._root = root
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._reach = reach
        self._equivalents = equivalents
        self._bound = bound_sec
        self._trusted: dict[tuple[str, bool], bool] = {}

    def judge(self, mutant: Mutant) -> MutantVerdict:
        """Return what becomes of a change."""
        if mutant.key in self._equivalents:
            return MutantVerdict(mutant=mutant, outcome=Outcome.EQUIVALENT)
        tests, anew = self._tests(mutant)
        seconds = 0.0
        for _ in range(_TRIES):
            ended = self._try(mutant, tests, anew=anew)
            seconds += ended.seconds
            outcome, last, tried = outcome_of(ended)
            believed = not outcome.noticed or not last or self._passes_unchanged(last, anew=anew)
            if believed:
                return MutantVerdict(
                    mutant=mutant,
                    outcome=outcome,
                    test=last if outcome.noticed else "",
                    tried=tried,
                    reaching=len(tests),
                    seconds=seconds,
                )
            tests = [test for test in tests if test != last]
        return MutantVerdict(mutant=mutant, outcome=Outcome.SURVIVED, seconds=seconds)

    def _tests(self, mutant: Mutant) -> tuple[list[str], bool]:
        """Return the tests to run, and whether modules must be imported anew for it."""
        path, line = mutant.candidate.path, mutant.candidate.line
        source = path.read_text(encoding="utf-8")
        different = codes.changed_functions(path, source, mutant.source)
        anew = different is None
        function = mutant.function if not anew else ""
        names = names_given(source, line)
        tests = self._reach.tests(path, function or mutant.function, names)
        words = words_changed(source, mutant.source, line)
        return self._reach.naming_first(tests, words), anew

    def _try(self, mutant: Mutant, tests: Sequence[str], *, anew: bool) -> forks.Ended:
        path = mutant.candidate.path

        def work(tell: forks.Tell) -> None:
            watch = Watch(tell, self._reach.seconds, self._bound)
            if not anew:
                source = path.read_text(encoding="utf-8")
                different = codes.changed_functions(path, source, mutant.source) or {}
                if codes.replace(path, source, different):
                    codes.clear_caches(self._root)
                    self._run_items(tests, watch)
                    return
            if not running.run_anew(self._root, (path, mutant.source), chosen_anew(tests), watch):
                tell(Said.BROKEN)

        return forks.run(work, clock_sec=self._clock())

    def _passes_unchanged(self, test: str, *, anew: bool) -> bool:
        if (test, anew) not in self._trusted:

            def work(tell: forks.Tell) -> None:
                watch = Watch(tell, self._reach.seconds, self._bound)
                if anew:
                    running.run_anew(self._root, None, [test], watch)
                else:
                    self._run_items([test], watch)

            ended = forks.run(work, clock_sec=self._clock())
            self._trusted[test, anew] = not outcome_of(ended)[0].noticed
        return self._trusted[test, anew]

    def _run_items(self, tests: Sequence[str], watch: Watch) -> None:
        items = [self._items[test] for test in tests if test in self._items]
        running.run_items(self._session, items, watch)

    def _clock(self) -> float:
        return 60 + _CLOCK_PER_SECOND * self._bound


def chosen_anew(tests: Sequence[str]) -> list[str]:
    """Return the tests to collect again, of tests that are sorted by nearness."""
    nearest, others = tests[:_NEAREST_ANEW], tests[_NEAREST_ANEW:]
    return [*nearest, *others[-_BROADEST_ANEW:][::-1]]


def outcome_of(ended: forks.Ended) -> tuple[Outcome, str, int]:
    """Return the outcome of a copy, the last test it named, and how many it started."""
    tried, last = 0, ""
    for line in ended.lines:
        word, _, rest = line.partition(" ")
        if word == Said.STARTED:
            tried, last = tried + 1, rest
        elif word == Said.FAILED:
            return Outcome.KILLED, rest, tried
        elif word == Said.BROKEN:
            return Outcome.BROKEN, "", 0
        elif word in {Said.DONE, Said.BOUND}:
            return Outcome.SURVIVED, last, tried
    if ended.signal == signal.SIGPROF:
        return Outcome.TIMED_OUT, last, tried
    if ended.signal == signal.SIGKILL:
        # On the clock, not by processor time: a busy machine looks the same.
        return Outcome.SURVIVED, last, tried
    return Outcome.KILLED, last, tried
