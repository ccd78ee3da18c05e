"""The recipes of CONTRIBUTING, done to the letter on a copy of the tree.

A recipe's fenced blocks say what its reader does: `file=PATH` writes a file, `add=PATH
after="TEXT"` adds lines after the first line that holds the text, and `run` is a command. A command
whose answer only an engine can give is marked `ask`: the test that follows the recipe brings it.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
PAGE: Final = ROOT / "CONTRIBUTING.md"
_STEP: Final = re.compile(r"^(\d+)\. ", re.MULTILINE)
_BLOCK: Final = re.compile(r"^( *)```(\w+) (\S[^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One block: what kind it is, the file it is about, and its lines."""

    step: int
    kind: str
    path: str
    after: str
    text: str


def actions(title: str, page: str | None = None) -> tuple[Action, ...]:
    """Return what the recipe under a heading has its reader do, in order."""
    text = PAGE.read_text() if page is None else page
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    steps = [(match.start(), int(match[1])) for match in _STEP.finditer(section)]
    made: list[Action] = []
    for match in _BLOCK.finditer(section):
        words = shlex.split(match[3])
        marks = {name: value for name, _, value in (word.partition("=") for word in words)}
        kind = words[0].partition("=")[0]
        lines = "".join(line.removeprefix(match[1]) for line in match[4].splitlines(keepends=True))
        made.append(
            Action(
                step=[step for start, step in steps if start < match.start()][-1],
                kind=kind,
                path=marks[kind],
                after=marks.get("after", ""),
                text=lines,
            )
        )
    return tuple(made)


class Clone:
    """A copy of the files that git knows, as they are here, with this environment's Python."""

    def __init__(self, folder: Path) -> None:
        """Copy them."""
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / ".venv").symlink_to(sys.prefix)

    def do(self, action: Action, answers: Mapping[str, str]) -> None:
        """Do what a block says; `answers` are files that an `ask` would have written."""
        if action.kind == "run":
            done = self.run(*shlex.split(action.text))
            assert done.returncode == 0, done.stdout + done.stderr
        elif action.kind == "ask":
            for name, answer in answers.items():
                # A command may also write anew what is there.
                (self.folder / name).unlink(missing_ok=True)
                self.write(name, answer)
        elif action.kind == "file":
            self.write(action.path, action.text)
        else:
            assert action.kind == "add", action
            self._add(action)

    def write(self, name: str, text: str) -> None:
        """Write a new file."""
        path = self.folder / name
        assert not path.exists(), f"{name} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _add(self, action: Action) -> None:
        path = self.folder / action.path
        lines = path.read_text().splitlines(keepends=True)
        place = next((index for index, line in enumerate(lines) if action.after in line), None)
        assert place is not None, f"{action.path} has no line with {action.after!r}"
        path.write_text("".join([*lines[: place + 1], action.text, *lines[place + 1 :]]))

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the copy."""
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False
        )

    def failing(self, *tests: str) -> set[str]:
        """Return the names of the tests that fail of these modules or tests."""
        pytest = ("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=line")
        done = self.run(".venv/bin/python", *pytest, "-rfE", *tests)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return set(re.findall(r"^(?:FAILED|ERROR) [^:\s]+(?:::(\S+))?", done.stdout, re.MULTILINE))

    def lint(self) -> str:
        """Return what the linter and the formatter say of the code; nothing where it is clean."""
        folders = ("models", "components", "policies", "tests/policies", "tests/components")
        said = [
            self.run(".venv/bin/ruff", *words, *folders) for words in (("check", "-q"), _FORMAT)
        ]
        return "".join(done.stdout + done.stderr for done in said)


_FORMAT: Final = ("format", "--check", "-q")
