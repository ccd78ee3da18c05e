"""`make mutants`: judge a random sample of each package's possible changes."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest

from benchmarks.mutants import equivalents, recording, report, settings, tool
from benchmarks.mutants.candidates import carry_out, sample
from benchmarks.mutants.judging import Judge, MutantVerdict, Outcome
from benchmarks.mutants.reach import Reach

_MARKERS: Final = "pure or mocks"


class Loop:
    """A pytest plugin that judges changes instead of running the collected tests."""

    def __init__(
        self, options: argparse.Namespace, table: settings.MutantSettings, root: Path
    ) -> None:
        self._options = options
        self._table = table
        self._root = root
        self.verdicts: dict[str, list[MutantVerdict]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record what is not recorded, then judge until the samples or the time are used up."""
        root, table = self._root, self._table
        callers = sorted(path for folder in table.callers for path in (root / folder).rglob("*.py"))
        recordings = list(self._recordings(session))
        until = time.monotonic() + 60 * (self._options.minutes or table.minutes)
        reach = Reach(root, recordings, callers)
        if reach.failed:
            report.say(
                "fail on the code as it is, so not asked: " + ", ".join(sorted(reach.failed))
            )
        judge = Judge(
            root,
            session,
            reach,
            equivalents.read(root / table.equivalents),
            self._options.seconds or float(table.seconds_per_mutant),
        )
        packages: Sequence[str] = self._options.package or list(table.packages)
        for number, package in enumerate(packages):
            self.verdicts[package] = []
            share = (until - time.monotonic()) / (len(packages) - number)
            self._judge(package, judge, time.monotonic() + share)
        return True

    def _recordings(self, session: pytest.Session) -> Iterator[recording.Recording]:
        folder = self._root / "build" / "mutants"
        for path, items in groupby(session.items, key=lambda item: item.path):
            began = time.monotonic()
            yield recording.record(self._root, list(items), folder, session)
            if (took := time.monotonic() - began) > 1:
                report.say(f"recorded {path.name} in {took:.0f} s")

    def _judge(self, package: str, judge: Judge, until: float) -> None:
        operators = tool.operators()
        files = self._table.files(package, self._root)
        verdicts = self.verdicts[package]
        wanted = self._options.sample or self._table.sample
        for candidate in sample(files, operators, f"{self._options.seed} {package}"):
            counted = sum(1 for each in verdicts if each.outcome is not Outcome.BROKEN)
            if counted >= wanted or time.monotonic() > until:
                break
            if self._options.only and not str(candidate.path).endswith(self._options.only):
                continue
            if mutant := carry_out(candidate, operators):
                verdicts.append(judge.judge(mutant))
                report.say(report.line(verdicts[-1], self._root))
                if verdicts[-1].outcome is Outcome.SURVIVED:
                    report.say(report.survivor(verdicts[-1], self._root))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--root", type=Path, default=settings.ROOT)
    parser.add_argument("--sample", type=int, help="changes of each package")
    parser.add_argument("--minutes", type=float, help="for all packages, recordings not counted")
    parser.add_argument("--seconds", type=float, help="processor time for one change")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--package", action="append", help="only this package")
    parser.add_argument("--only", help="only changes of files whose path ends so")
    parser.add_argument("--tests", action="append", help="only tests of these folders or files")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, print figures by package and what was not noticed."""
    options = _options(arguments)
    try:
        table = settings.read(options.root)
        tool.ready()
    except (settings.SettingsError, tool.ToolError) as error:
        report.say(str(error))
        return 2
    os.chdir(options.root)
    warnings.simplefilter("ignore", SyntaxWarning)
    loop = Loop(options, table, options.root)
    quiet = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", _MARKERS)
    chosen = options.package or table.packages
    tests = options.tests or sorted(
        {each for name in chosen for each in table.packages[name].tests}
    )
    pytest.main([*quiet, *tests], plugins=[loop])
    report.say(report.summary(loop.verdicts, options.root, str(options.seed)))
    return 0 if any(loop.verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
