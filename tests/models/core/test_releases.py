"""Releases compared as numbers."""

import pytest

from models.core.releases import newest, numbers

pytestmark = pytest.mark.pure


def test_ten_comes_after_nine() -> None:
    """As text 0.9 is newer than 0.33."""
    assert newest(["0.9.2", "0.33.0", "0.24.0"]) == "0.33.0"
    assert numbers("0.33.0") == (0, 33, 0)


@pytest.mark.parametrize("text", ["", "latest", "0.33.0rc1", "v0.33"])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        numbers(text)
