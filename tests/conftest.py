"""What holds for every test: nothing is skipped for a reason that is not on record."""

from skip_guard import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]
