"""docs/readiness.md and the code name the same stand-ins."""

import re

import pytest

from sandbox.core.paths import PROJECT_ROOT
from sandbox.operators.standins.registry import STANDIN_KINDS

pytestmark = pytest.mark.pure

ROW = re.compile(r"^\| (?P<kinds>[^|]+) \| (?P<who>[^|]+) \| (?P<what>[^|]+) \|$", re.MULTILINE)


def test_the_table_names_exactly_the_kinds_that_have_a_stand_in() -> None:
    """A reader must be able to trust it when it says that a condition was checked."""
    text = (PROJECT_ROOT / "docs" / "readiness.md").read_text()
    rows = [(row["kinds"], row["who"].strip()) for row in ROW.finditer(text)]
    named = [kind.strip() for kinds, who in rows if who == "stand-in" for kind in kinds.split(",")]
    assert sorted(named) == sorted(STANDIN_KINDS)


def test_no_kind_stands_in_two_rows() -> None:
    """Two answers to one question are none."""
    text = (PROJECT_ROOT / "docs" / "readiness.md").read_text()
    kinds = [kind.strip() for row in ROW.finditer(text) for kind in row["kinds"].split(",")]
    assert len(kinds) == len(set(kinds))
