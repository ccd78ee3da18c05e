"""Every suppressed finding carries its reason on the line, names what it suppresses, or goes away.

Comments are found by the tokenizer, so that a text which only speaks of them counts as text.
"""

import re
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
SKIPPED: Final = {".venv", ".git", "build", ".hypothesis", ".pytest_cache", ".ruff_cache"}

SUPPRESSES: Final = re.compile(
    r"#\s*(?:(?:ruff|flake8)\s*:\s*)?(?:noqa\b|type\s*:\s*ignore\b|(?:based)?pyright\s*:"
    r"|mypy\s*:|pragma\s*:|nosec\b|pylint\s*:|isort\s*:|fmt\s*:|yapf\s*:|ruff\s*:|checkov\s*:)",
    re.IGNORECASE,
)
"""How a comment begins that keeps some tool from saying something."""

WITH_REASON: Final = re.compile(
    r"# (?:"
    r"noqa: [A-Z]+\d+(?:, [A-Z]+\d+)* - "
    r"|pyright: ignore\[\w+(?:, \w+)*\] - "
    r"|fmt: skip  # "
    r")(?P<reason>\S.*)"
)
"""The forms that are allowed: what is suppressed by its name, and why. No file as a whole."""


def faults(source: str) -> list[str]:
    """Return the comments of a Python source that suppress without name or reason."""
    if SUPPRESSES.search(source) is None:
        return []  # the tokenizer takes its time
    return [
        f"{token.start[0]}: {token.string}"
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type == tokenize.COMMENT
        and SUPPRESSES.search(token.string)
        and not _is_reasoned(token.string)
    ]


def _is_reasoned(comment: str) -> bool:
    match = WITH_REASON.fullmatch(comment)
    return match is not None and len(match["reason"].split()) > 1


def sources() -> list[Path]:
    """Return the Python files of the tree."""
    return [
        path
        for path in sorted(ROOT.rglob("*.py"))
        if not SKIPPED & set(path.relative_to(ROOT).parts)
    ]


def test_every_suppression_in_code_carries_its_reason() -> None:
    """Without one nobody can tell whether it is still needed."""
    files = sources()
    assert len(files) > 400
    texts = {path: path.read_text() for path in files}
    found = {str(path.relative_to(ROOT)): faults(text) for path, text in texts.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert sum(SUPPRESSES.search(text) is not None for text in texts.values()) > 10


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E402",
        "#noqa:E402",
        "# NOQA: E402 - late",
        "# noqa: E402 after the path",
        "# noqa: E402 -",
        "# type: ignore",
        "# type: ignore[arg-type] - it is known",
        "# pyright: ignore - it is known",
        "# pyright: ignore[reportAny]",
        "# pyright: basic",
        "# basedpyright: ignore[reportAny] - it is known",
        "# mypy: ignore-errors",
        "# pragma: no cover",
        "# nosec B101",
        "# ruff: noqa",
        "# ruff: noqa: E501 - long tables",
        "# fmt: off",
        "# fmt: skip",
        "# pylint: disable=all",
        "# a table  # fmt: skip",
    ],
)
def test_a_suppression_without_name_or_reason_is_found(comment: str) -> None:
    """Blanket ones, other tools' and whole files' are not allowed at all."""
    assert faults(f"value = 1  {comment}\n") == [f"1: {comment}"]


@pytest.mark.parametrize(
    "line",
    [
        "value = 1  # noqa: E402 - after the signal handlers",
        "value = 1  # noqa: PTH123, SIM115 - the process ends with it",
        "value = 1  # pyright: ignore[reportAny, reportCallIssue] - a stub is missing",
        "value = 1  # fmt: skip  # rows of a table",
        'value = "# noqa"',
        "'''\n# type: ignore\n'''",
        "# typed by hand, which no pragma asks for",
    ],
)
def test_a_reason_beside_a_name_is_accepted(line: str) -> None:
    """And a text that only speaks of such comments is none."""
    assert faults(f"{line}\n") == []


def _ignored(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the linter's, the type checker's and pytest's settings keep from being said."""
    tool = settings["tool"]
    lint = tool["ruff"]["lint"]
    yield from lint.get("ignore", [])
    yield from (code for codes in lint.get("per-file-ignores", {}).values() for code in codes)
    yield from tool["pytest"]["ini_options"].get("filterwarnings", [])
    yield from (name for name in tool["basedpyright"] if name.startswith(("report", "ignore")))


def unreasoned(text: str) -> list[str]:
    """Return the entries of pyproject's ignore lists that stand without a comment."""
    lines = text.splitlines()
    entries = list(_ignored(tomllib.loads(text)))
    assert entries, "the settings have moved"
    return [
        entry
        for entry in dict.fromkeys(entries)
        if not all(
            "#" in line.replace(entry, "") or lines[index - 1].lstrip().startswith("#")
            for index, line in enumerate(lines)
            if (f'"{entry}"' in line and not line.startswith("select"))
            or line.startswith(f"{entry} =")
        )
    ]


def test_every_ignored_code_of_the_settings_carries_its_reason() -> None:
    """A list without reasons grows."""
    assert unreasoned((ROOT / "pyproject.toml").read_text()) == []


def test_an_ignored_code_without_a_comment_is_found() -> None:
    """Beside the code or above it; a comment elsewhere is none of it."""
    text = """
[tool.ruff.lint]
ignore = [
    "E1",  # since
    "E2",
]
[tool.ruff.lint.per-file-ignores]
"tests/**" = ["E3"]
[tool.basedpyright]
reportAny = false
[tool.pytest.ini_options]
# The SDK's own.
filterwarnings = ["ignore::UserWarning"]
"""
    assert unreasoned(text) == ["E2", "E3", "reportAny"]


def test_every_failed_check_of_checkov_carries_its_reason() -> None:
    """The engine tests refuse a check that does not stand there."""
    reasons: Any = yaml.safe_load((ROOT / "tests/engine/checkov_reasons.yaml").read_text())
    assert reasons
    assert [name for name, reason in reasons.items() if len(str(reason).split()) < 5] == []
