"""A test that is skipped for a reason that `tests/skips.yaml` does not name has failed."""

from collections.abc import Generator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

TESTS: Final = Path(__file__).resolve().parents[2]
SHARED: Final = TESTS.parents[1] / "shared" / "data"


@dataclass(frozen=True, kw_only=True, slots=True)
class AllowedSkip:
    """One reason, whether it may be given beside the shared data, and why it is a good one."""

    reason: str
    always: bool
    why: str


def allowed_skips() -> tuple[AllowedSkip, ...]:
    """Return what may be skipped."""
    return tuple(AllowedSkip(**row) for row in yaml.safe_load((TESTS / "skips.yaml").read_text()))


def may_skip(reason: str, *, beside_shared: bool) -> bool:
    """Tell whether a test may be skipped for a reason."""
    return any(
        fnmatchcase(reason, each.reason)
        for each in allowed_skips()
        if each.always or not beside_shared
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Turn a skip for a reason that is not allowed into a failure."""
    report = yield
    return _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Do the same where a whole module is skipped."""
    report = yield
    return _judged(report)


def _judged(report: Any) -> Any:
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        told = report.longrepr
        reason = str(
            cast("tuple[Any, ...]", told)[2] if isinstance(told, tuple) else told
        ).removeprefix("Skipped: ")
        if not may_skip(reason, beside_shared=SHARED.is_dir()):
            report.outcome = "failed"
            report.longrepr = f"skipped for a reason that tests/skips.yaml does not name: {reason}"
    return report
