"""Fixtures of the command's tests."""

import pytest

from tests.helpers.plans.dev import catalog


@pytest.fixture
def catalog_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the tools the catalog that is read already: the same data, without reading it anew."""
    for module in ("cli.commands.select", "cli.commands.place", "cli.commands.onboard"):
        monkeypatch.setattr(f"{module}.load", catalog)
