"""How long each test module took, by which the next run orders them, and the order itself.

A module is never split between workers (its tests may share a stack), so the longest go first:
one that begins last would leave the other cores idle until its end.
"""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

COSTS: Final = Path(__file__).with_name("module_seconds.json")
"""Seconds of each module that takes longer than `_WORTH_NOTING_SEC`; `--keep-times` renews it."""

_WORTH_NOTING_SEC: Final = 2.0
_SHOWN: Final = 10


def module_of(nodeid: str) -> str:
    """Return the file of a test, by its id."""
    return nodeid.partition("::")[0]


def ordered(modules: Sequence[str], order: str, seconds: Mapping[str, float]) -> list[str]:
    """Return the modules in the order asked for; `order` is as the option describes it.

    Raises `pytest.UsageError` for another word.
    """
    if order == "found":
        return list(modules)
    if order == "reversed":
        return list(reversed(modules))
    if order == "longest":
        return sorted(modules, key=lambda module: -seconds.get(module, 0.0))
    if order.isdecimal():
        shuffled = sorted(modules)
        random.Random(int(order)).shuffle(shuffled)
        return shuffled
    message = f"--modules {order!r}: longest, found, reversed, or the number of a shuffle"
    raise pytest.UsageError(message)


class ModuleTimes:
    """Orders the modules, and tells at the end how long each took."""

    def __init__(self, order: str, kept: Path | None) -> None:
        self._order = order
        self._kept = kept
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order by modules; within one the tests stay as they are."""
        by_module: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            by_module[module_of(item.nodeid)].append(item)
        seconds: dict[str, float] = json.loads(COSTS.read_text())
        order = ordered(list(by_module), self._order, seconds)
        items[:] = [item for module in order for item in by_module[module]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up set-up, call and taking down; with workers, in the process that leads them."""
        self._seconds[module_of(report.nodeid)] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the slowest modules, and keep all times where that is asked for."""
        slowest = sorted(self._seconds.items(), key=lambda entry: -entry[1])
        terminalreporter.write_sep("=", f"slowest {_SHOWN} modules")
        for module, seconds in slowest[:_SHOWN]:
            terminalreporter.write_line(f"{seconds:8.1f} s  {module}")
        if self._kept is not None:
            worth = {name: round(took) for name, took in slowest if took >= _WORTH_NOTING_SEC}
            self._kept.write_text(json.dumps(worth, indent=2) + "\n")
