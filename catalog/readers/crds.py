"""Reads `catalog/crds.lock`: which custom resource definitions are pinned, and what they serve."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from models.core.findings import Finding
from models.core.problems import ProblemsError, from_validation
from models.facts.crds import Definition, Definitions, ServedVersion

_HERE: Final = Path(__file__).parents[1]
_SET: Final = re.compile(r"(-\d+(\.\d+)*|-standard|-experimental)$")
"""What a set's name has after its component's."""


class _Version(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    served: bool


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    file: str
    group: str
    kind: str
    ref: str
    versions: tuple[_Version, ...]


class _Lock(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    crds: tuple[_Row, ...]


def load_definitions(root: Path | None = None) -> Definitions:
    """Return the pinned definitions. Raises `ProblemsError` where the lock cannot be read."""
    path = (root or _HERE) / "crds.lock"
    try:
        lock = _Lock.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise ProblemsError("crds.lock", from_validation(error)) from None
    except (OSError, ValueError) as error:
        problem = Finding(path="crds.lock", message=f"cannot be read: {error}")
        raise ProblemsError("crds.lock", [problem]) from None
    return Definitions.of(_definitions(lock))


def _definitions(lock: _Lock) -> Iterator[Definition]:
    for row in lock.crds:
        yield Definition(
            component=_SET.sub("", row.file.partition("/")[0]),
            release=row.ref.removeprefix("v"),
            group=row.group,
            kind=row.kind,
            versions=tuple(ServedVersion(name=v.name, served=v.served) for v in row.versions),
        )
