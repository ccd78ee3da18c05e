"""The compliant stack, on which every broken fixture is built."""

import pytest

from tests.helpers.policies import compliant_stack

pytestmark = pytest.mark.pure


def test_a_compliant_stack_has_no_findings() -> None:
    """A rule that refuses what is right is switched off by the first who meets it."""
    assert [str(each) for each in compliant_stack.found(compliant_stack.compliant())] == []
