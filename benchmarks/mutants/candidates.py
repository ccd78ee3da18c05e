"""Every change that the operators can make to a file, and a random sample of them.

A place counts once however many changes it allows (cosmic-ray knows eleven other operators for one
`+`), else arithmetic would make up most of a sample. Left out is what a type checker reads and
nothing else: annotations (but not those of a model's fields, apart from the bar between two types)
and the words that freeze a class. So is `strict` of `zip`, an assertion about our own lists.
"""

import ast
import difflib
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.mutants import tool
from benchmarks.mutants.operators import MutationOperator

_CHECKED: Final = {
    ("dataclass", "frozen"),
    ("dataclass", "kw_only"),
    ("dataclass", "slots"),
    ("ConfigDict", "frozen"),
    ("zip", "strict"),
}


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Candidate:
    """One possible change: an operator's occurrence in a file."""

    path: Path
    line: int
    column: int
    operator: str
    occurrence: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One change, carried out."""

    candidate: Candidate
    function: str
    """The dotted name of what holds the line; empty at the top of the module."""
    was: str
    became: str
    source: str
    """The whole file with the change."""

    @property
    def key(self) -> str:
        """Return what stays when the file is moved or lines are added above."""
        text = "\n".join((self.candidate.operator, self.function, self.was, self.became))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def places(path: Path, operators: Mapping[str, MutationOperator]) -> list[list[Candidate]]:
    """Return the changes of a file, those of one place together, in the file's order."""
    source = path.read_text(encoding="utf-8")
    silent = _Annotations(source)
    found: defaultdict[tuple[int, int, str], list[Candidate]] = defaultdict(list)
    nodes = tool.parse(source)
    for name, operator in operators.items():
        occurrence = 0
        for node in nodes:
            for (line, column), _ in operator.mutation_positions(node):
                if not silent.holds(name, (line, column)):
                    family = name.split("_")[0]
                    found[line, column, family].append(
                        Candidate(
                            path=path,
                            line=line,
                            column=column,
                            operator=name,
                            occurrence=occurrence,
                        )
                    )
                occurrence += 1
    return [found[place] for place in sorted(found)]


def sample(
    files: Iterable[Path], operators: Mapping[str, MutationOperator], seed: int | str
) -> Iterator[Candidate]:
    """Yield one change for each place of the files, in an order that only the seed decides."""
    chance = random.Random(f"{seed}")
    every = [place for path in files for place in places(path, operators)]
    chance.shuffle(every)
    for place in every:
        yield chance.choice(place)


def carry_out(candidate: Candidate, operators: Mapping[str, MutationOperator]) -> Mutant | None:
    """Return the change carried out; None where the text stays or is no Python any more."""
    source = candidate.path.read_text(encoding="utf-8")
    operator = operators[candidate.operator]
    changed = tool.mutate(source, operator, candidate.occurrence)
    if changed is None or changed == source:
        return None
    try:
        if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
            return None
    except SyntaxError:
        return None
    was, became = _lines(source, changed)
    return Mutant(
        candidate=candidate,
        function=function_at(source, candidate.line),
        was=was,
        became=became,
        source=changed,
    )


def function_at(source: str, line: int) -> str:
    """Return the dotted name of the innermost function or class that holds a line."""
    names: list[str] = []
    body: list[ast.AST] = [ast.parse(source)]
    while body:
        node = body.pop()
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if inside and _first_line(node) <= line <= (node.end_lineno or node.lineno):
            names.append(node.name)
            body = list(ast.iter_child_nodes(node))
        elif not inside:
            body += list(ast.iter_child_nodes(node))
    return ".".join(names)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min((each.lineno for each in node.decorator_list), default=node.lineno)


def _lines(source: str, changed: str) -> tuple[str, str]:
    """Return what the changed lines were and became, without indentation."""
    lines = list(difflib.ndiff(source.splitlines(), changed.splitlines()))
    was = "\n".join(line[2:].strip() for line in lines if line.startswith("- "))
    became = "\n".join(line[2:].strip() for line in lines if line.startswith("+ "))
    return was, became


class _Annotations:
    """The stretches of a source that only a type checker reads."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        fields = [node for each in classes for node in each.body if isinstance(node, ast.AnnAssign)]
        self._fields = [_stretch(field.annotation) for field in fields]
        self._others = [_stretch(each) for each in _typed(tree)]
        self._others = [each for each in self._others if each not in self._fields]

    def holds(self, operator: str, place: tuple[int, int]) -> bool:
        """Tell whether an operator at this place would change no more than a type."""
        stretches = list(self._others)
        if operator.startswith("ReplaceBinaryOperator_BitOr"):
            stretches += self._fields
        return any(start <= place < end for start, end in stretches)


def _typed(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "cast":
                yield node.args[0]
            yield from (each.value for each in node.keywords if (called, each.arg) in _CHECKED)


def _stretch(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
