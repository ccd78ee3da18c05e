"""Changes that mean the same as the code, with the reason, from equivalents.yaml."""

from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class Equivalent(BaseModel):
    """One change that no test can notice."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    function: str
    was: str
    became: str
    reason: str = Field(min_length=10)


_KEYED: Final = TypeAdapter(dict[str, Equivalent])


def read(file: Path) -> dict[str, Equivalent]:
    """Return the recorded changes by key, what `make mutants` prints before each change."""
    return _KEYED.validate_python(yaml.safe_load(file.read_text(encoding="utf-8")) or {})
