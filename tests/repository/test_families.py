"""A family of models is one record: what holds for it only stands in its room, nowhere else."""

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from models.architecture.families.registry import FAMILIES, MULTIMODAL, OF_CLASS, by_name
from models.architecture.families.towers import TOWERS

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
ROOM: Final = "models/architecture/families"

WORDS_TOO: Final = frozenset({"mamba", "mamba2"})
"""Types that are also names of something else: a section of a summary, kinds of layers."""

NAMES: Final = (frozenset(FAMILIES) | set(MULTIMODAL) | set(OF_CLASS) | set(TOWERS)) - WORDS_TOO


@cache
def sources() -> tuple[Path, ...]:
    """Return the modules of the models outside the families' room."""
    found = (path.relative_to(ROOT) for path in sorted((ROOT / "models").rglob("*.py")))
    return tuple(path for path in found if not path.is_relative_to(ROOM))


def is_model_type(node: ast.expr) -> bool:
    """Tell whether an expression is a model's type: a name, an attribute, a field read."""
    if isinstance(node, ast.Name):
        return node.id == "model_type"
    if isinstance(node, ast.Attribute):
        return node.attr == "model_type"
    if isinstance(node, ast.BoolOp):
        return any(is_model_type(value) for value in node.values)
    asked = node.args if isinstance(node, ast.Call) else ()
    if isinstance(node, ast.Subscript):
        asked = (node.slice,)
    return any(isinstance(each, ast.Constant) and each.value == "model_type" for each in asked)


def branches(text: str) -> list[int]:
    """Return the lines that compare a model's type."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and any(is_model_type(each) for each in (node.left, *node.comparators))
    ]


def names_in(text: str) -> list[str]:
    """Return the families' names that stand in code as texts of their own."""
    return [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES
    ]


@pytest.mark.parametrize("path", sources(), ids=str)
def test_what_holds_for_one_family_is_in_its_record(path: Path) -> None:
    """A branch elsewhere is what nobody finds who adds a family like it."""
    text = (ROOT / path).read_text()
    assert branches(text) == [], f"{path} compares a model type: ask the record, in {ROOM}"
    assert names_in(text) == [], f"{path} names a family: ask the record, in {ROOM}"


@pytest.mark.parametrize(
    "line",
    [
        "found.model_type == 'a'",
        "model_type in ('a', 'b')",
        "'a' != fields.text('model_type')",
        "(outer.text('model_type') or '') in ('a', 'b')",
        "config['model_type'] not in table",
    ],
)
def test_a_branch_is_found(line: str) -> None:
    """The search itself."""
    assert branches(f"flag = {line}") == [1]


def test_a_name_is_found_and_a_mention_is_not() -> None:
    assert names_in('TABLE = {"gpt_oss": 1}') == ["gpt_oss"]
    assert names_in('"""What gpt_oss does."""') == []


def test_two_records_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two model families are called llama"):
        by_name([("llama", 1), ("qwen2", 2), ("llama", 3)])


def test_a_file_of_records_is_collected() -> None:
    """A module whose records the registry does not list would be known to nobody."""
    written = {
        str(keyword.value.value)
        for path in sorted((ROOT / ROOM).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ModelFamily"
        for keyword in node.keywords
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant)
    }
    assert written == set(FAMILIES)
    assert len(written) > 90
