"""What code and documents refer to is in the tree, or public: nobody else has our notes.

Data that tests and benchmarks read from the folder beside the clone is no reference:
docs/sources.md says what it is. Outside the tests the places that look it up or name it are listed.
"""

import functools
import os
import re
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
THIS: Final = Path(__file__).relative_to(ROOT)
PAGE: Final = "docs/sources.md"
UNREAD: Final = {".venv", ".git", "build", "__pycache__", "node_modules"}
SUFFIXES: Final = {".py", ".md", ".yaml", ".yml", ".toml", ".tsv", ".sh", ".go"}

NOTES: Final = re.compile(
    r"(?<![\w/])facts/[\w.-]+\.(?:md|tsv|txt|json)\b|\bvram-notes\b|\bengine-goldens\.md\b"
    r"|\bupstream\.md\b|\bhouse-style\b|\bdesign\.md\b|\b[Dd]esign sections?\s+\d"
)
"""Notes and documents of whoever wrote the project."""

FOLDER: Final = re.compile(
    r"\bshared/(?:data|facts|hooks|seeds|\w+\.md)\b|\.\./shared\b|/ \"shared\""
    r"|\bdata/(?:vram_cases|model_configs|engine_configs|engine_goldens|sample-crs|tables/|crds\b)"
)
"""The folder of data beside the clone."""

LOOK_UPS: Final = {
    PAGE: "the page that says what the folder holds and what happens without it",
    "catalog/readers/chart_values.py": "reads upstream's default values of charts, where they are",
    "sandbox/crds/sources.py": "the first of the three places that a definition is read from",
    "benchmarks/shared/memory_cases.py": "reads the runs that the memory model is measured on",
    "benchmarks/peers/questions.py": "its error says where the runs belong",
    "docs/coverage.md": "repeats the reasons of skips, one of which names the folder",
}


@functools.cache
def texts() -> dict[str, str]:
    """Return what people wrote, by path, without what commands write into the tree."""
    found: dict[str, str] = {}
    for top, folders, names in os.walk(ROOT):
        folders[:] = sorted(set(folders) - UNREAD)
        for path in (Path(top) / name for name in sorted(names)):
            place = path.relative_to(ROOT)
            if place != THIS and (path.suffix in SUFFIXES or path.name == "Makefile"):
                found[place.as_posix()] = path.read_text(errors="replace")
    return found


def references(found: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    """Return file, line and words of every match."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)}"
        for name, text in found.items()
        for match in pattern.finditer(text)
    ]


def test_nothing_refers_to_notes_outside_the_tree() -> None:
    """A reason that only its writer can look up is none."""
    found = texts()
    assert len(found) > 700
    assert references(found, NOTES) == []


def test_the_folder_of_data_is_named_where_it_is_looked_up_only() -> None:
    found = {name: text for name, text in texts().items() if not name.startswith("tests/")}
    users = {name for name, text in found.items() if FOLDER.search(text)}
    others = {name: text for name, text in found.items() if name not in LOOK_UPS}
    assert references(others, FOLDER) == [], f"cite upstream, or {PAGE}"
    assert users == set(LOOK_UPS), "no longer looked up: take it off the list"


@pytest.mark.parametrize(
    "line",
    [
        "source: shared/facts/upstream.md sections 1 and 2",
        "Sources: `facts/vram-notes.md` section 4",
        '"""Built in waves (design section 5)."""',
        "in the order of Design section 10",
        "versions were chosen (shared/design.md",
        "rounded up (`facts/engine-goldens.md`)",
    ],
)
def test_a_note_is_seen(line: str) -> None:
    assert NOTES.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "Revision: shared/data/tables/revisions.tsv (high)",
        "the first of: `../shared/data/crds`",
        'DATA = ROOT.parent / "shared" / "data"',
        "fitted on `data/vram_cases.jsonl`",
        "source: data/model_configs.json",
    ],
)
def test_the_folder_is_seen(line: str) -> None:
    assert FOLDER.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "`models/facts/accelerators.py` has the types",
        "docs/goldens.md, docs/memory-model.md",
        "secrets: {prefix: shared/, aws_region: eu-west-1}",
        "a designed section 5",
    ],
)
def test_what_is_in_the_tree_is_no_such_reference(line: str) -> None:
    assert not NOTES.search(line)
    assert not FOLDER.search(line)


def test_every_section_of_the_page_that_is_cited_exists() -> None:
    headings = re.findall(r"^#+ (.+)$", (ROOT / PAGE).read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
    cited = {
        (name, anchor)
        for name, text in texts().items()
        for anchor in re.findall(r"sources\.md#([\w-]+)", text)
    }
    assert len({anchor for _, anchor in cited}) > 5
    assert sorted(each for each in cited if each[1] not in anchors) == []
