"""Fixtures of the command's tests."""

import pytest
from plans import catalogue


@pytest.fixture
def catalogue_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the tools the catalogue that is read already: the same data, without reading it anew."""
    for module in ("cli.select", "cli.place", "cli.onboard"):
        monkeypatch.setattr(f"{module}.load", catalogue)
