"""Fast tests start nothing, and modules run in the order that is asked for."""

import json
import os
import subprocess
import sys

import pytest

from sandbox import toolchain
from tests.helpers.repository.fast_guard import FastTestStartsSomethingError
from tests.helpers.repository.module_times import COSTS, ordered

pytestmark = pytest.mark.pure

SECONDS = {"slow": 90.0, "slower": 200.0}


def test_a_process_is_refused_in_a_fast_test() -> None:
    """However it is started: the mark is what `make check` promises on a fresh clone."""
    name = "test_a_process_is_refused_in_a_fast_test is marked pure or mocks"
    with pytest.raises(FastTestStartsSomethingError, match=name):
        subprocess.run([sys.executable, "-c", ""], check=False)
    with pytest.raises(FastTestStartsSomethingError, match=r"os\.posix_spawn"):
        os.posix_spawn("/bin/true", ["true"], {})


def test_the_toolchain_is_refused_in_a_fast_test() -> None:
    """Also where every tool is in the cache: elsewhere the same test would build for minutes."""
    with pytest.raises(FastTestStartsSomethingError, match=r"triplane\.toolchain"):
        toolchain.ensure()


@pytest.fixture
def started() -> str:
    """Say what a fixture meets that starts a process."""
    with pytest.raises(FastTestStartsSomethingError) as refused:
        subprocess.run([sys.executable, "-c", ""], check=False)
    return str(refused.value)


def test_a_fixture_of_a_fast_test_is_watched_too(started: str) -> None:
    assert "mark the test `process` or `engine`" in started


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("found", ["quick", "slow", "slower", "new"]),
        ("reversed", ["new", "slower", "slow", "quick"]),
        ("longest", ["slower", "slow", "quick", "new"]),
    ],
)
def test_modules_go_in_the_order_asked_for(order: str, expected: list[str]) -> None:
    """The longest first by default: begun last, one of them would keep a core idle to its end."""
    assert ordered(["quick", "slow", "slower", "new"], order, SECONDS) == expected


def test_a_shuffle_is_the_same_for_the_same_number() -> None:
    """Workers must agree on the order, and a failure must be found again."""
    modules = [f"module-{index}" for index in range(20)]
    first = ordered(modules, "7", {})
    assert first == ordered(list(reversed(modules)), "7", {})
    assert first != ordered(modules, "8", {})
    assert sorted(first) == sorted(modules)


def test_another_word_is_no_order() -> None:
    with pytest.raises(pytest.UsageError, match="'slowest': longest, found, reversed"):
        ordered([], "slowest", {})


def test_the_times_are_kept_for_modules_that_exist() -> None:
    """A renamed module would start last and nobody would notice."""
    root = COSTS.parents[3]
    assert [name for name in json.loads(COSTS.read_text()) if not (root / name).exists()] == []
