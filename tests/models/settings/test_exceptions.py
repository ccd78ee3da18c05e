"""Recorded exceptions hold to the end of their last day, for one rule and one object."""

import datetime
from dataclasses import replace

import pytest

from models.core.findings import Finding
from models.settings.exceptions import RecordedException, excused, expired

pytestmark = pytest.mark.pure

LAST = datetime.date(2026, 11, 29)
DAY = datetime.timedelta(days=1)
EXCEPTION = RecordedException(
    rule="plan-margin",
    object="west/llama",
    reason="measured on this very card",
    owner="platform-ml",
    expires=LAST,
)
PROBLEM = Finding(path="models[0]", rule="plan-margin", subject="west/llama", message="m")


@pytest.mark.parametrize(
    ("today", "holds"), [(LAST - DAY, True), (LAST, True), (LAST + DAY, False)]
)
def test_an_exception_holds_on_its_last_day_and_not_on_the_next(
    today: datetime.date, holds: bool
) -> None:
    standing, waived = excused([PROBLEM], [EXCEPTION], today)
    assert (standing, waived) == (([], [PROBLEM]) if holds else ([PROBLEM], []))
    assert bool(expired([EXCEPTION], today, "exceptions")) is not holds


@pytest.mark.parametrize(
    "other",
    [
        replace(PROBLEM, rule="plan-memory"),
        replace(PROBLEM, subject="west/other"),
        replace(PROBLEM, rule=""),
    ],
)
def test_an_exception_excuses_its_own_rule_and_object_only(other: Finding) -> None:
    assert excused([other], [EXCEPTION], LAST) == ([other], [])


def test_an_expired_exception_names_its_place_and_its_day() -> None:
    later = EXCEPTION.model_copy(update={"expires": LAST + DAY})
    (problem,) = expired([later, EXCEPTION], LAST + DAY, "exceptions")
    assert problem.path == "exceptions[1]"
    assert problem.value == "2026-11-29"
