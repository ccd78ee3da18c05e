"""`make mutants` over a tree of six functions, each of whose changes has a known end."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.engine

ROOT: Final = Path(__file__).resolve().parents[2]
PRICE: Final = '''"""Prices."""

LIMIT = 10


def total(count: int, price: int) -> int:
    return count * price


def capped(amount: int) -> int:
    return min(amount, LIMIT)


def left(steps: int) -> int:
    while steps > 0:
        steps -= 1
    return steps


def least(amount: int) -> int:
    return amount if amount < 0 else 0


def unseen(amount: int) -> bool:
    return amount == 5
'''
TESTS: Final = """import pytest

from shop.price import capped, least, left, total

pytestmark = pytest.mark.pure


def test_prices():
    assert total(3, 4) == 12
    assert capped(40) == 10
    assert left(3) == 0
    assert least(-2) == -2
    assert least(3) == 0
"""
TABLE: Final = """
[tool.pytest.ini_options]
pythonpath = ["."]
markers = ["pure: p", "mocks: m"]
[tool.mutants]
sample = 60
minutes = 5
seconds_per_mutant = 20
equivalents = "equivalents.yaml"
callers = ["shop"]
[tool.mutants.packages.shop]
files = ["shop/*.py"]
tests = ["tests"]
"""


@pytest.fixture(scope="module", name="lines")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what a run over the small tree prints, without the diffs."""
    root = tmp_path_factory.mktemp("tree")
    for name, text in {
        "shop/price.py": PRICE,
        "tests/test_price.py": TESTS,
        "pyproject.toml": TABLE,
        "equivalents.yaml": "{}\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    command = [sys.executable, "-m", "benchmarks.mutants", "--root", str(root), "--seed", "3"]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (root / "shop/price.py").read_text() == PRICE, "the tree is never changed"
    return ended.stdout.splitlines()


def outcomes(lines: list[str], line: int) -> set[str]:
    """Return how the changes of a line of the small tree ended."""
    marked = [each for each in lines if f" shop/price.py:{line} " in each]
    return {each.split(" shop/")[0].strip() for each in marked if not each[0].isdigit()}


def test_changed_arithmetic_and_a_changed_constant_are_noticed(lines: list[str]) -> None:
    """The constant is read while the module is imported, the arithmetic is not."""
    assert outcomes(lines, 7) == {"killed"}
    assert outcomes(lines, 3) == {"killed"}


def test_a_loop_without_end_is_noticed(lines: list[str]) -> None:
    assert "timed out" in outcomes(lines, 16)


def test_what_no_test_calls_is_not_noticed(lines: list[str]) -> None:
    assert outcomes(lines, 25) == {"survived"}
    assert any("amount == 5" in each for each in lines), "the lines are shown"
