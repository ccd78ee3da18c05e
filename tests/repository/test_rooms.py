"""The folders of the tree: each has its line in CONTRIBUTING.md, and none is a heap."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
TOPS: Final = (
    "models",
    "catalog",
    "components",
    "policies",
    "cli",
    "sandbox",
    "goldens",
    "benchmarks",
    "examples",
    "tests",
)
SIBLINGS_MAX: Final = 15
"""More in one folder, and a reader looks for a file instead of seeing it."""


@cache
def folders() -> tuple[Path, ...]:
    """Return every folder that holds Python, and those above it."""
    found: set[Path] = set()
    for top in TOPS:
        for file in (ROOT / top).rglob("*.py"):
            inside = file.relative_to(ROOT).parents
            found |= {folder for folder in inside if folder != Path()}
    return tuple(sorted(found))


def siblings(folder: Path) -> list[str]:
    """Return the modules and the folders of Python that lie side by side in a folder."""
    files = [path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py"]
    return sorted(files + [path.name for path in folders() if path.parent == folder])


def test_there_is_something_to_check() -> None:
    assert len(folders()) > 80
    assert "settings.py" in siblings(Path("models/settings"))


@pytest.mark.parametrize("folder", folders(), ids=str)
def test_a_folder_is_small_enough_to_be_seen(folder: Path) -> None:
    """It is cut into rooms, with arrows of their own, before it is a heap."""
    assert len(siblings(folder)) <= SIBLINGS_MAX, siblings(folder)


@pytest.mark.parametrize("folder", folders(), ids=str)
def test_a_package_says_in_one_line_what_lives_there(folder: Path) -> None:
    init = ROOT / folder / "__init__.py"
    if not init.exists():
        assert folder.parts[0] in ("tests", "examples"), f"{folder} is no package"
        assert not folder.is_relative_to("tests/helpers"), f"{folder} is no package"
        return
    said = ast.get_docstring(ast.parse(init.read_text())) or ""
    assert said.splitlines()[:1], f"{init} does not say what lives there"


def test_the_map_shows_every_folder() -> None:
    """CONTRIBUTING.md is where a newcomer looks first."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    shown = re.findall(r"^    ([\w/.-]+)/ {2,}\S", text, re.MULTILINE)
    assert sorted(set(shown)) == sorted(shown)
    missing = {str(folder) for folder in folders()} - set(shown)
    assert not missing, f"CONTRIBUTING.md does not show {sorted(missing)}"
    gone = [name for name in shown if not (ROOT / name).is_dir()]
    assert not gone, f"CONTRIBUTING.md shows {gone}, which are not there"
