"""What holds for every test: no unrecorded skip, fast ones start nothing, modules have an order."""

import pytest

from tests.helpers.repository.fast_guard import FastGuard
from tests.helpers.repository.module_times import COSTS, ModuleTimes
from tests.helpers.repository.skip_guard import (
    pytest_make_collect_report,
    pytest_runtest_makereport,
)

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the order and the times of modules."""
    group = parser.getgroup("triplane")
    group.addoption(
        "--modules",
        default="longest",
        metavar="ORDER",
        help="order of test modules: longest (default), found, reversed, or a shuffle's number",
    )
    group.addoption(
        "--keep-times",
        action="store_true",
        help=f"write how long each module took to {COSTS.name}, which orders the next runs",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register what watches and orders the tests."""
    kept = COSTS if config.getoption("--keep-times") else None
    config.pluginmanager.register(ModuleTimes(str(config.getoption("--modules")), kept))
    config.pluginmanager.register(FastGuard())
