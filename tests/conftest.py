"""The order of test modules: those that wait first, so that those that compute fill the gaps."""

import os

import pytest

_MOST_WORKERS = 4


def pytest_xdist_auto_num_workers() -> int:
    """One more worker than cores: a test of the engine waits for about half of its time."""
    return min(_MOST_WORKERS, (os.cpu_count() or 1) + 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put modules with tests of the engine first; a module stays together and in its order."""
    slow = {item.path for item in items if item.get_closest_marker("engine")}
    items.sort(key=lambda item: item.path not in slow)
