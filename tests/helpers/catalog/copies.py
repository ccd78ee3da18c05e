"""What the catalog's tests share: the real catalog, copies to break, and where sources lie."""

import shutil
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from catalog.loader import load
from models.core.findings import Finding
from models.core.problems import ProblemsError

ROOT: Final = Path(__file__).resolve().parents[3]
CATALOG: Final = ROOT / "catalog"
SHARED: Final = ROOT.parent / "shared"


def copied(to: Path) -> Path:
    """Return a copy of the catalog's data files, to be broken."""
    root = to / "catalog"
    shutil.copytree(CATALOG, root, ignore=shutil.ignore_patterns("__pycache__", "generate"))
    return root


def read_yaml(path: Path) -> dict[str, Any]:
    """Return a YAML file's data."""
    return cast("dict[str, Any]", yaml.safe_load(path.read_text()))


def write_yaml(path: Path, data: object) -> None:
    """Write data as YAML."""
    text: str = yaml.safe_dump(data)  # pyright: ignore[reportUnknownMemberType] - PyYAML's stub is partly untyped
    path.write_text(text)


def problems_of(root: Path) -> tuple[Finding, ...]:
    """Return what `load` says is wrong; fails where it says nothing."""
    with pytest.raises(ProblemsError) as caught:
        load(root)
    return caught.value.problems
