"""A test that is marked pure or mocks starts no process and no build: here it is held.

Python tells every start of a process to its audit hooks, whoever asks for it; `toolchain.ensure`
tells of itself too, since with every tool in the cache it starts nothing.
"""

import sys
from collections.abc import Generator
from typing import Final

import pytest

FAST: Final = ("pure", "mocks")
STARTS: Final = frozenset(
    {
        "subprocess.Popen",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "triplane.toolchain",
    }
)


class FastTestStartsSomethingError(AssertionError):
    """A fast test started a process, or asked for the toolchain."""


class FastGuard:
    """Refuses what a fast test or its fixtures would start.

    Taking fixtures down is not watched: what belongs to the module may go with its last test,
    whatever that one is marked.
    """

    def __init__(self) -> None:
        self._watched: str | None = None
        # A hook cannot be taken away again, so it does nothing while no fast test runs.
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._watched is not None and event in STARTS:
            what = f": {arguments[0]}" if arguments else ""
            raise FastTestStartsSomethingError(
                f"{self._watched} is marked pure or mocks, and such a test starts no process and "
                f"no build, but it did ({event}{what}): replace what starts it, or mark the test "
                "`process` or `engine`"
            )

    def _watch(self, item: pytest.Item) -> Generator[None, object, object]:
        if any(item.get_closest_marker(name) is not None for name in FAST):
            self._watched = item.nodeid
        try:
            return (yield)
        finally:
            self._watched = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch what the fixtures of a fast test start."""
        return (yield from self._watch(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch what a fast test starts itself."""
        return (yield from self._watch(item))
