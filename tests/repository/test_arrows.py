"""The arrows of the design: who may import whom. Reads the source; imports nothing of it."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]

MAY_IMPORT: Final = {
    "models": {"models"},
    "catalog": {"models", "catalog"},
    "components/render": {"models", "components/render"},
    "components": {"models", "components/render", "components"},
    "policies": {"models", "catalog", "policies"},
    "cli": {"models", "catalog", "policies", "cli"},
    "sandbox": {"models", "catalog", "sandbox"},
    "__main__": {"models", "catalog", "components"},
}
"""Our packages that each package may import. Nothing may import `__main__` or `tests`."""

FORBIDDEN_IN_MODELS: Final = {"pulumi", "pulumi_kubernetes", "requests", "boto3", "os", "pathlib"}
OURS: Final = {"models", "catalog", "components", "policies", "cli", "sandbox", "tests", "__main__"}


def package_of(path: Path) -> str:
    """Return the package of the layout that a file belongs to."""
    relative = path.relative_to(ROOT)
    if relative.parts[:2] == ("components", "render"):
        return "components/render"
    return relative.parts[0].removesuffix(".py")


def modules_of(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrows"
            yield node.module or ""


def target_of(module: str) -> str:
    """Return the package of the layout that a dotted name belongs to."""
    if module == "components.render" or module.startswith("components.render."):
        return "components/render"
    return module.split(".")[0]


def sources() -> list[Path]:
    """Return every Python file of the product."""
    found = [ROOT / "__main__.py"]
    for package in ("models", "catalog", "components", "policies", "cli", "sandbox"):
        found += sorted((ROOT / package).rglob("*.py"))
    return found


def test_there_is_something_to_check() -> None:
    """A check over an empty list would pass."""
    assert len(sources()) > 40


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_what_its_package_may(path: Path) -> None:
    """The planes stay apart: policies do not know components, models know nobody."""
    package = package_of(path)
    for module in modules_of(path):
        target = target_of(module)
        if target in OURS:
            assert target in MAY_IMPORT[package], f"{package} may not import {module}"
        if package == "models":
            assert target not in FORBIDDEN_IN_MODELS, f"models is pure and imports {module}"
        if package == "components/render":
            assert module != "pulumi", "render is pure: no Output, no engine"


def test_the_program_stays_a_contents_page() -> None:
    """What grows beyond it belongs into a pure module."""
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 80
