"""Reads YAML and JSON files into models and collects what is wrong instead of raising at the first.

YAML lets two things pass that we do not: a key given twice (the second would win silently) and
numbers that are not finite.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from models.core.base import Model
from models.core.findings import Finding
from models.core.problems import ProblemsError, from_validation, shown

_M = TypeVar("_M", bound=Model)


class Reader:
    """Reads files under one folder; `finish` raises every problem found so far."""

    def __init__(
        self,
        root: Path,
        files: Mapping[str, bytes] | None = None,
        parsed: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Read under `root`; names given to the methods are relative to it.

        `files` hold what was read from the disk before. `parsed` are the data of YAML files that
        were found good before: nothing is wrong with the folder then.
        """
        self.root = root
        self.found_good = parsed is not None
        self._files = files or {}
        self._parsed = dict(parsed or {})
        self.problems: list[Finding] = []

    def finish(self, what: str) -> None:
        """Raise `ProblemsError` for `what` if anything was found."""
        if self.problems:
            raise ProblemsError(what, self.problems)

    def problem(
        self,
        path: str,
        message: str,
        *,
        value: str | None = None,
        allowed: str | None = None,
        remedy: str = "",
    ) -> None:
        """Note one problem."""
        self.problems.append(
            Finding(path=path, message=message, value=value, allowed=allowed, remedy=remedy)
        )

    def model(self, name: str, of: type[_M]) -> _M | None:
        """Return a YAML file as a model, or None with the reasons noted."""
        data = self.yaml_file(name)
        return None if data is None else self.validated(name, data, of)

    def validated(self, name: str, data: JsonValue, of: type[_M]) -> _M | None:
        """Return data that was read from the file `name` as a model, or None."""
        try:
            return of.model_validate_json(json.dumps(data, allow_nan=False))
        except ValueError as error:
            if not isinstance(error, ValidationError):
                self.problem(name, "a number is not finite", remedy="write a number")
                return None
            self.problems.extend(
                replace(problem, path=f"{name}: {problem.path}")
                for problem in from_validation(error)
            )
            return None

    def yaml_file(self, name: str) -> JsonValue:
        """Return the data of a YAML file, or None with the reasons noted."""
        if name in self._parsed:
            return self._parsed[name]
        text = self._text(name)
        if text is None:
            return None
        from catalog.readers.yaml_text import parse_yaml

        try:
            data, twice = parse_yaml(text)
        except ValueError as error:
            self.problem(name, f"not YAML: {error}")
            return None
        if data is None:
            self.problem(name, "the file is empty")
        for path in twice:
            self.problem(f"{name}: {path}", "the key is given twice", remedy="keep one of them")
        self._parsed[name] = data
        return data

    def json_file(self, name: str) -> dict[str, JsonValue] | None:
        """Return the data of a JSON file that holds an object, or None with the reasons noted."""
        text = self._text(name)
        if text is None:
            return None
        try:
            data: JsonValue = json.loads(text, parse_constant=_not_json)
        except ValueError as error:
            self.problem(name, f"not JSON: {error}", remedy="write valid JSON")
            return None
        if not isinstance(data, dict):
            self.problem(name, "the file must hold an object", value=shown(data))
            return None
        return data

    def same_name(self, name: str, key: str, value: str) -> None:
        """Note a problem when the name in a file is not the file's own."""
        stem = Path(name).name.removesuffix(".yaml")
        if value != stem:
            self.problem(
                f"{name}: {key}",
                "must be the file's name",
                value=shown(value),
                allowed=shown(stem),
                remedy="rename the file or correct the key",
            )

    def _text(self, name: str) -> str | None:
        try:
            content = self._files.get(name)
            if content is not None:
                return content.decode("utf-8")
            return (self.root / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            self.problem(name, "the file is missing", remedy="add it: see docs/catalog.md")
        except (OSError, UnicodeDecodeError) as error:
            self.problem(name, f"the file cannot be read: {error}")
        return None


def _not_json(text: str) -> JsonValue:
    """Refuse `Infinity` and `NaN`, which Python reads and writes although JSON has neither."""
    raise ValueError(f"{text} is not a JSON value")
