"""The compliant stack, on which every broken fixture is built."""

import policies_lab as lab
import pytest

pytestmark = pytest.mark.pure


def test_a_compliant_stack_has_no_findings() -> None:
    """A rule that refuses what is right is switched off by the first who meets it."""
    assert [str(each) for each in lab.found(lab.compliant())] == []
