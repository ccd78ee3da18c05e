"""cosmic-ray, in an environment of their own outside the tree.

    <cache>/mutants/venv     what requirements.txt beside this file pins, installed once

It brings twenty packages that nothing else needs, so `make setup` does not install it. Its
folder is put behind the project's own packages: where both have one, the project's is used.
"""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from benchmarks.mutants.operators import OURS, MutationOperator
from sandbox.core.paths import cache_root

LOCK: Final = Path(__file__).with_name("requirements.txt")
_NEED_ARGUMENTS: Final = {"VariableReplacer", "VariableInserter"}


class ToolError(Exception):
    """The packages could not be installed; the text says why."""


def ready() -> None:
    """Install the packages where they are missing and let this process import them.

    Raises:
        ToolError: where they cannot be installed.

    """
    home = cache_root() / "mutants" / "venv"
    stamp, wanted = home / ".installed", LOCK.read_text(encoding="utf-8")
    python = home / "bin" / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        _run(sys.executable, "-m", "venv", "--clear", str(home))
        pip = (str(python), "-m", "pip", "--quiet", "--disable-pip-version-check")
        _run(*pip, "install", "--require-hashes", "-r", str(LOCK))
        stamp.write_text(wanted, encoding="utf-8")
    for folder in home.glob("lib/python3*/site-packages"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    importlib.invalidate_caches()


def operators() -> Mapping[str, MutationOperator]:
    """Return every operator by name: cosmic-ray's own and ours."""
    provider = importlib.import_module("cosmic_ray.operators.provider").OperatorProvider()
    names = [name for name in cast("Iterable[str]", provider) if name not in _NEED_ARGUMENTS]
    theirs: dict[str, MutationOperator] = {name: provider[name]() for name in names}
    return theirs | {name: kind() for name, kind in OURS.items()}


def parse(source: str) -> list[Any]:
    """Return every node of a source's tree, in the order in which cosmic-ray counts them."""
    tree = importlib.import_module("cosmic_ray.ast")
    return list(cast("Iterable[Any]", tree.ast_nodes(tree.get_ast(source))))


def mutate(source: str, operator: MutationOperator, occurrence: int) -> str | None:
    """Return the source with one change, None where the operator has no such occurrence."""
    module = importlib.import_module("cosmic_ray.mutating")
    change = cast("Callable[[str, MutationOperator, int], str | None]", module.mutate_code)
    return change(source, operator, occurrence)


def _run(*command: str) -> None:
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        raise ToolError(f"the packages of {LOCK.name} could not be installed: {last}")
