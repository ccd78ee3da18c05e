"""The tests that could notice a change, those that run least else first."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.mutants.recording import Recording

_TOO_COMMON: Final = 60
"""A name that more functions mention than this says nothing about who uses a constant."""
_STEPS: Final = 4
"""From a constant to one made of it, so many times."""
_LEAST_SEC: Final = 0.05
"""What the shortest test counts for: setting it up takes some time as well."""


class Reach:
    """Recordings of all test modules, and which function mentions which name."""

    def __init__(
        self, root: Path, recordings: Sequence[Recording], callers: Iterable[Path]
    ) -> None:
        self._root = root
        self.seconds: dict[str, float] = {}
        self.failed = {test for recording in recordings for test in recording.failed}
        self._tests: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._breadth: Counter[str] = Counter()
        for recording in recordings:
            self.seconds |= recording.seconds
            for file, functions in recording.functions.items():
                for name, tests in functions.items():
                    self._tests[file, name] += tests
                    self._breadth.update(tests)
        self._mentions = _mentions(root, callers)
        self._texts: dict[str, str] = {}

    def tests(self, path: Path, function: str, names: Iterable[str]) -> list[str]:
        """Return the tests of a function, or of whatever mentions a name where none is recorded.

        `names` are those that the changed statement gives a value.
        """
        file = str(path.relative_to(self._root))
        found = set(self._tests.get((file, function), ()))
        if not found:
            found = self._by_mention(names)
        if not found:
            found = {
                test for (each, _), tests in self._tests.items() if each == file for test in tests
            }
        return self.nearest_first(found)

    def naming_first(self, tests: Sequence[str], words: Iterable[str]) -> list[str]:
        """Sort tests whose own id has one of the words first, then those whose module has one.

        A row of a table is used by whoever reads the table; who asks for that row says its name.
        """
        words = {word for word in words if word}

        def rank(test: str) -> int:
            module, _, name = test.partition("::")
            if any(word in name for word in words):
                return 0
            return 1 if any(word in self._text(module) for word in words) else 2

        return sorted(tests, key=rank) if words else list(tests)

    def _text(self, module: str) -> str:
        if module not in self._texts:
            path = self._root / module
            self._texts[module] = path.read_text(encoding="utf-8") if path.is_file() else ""
        return self._texts[module]

    def _by_mention(self, names: Iterable[str]) -> set[str]:
        """Return the tests of all functions that mention a name, or a constant made of it."""
        found: set[str] = set()
        ahead, seen = set(names), set[str]()
        for _ in range(_STEPS):
            users = {user for name in ahead for user in self._mentions.get(name, ())}
            seen |= ahead
            found |= {test for user in users for test in self._tests.get(user, ())}
            ahead = {name for user in users if user not in self._tests for name in [user[1]]} - seen
        return found

    def nearest_first(self, tests: Iterable[str]) -> list[str]:
        """Sort tests by how much else they run, how long, and how many cases came before."""
        by_function: defaultdict[str, list[str]] = defaultdict(list)
        for test in sorted(
            set(tests) - self.failed, key=lambda test: (self.seconds.get(test, 0.0), test)
        ):
            by_function[test.partition("[")[0]].append(test)
        ranked = [
            ((1 + number) * self._breadth[test] * (_LEAST_SEC + self.seconds.get(test, 0.0)), test)
            for cases in by_function.values()
            for number, test in enumerate(cases)
        ]
        return [test for _, test in sorted(ranked)]


def words_changed(source: str, mutated: str, line: int) -> tuple[str, ...]:
    """Return the string literals that a change takes away, else those of the line that it changes.

    The row of a table is told by its key, also where the change is in a number beside it.
    """
    before, after = _literals(source), _literals(mutated)
    words = {text for text, _ in before} - {text for text, _ in after}
    return tuple(sorted(words or {text for text, at in before if at == line}))


def _literals(source: str) -> set[tuple[str, int]]:
    return {
        (node.value, node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def names_given(source: str, line: int) -> tuple[str, ...]:
    """Return the names that the statement at a line gives a value at import, and its class's."""
    found: list[str] = []

    def visit(body: Sequence[ast.stmt]) -> None:
        for node in body:
            if not node.lineno <= line <= (node.end_lineno or node.lineno):
                continue
            if isinstance(node, ast.ClassDef):
                visit(node.body)
                found.append(node.name)
            elif isinstance(node, ast.FunctionDef):
                found.append(node.name)
            for each in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign) else ():
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    found.append(each.id)

    tree = ast.parse(source)
    visit(tree.body)
    return tuple(found)


def _mentions(root: Path, callers: Iterable[Path]) -> Mapping[str, tuple[tuple[str, str], ...]]:
    found: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in callers:
        file = str(path.relative_to(root))
        _collect(ast.parse(path.read_text(encoding="utf-8")), "", file, found)
    return {
        name: tuple(sorted(users)) for name, users in found.items() if len(users) <= _TOO_COMMON
    }


def _collect(
    node: ast.AST, above: str, file: str, found: defaultdict[str, set[tuple[str, str]]]
) -> None:
    for child in ast.iter_child_nodes(node):
        name = above
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{above}.{child.name}".lstrip(".")
        elif isinstance(child, ast.AnnAssign) and not above and isinstance(child.target, ast.Name):
            name = child.target.id
        elif isinstance(child, ast.Name):
            found[child.id].add((file, name))
        elif isinstance(child, ast.Attribute):
            found[child.attr].add((file, name))
        _collect(child, name, file, found)
