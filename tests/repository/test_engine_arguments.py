"""Engine arguments are listed in one table; what else lists several of them is named here."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from catalog.loader import load
from models.engine.arguments import ARGUMENTS, EngineArguments, ValueKind
from models.engine.profiles import EngineOverrides, EngineProfile
from models.memory.inputs.request import Resolved

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = (
    "models",
    "catalog",
    "components",
    "policies",
    "cli",
    "sandbox",
    "goldens",
    "benchmarks",
)
TABLE: Final = "models/engine/arguments.py"

LISTS: Final = {
    "models/engine/profiles.py": "what a stack may set, and the profiles' values",
    "models/memory/inputs/request.py": "arguments whose defaults the memory model fills in",
    "models/facts/golden.py": "what the oracle writes of the engine's own configuration",
    "goldens/oracle/answer.py": "what the oracle reads of the engine, in the engine's environment",
    "benchmarks/peers/goldens.py": "arguments as the shared record of engine answers calls them",
    "models/serving/chosen_arguments.py": "what rules decide, each by its own function",
}
"""Files that name several arguments in one class, call, dict or tuple, and what each lists."""

SEVERAL: Final = 4

ELSEWHERE: Final = ("cli/", "catalog/generate/")
"""Our commands' own options are called like the engine's; the generator reads the engine's source,
which the table is held against."""


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def files() -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file


def named(node: ast.AST) -> set[str]:
    """Return the arguments that a class, a call, a dict, a tuple or a function's head lists."""
    names: list[str | None] = []
    if isinstance(node, ast.ClassDef):
        fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
        names = [each.id for each in fields if isinstance(each, ast.Name)]
    elif isinstance(node, ast.Call):
        names = [each.arg for each in node.keywords]
    elif isinstance(node, ast.Dict):
        names = [text(each) for each in (*node.keys, *node.values)]
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        names = [text(each) for each in node.elts]
    elif isinstance(node, ast.FunctionDef):
        names = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
    meant = {str(name).removeprefix("--").replace("-", "_") for name in names if name}
    return meant & set(ARGUMENTS)


def text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_no_module_writes_an_option_that_the_table_has() -> None:
    """`--max-model-len` by hand does not follow when the argument gets another name."""
    options = {row.option for row in ARGUMENTS.values()}
    for name, file in files():
        if name.startswith(ELSEWHERE):
            continue
        written = {each for node in ast.walk(tree(file)) if (each := text(node)) in options}
        assert not written, f"{name} writes {sorted(map(str, written))}: name the argument"


def test_arguments_are_listed_in_the_table_and_where_it_is_said_why() -> None:
    lists = {
        name
        for name, file in files()
        if name != TABLE
        and not name.startswith(ELSEWHERE)
        and any(len(named(node)) >= SEVERAL for node in ast.walk(tree(file)))
    }
    assert lists == set(LISTS), "derive it from models/engine/arguments.py"


@pytest.mark.parametrize("model", [EngineProfile, EngineOverrides, Resolved])
def test_a_part_of_the_arguments_has_their_names(model: type[EngineProfile]) -> None:
    assert set(model.model_fields) - {"extra_args"} <= set(ARGUMENTS)


KINDS: Final = {
    ValueKind.COUNT: {"int", "human_readable_int", "human_readable_int_or_auto", "_optional_type"},
    ValueKind.NUMBER: {"float"},
    ValueKind.TEXT: {"str", "_optional_type", "json"},
    ValueKind.SWITCH: {"bool"},
}
"""The words of the engine's parser for each kind of value, as contracts have them."""


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_an_option_of_the_newest_release_of_its_kind(name: str) -> None:
    argument = ARGUMENTS[name]
    contract = list(load().engines.values())[-1]
    if argument.inside is not None:
        assert contract.flag("--" + argument.inside.replace("_", "-")) is not None
        return
    flag = contract.flag(argument.option)
    assert flag is not None
    assert flag.names[0] == argument.option
    assert flag.type in KINDS[argument.kind]
    assert (flag.arity == 0) is (argument.kind is ValueKind.SWITCH)


def test_no_name_of_an_argument_is_another_arguments() -> None:
    for names in (
        [row.case for row in ARGUMENTS.values()],
        [row.stored for row in ARGUMENTS.values()],
        [row.option for row in ARGUMENTS.values()],
    ):
        assert len(names) == len(set(names)) == len(EngineArguments.model_fields)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_read_by_a_module_of_the_models(name: str) -> None:
    """One that nothing reads is taken from a command line and changes no answer."""
    read = {
        file
        for file, path in files()
        if file.startswith("models/") and file != TABLE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr == name
    }
    assert read
