"""The packages that are mutated and the bounds of a run: `[tool.mutants]` in pyproject.toml."""

import tomllib
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, PositiveInt

ROOT: Final = Path(__file__).resolve().parents[2]


class SettingsError(Exception):
    """The table is missing or names nothing; the text says which."""


class Package(BaseModel):
    """What is mutated together, and the tests that may notice it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    files: tuple[str, ...]
    """Files or folders; `*` stands for any part of a name."""
    tests: tuple[str, ...]
    """Files or folders; tests elsewhere do not count, which can only lower the figure."""


class MutantSettings(BaseModel):
    """What is mutated, and for how long one change may be looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    sample: PositiveInt
    minutes: PositiveInt
    seconds_per_mutant: PositiveInt
    """Processor time for one change's tests; a change not noticed by then counts as not noticed."""
    equivalents: str
    """The file of changes that mean the same."""
    callers: tuple[str, ...]
    """Folders whose functions tell which tests use a constant."""
    packages: dict[str, Package]

    def files(self, package: str, root: Path) -> tuple[Path, ...]:
        """Return the files of a package, sorted.

        Raises:
            SettingsError: where a pattern names no file: a renamed folder must not go unseen.

        """
        files: set[Path] = set()
        for pattern in self.packages[package].files:
            named = {path for path in root.glob(pattern) if path.suffix == ".py"}
            for folder in (path for path in root.glob(pattern) if path.is_dir()):
                named |= set(folder.rglob("*.py"))
            if not named:
                raise SettingsError(f"[tool.mutants] {package}: {pattern} names no Python file")
            files |= named
        return tuple(sorted(files))


def read(root: Path = ROOT) -> MutantSettings:
    """Return the table `[tool.mutants]` of a tree's pyproject.toml.

    Raises:
        SettingsError: where the file has no such table.

    """
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text).get("tool", {}).get("mutants")
    if table is None:
        raise SettingsError("pyproject.toml has no table [tool.mutants]")
    return MutantSettings.model_validate(table, strict=False)
