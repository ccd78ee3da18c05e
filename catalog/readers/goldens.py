"""Reads `catalog/goldens/<version>/<model>.json` into the types of `models/facts/golden.py`.

A file is read when its model is asked for, since most callers need none or one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from models.core.findings import Finding
from models.core.problems import ProblemsError, from_validation
from models.facts.golden import Goldens, ModelGoldens

_HERE: Final = Path(__file__).parents[1] / "goldens"


def load_goldens(version: str, root: Path | None = None) -> Goldens:
    """Return the goldens of an engine release; empty where the catalog has none.

    Raises `ProblemsError` when a model's file is asked for that cannot be read.
    """
    return Goldens(version=version, models=_Files((root or _HERE) / version))


class _Files(Mapping[str, ModelGoldens]):
    """The files of one folder by stem, each read once, when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, ModelGoldens] = {}

    def __getitem__(self, name: str) -> ModelGoldens:
        if name not in self._read:
            path = self._folder / f"{name}.json"
            if not path.is_file():
                raise KeyError(name)
            self._read[name] = _read(path)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(path.stem for path in self._folder.glob("*.json")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _read(path: Path) -> ModelGoldens:
    name = f"goldens/{path.parent.name}/{path.name}"
    try:
        return ModelGoldens.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        problems = [
            Finding(path=f"{name}: {problem.path}", message=problem.message)
            for problem in from_validation(error)
        ]
        raise ProblemsError("goldens", problems) from error
