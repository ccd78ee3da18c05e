"""The arrows of the design: who may import whom. Reads the source; imports nothing of it.

`MAY_IMPORT` holds between the top folders, `ROOMS` inside each of them. A room is a folder; what a
few modules of a folder are to the others differs, and they have a row of their own (`ALONE`).
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]

MAY_IMPORT: Final = {
    "models": {"models"},
    "catalog": {"models", "catalog"},
    "components/render": {"models", "components/render"},
    "components": {"models", "components/render", "components"},
    "policies": {"models", "catalog", "policies"},
    "cli": {"models", "catalog", "policies", "cli"},
    "sandbox": {"models", "catalog", "sandbox"},
    "goldens": {"models", "catalog", "goldens", "goldens/oracle"},
    "goldens/oracle": {"goldens/oracle"},
    "benchmarks": {"models", "catalog", "sandbox", "benchmarks"},
    "__main__": {"models", "catalog", "components"},
}
"""Our packages that each package may import. Nothing may import `__main__` or `tests`."""

APART: Final = ("components/render", "goldens/oracle")
"""Folders that the design keeps apart from the folder they lie in."""

ALONE: Final = frozenset(
    {
        "cli/errors",
        "components/render/common",
        "models/architecture/traits",
        "models/architecture/types",
        "sandbox/aws/kinds/__init__",
    }
)
"""Modules with a row of their own: they stand below or above the rest of their folder."""

ROOMS: Final[dict[str, set[str]]] = {
    "benchmarks": set(),
    "benchmarks/fit": {"benchmarks/shared"},
    "benchmarks/memory": {"benchmarks/fit", "benchmarks/peers", "benchmarks/shared"},
    "benchmarks/mutants": set(),
    "benchmarks/peers": {"benchmarks/fit", "benchmarks/shared"},
    "benchmarks/shared": set(),
    "benchmarks/speed": {"benchmarks/shared"},
    "catalog": {"catalog/readers"},
    "catalog/generate": set(),
    "catalog/programs": set(),
    "catalog/programs/seed": set(),
    "catalog/readers": set(),
    "cli": {"cli/errors"},
    "cli/commands": {"cli/errors", "cli/options", "cli/output", "cli/reading"},
    "cli/errors": set(),
    "cli/options": {"cli/errors"},
    "cli/output": set(),
    "cli/reading": {"cli/errors"},
    "components": {
        "components/aws",
        "components/cluster",
        "components/core",
        "components/engine",
        "components/gateway",
        "components/operators",
        "components/secrets",
        "components/storage",
    },
    "components/aws": set(),
    "components/cluster": {
        "components/core",
        "components/render/cluster",
        "components/render/common",
    },
    "components/core": {"components/render/common"},
    "components/engine": {
        "components/core",
        "components/render/common",
        "components/render/engine",
    },
    "components/gateway": {
        "components/core",
        "components/render/common",
        "components/render/gateway",
    },
    "components/operators": {
        "components/core",
        "components/render",
        "components/render/cluster",
        "components/render/common",
    },
    "components/render": {"components/render/charts", "components/render/storage"},
    "components/render/charts": set(),
    "components/render/cluster": {"components/render/common"},
    "components/render/common": set(),
    "components/render/engine": {"components/render/common"},
    "components/render/gateway": set(),
    "components/render/secrets": set(),
    "components/render/storage": {"components/render/common"},
    "components/secrets": {
        "components/core",
        "components/render/common",
        "components/render/secrets",
    },
    "components/storage": {
        "components/core",
        "components/render/cluster",
        "components/render/common",
        "components/render/storage",
        "components/secrets",
    },
    "goldens": set(),
    "goldens/oracle": set(),
    "models": set(),
    "models/architecture": {
        "models/architecture/blocks",
        "models/architecture/config",
        "models/architecture/families",
        "models/architecture/traits",
        "models/architecture/types",
        "models/core",
    },
    "models/architecture/blocks": {"models/architecture/config", "models/architecture/types"},
    "models/architecture/config": {"models/architecture/types", "models/core"},
    "models/architecture/families": {
        "models/architecture/blocks",
        "models/architecture/config",
        "models/architecture/families/recipes",
        "models/architecture/traits",
    },
    "models/architecture/families/recipes": {
        "models/architecture/blocks",
        "models/architecture/config",
        "models/architecture/types",
    },
    "models/architecture/names": {
        "models/architecture/config",
        "models/architecture/families",
        "models/core",
    },
    "models/architecture/traits": {"models/core"},
    "models/architecture/types": {"models/architecture/traits", "models/core"},
    "models/aws": {"models/core", "models/settings"},
    "models/cases": {
        "models/architecture",
        "models/architecture/config",
        "models/architecture/names",
        "models/core",
        "models/engine",
        "models/facts",
        "models/memory",
        "models/memory/inputs",
        "models/memory/terms",
        "models/memory/verdict",
    },
    "models/core": set(),
    "models/engine": {"models/core", "models/facts"},
    "models/facts": {"models/core"},
    "models/memory": {
        "models/architecture",
        "models/core",
        "models/memory/inputs",
        "models/memory/terms",
        "models/memory/verdict",
    },
    "models/memory/inputs": {"models/architecture", "models/core", "models/engine", "models/facts"},
    "models/memory/terms": {
        "models/architecture",
        "models/architecture/config",
        "models/core",
        "models/memory/inputs",
    },
    "models/memory/verdict": {
        "models/architecture",
        "models/core",
        "models/engine",
        "models/facts",
        "models/memory/inputs",
        "models/memory/terms",
    },
    "models/placement": {
        "models/architecture",
        "models/core",
        "models/engine",
        "models/facts",
        "models/memory",
        "models/serving",
    },
    "models/plan": {
        "models/core",
        "models/engine",
        "models/facts",
        "models/memory",
        "models/settings",
    },
    "models/plan/aws": {
        "models/aws",
        "models/core",
        "models/facts",
        "models/plan",
        "models/plan/storage",
        "models/settings",
    },
    "models/plan/resolve": {
        "models/architecture",
        "models/aws",
        "models/core",
        "models/engine",
        "models/facts",
        "models/memory",
        "models/plan",
        "models/plan/aws",
        "models/plan/storage",
        "models/serving",
        "models/settings",
    },
    "models/plan/storage": {"models/core", "models/engine", "models/plan", "models/settings"},
    "models/plan/summary": {
        "models/memory",
        "models/plan",
        "models/plan/storage",
        "models/settings",
    },
    "models/serving": {
        "models/architecture",
        "models/architecture/types",
        "models/core",
        "models/engine",
        "models/facts",
        "models/memory",
        "models/memory/inputs",
        "models/memory/terms",
        "models/memory/verdict",
    },
    "models/settings": {"models/core", "models/engine", "models/facts"},
    "policies": {"policies/frame"},
    "policies/changes": {
        "policies/core",
        "policies/rules/aws",
        "policies/views/aws",
        "policies/views/kubernetes",
    },
    "policies/core": set(),
    "policies/frame": {
        "policies/core",
        "policies/rules",
        "policies/views",
        "policies/views/aws",
        "policies/views/kubernetes",
    },
    "policies/rules": set(),
    "policies/rules/aws": {"policies/core", "policies/views/aws"},
    "policies/rules/engine": {
        "policies/core",
        "policies/views",
        "policies/views/engine",
        "policies/views/kubernetes",
        "policies/views/promql",
    },
    "policies/rules/gateway": {"policies/core", "policies/views/kubernetes"},
    "policies/rules/operators": {
        "policies/core",
        "policies/views/aws",
        "policies/views/engine",
        "policies/views/kubernetes",
    },
    "policies/rules/plan": {"policies/core", "policies/views"},
    "policies/rules/pods": {"policies/core", "policies/views/engine", "policies/views/kubernetes"},
    "policies/rules/scaling": {
        "policies/core",
        "policies/views/engine",
        "policies/views/kubernetes",
        "policies/views/promql",
    },
    "policies/rules/storage": {
        "policies/core",
        "policies/views",
        "policies/views/aws",
        "policies/views/kubernetes",
    },
    "policies/views": {"policies/core"},
    "policies/views/aws": {"policies/core", "policies/views/kubernetes"},
    "policies/views/engine": {"policies/core", "policies/views/kubernetes"},
    "policies/views/kubernetes": {"policies/core"},
    "policies/views/promql": {"policies/core", "policies/views/kubernetes"},
    "sandbox": {"sandbox/cluster", "sandbox/core", "sandbox/crds", "sandbox/toolchain"},
    "sandbox/aws": {
        "sandbox/aws/clusters",
        "sandbox/aws/core",
        "sandbox/aws/kinds/__init__",
        "sandbox/aws/plugin",
        "sandbox/aws/server",
        "sandbox/core",
    },
    "sandbox/aws/clusters": {"sandbox/aws/core", "sandbox/cluster", "sandbox/core"},
    "sandbox/aws/core": {"sandbox/core", "sandbox/crds"},
    "sandbox/aws/kinds": {"sandbox/aws/core"},
    "sandbox/aws/kinds/__init__": {
        "sandbox/aws/core",
        "sandbox/aws/kinds",
        "sandbox/aws/kinds/eks",
    },
    "sandbox/aws/kinds/eks": {
        "sandbox/aws/clusters",
        "sandbox/aws/core",
        "sandbox/aws/kinds",
        "sandbox/cluster",
    },
    "sandbox/aws/lifecycle": {
        "sandbox/aws/clusters",
        "sandbox/aws/core",
        "sandbox/aws/server",
        "sandbox/cluster",
        "sandbox/core",
        "sandbox/operators/controllers",
        "sandbox/toolchain",
    },
    "sandbox/aws/plugin": {
        "sandbox/aws/core",
        "sandbox/aws/kinds/__init__",
        "sandbox/aws/schema",
        "sandbox/core",
    },
    "sandbox/aws/schema": {"sandbox/aws/core", "sandbox/core"},
    "sandbox/aws/server": {"sandbox/aws/core", "sandbox/aws/kinds/eks"},
    "sandbox/cluster": {
        "sandbox/core",
        "sandbox/crds",
        "sandbox/operators/controllers",
        "sandbox/toolchain",
    },
    "sandbox/core": set(),
    "sandbox/crds": {"sandbox/core"},
    "sandbox/dataplane": set(),
    "sandbox/dataplane/engines": {"sandbox/core"},
    "sandbox/dataplane/pods": {"sandbox/core", "sandbox/dataplane/engines"},
    "sandbox/engine": {
        "sandbox/aws/core",
        "sandbox/aws/lifecycle",
        "sandbox/cluster",
        "sandbox/core",
        "sandbox/operators",
        "sandbox/operators/controllers",
        "sandbox/toolchain",
    },
    "sandbox/operators": {"sandbox/core"},
    "sandbox/operators/controllers": {"sandbox/core", "sandbox/crds"},
    "sandbox/operators/standins": {"sandbox/core"},
    "sandbox/toolchain": {"sandbox/core"},
}
"""Rooms of the same top folder that each room may import, beside itself."""

FORBIDDEN_IN_MODELS: Final = {"pulumi", "pulumi_kubernetes", "requests", "boto3", "os", "pathlib"}
TOPS: Final = ("models", "catalog", "components", "policies", "cli", "sandbox", "goldens")
OURS: Final = {*TOPS, "benchmarks", "tests", "__main__"}


@cache
def sources() -> tuple[Path, ...]:
    """Return every Python file outside the tests, relative to the tree."""
    found = [ROOT / "__main__.py"]
    for package in (*TOPS, "benchmarks"):
        found += sorted((ROOT / package).rglob("*.py"))
    return tuple(path.relative_to(ROOT) for path in found)


@cache
def modules() -> frozenset[Path]:
    """Return the same files for looking up names."""
    return frozenset(sources())


def file_of(name: str) -> Path | None:
    """Return the file that a dotted name of ours stands for, if it is a module."""
    path = Path(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file in modules():
            return file
    return None


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the dotted names that a file imports, wherever in the file; modules where they are."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrows"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if file_of(inner) else node.module or ""


def package_of(path: Path) -> str:
    """Return the package of the layout that a file belongs to."""
    inner = "/".join(path.parts[:2])
    return inner if inner in APART else path.parts[0].removesuffix(".py")


def target_of(name: str) -> str:
    """Return the package of the layout that a dotted name belongs to."""
    inner = "/".join(name.split(".")[:2])
    return inner if inner in APART else name.split(".")[0]


def room_of(path: Path) -> str:
    """Return the room of a file: its own row where it has one, else its folder."""
    module = path.with_suffix("").as_posix()
    return module if module in ALONE else path.parent.as_posix()


def files_imported(path: Path) -> set[Path]:
    """Return the files of ours that a file imports."""
    return {file for name in imports(path) if (file := file_of(name)) and file != path}


def rooms_imported(path: Path) -> set[str]:
    """Return the other rooms of its top folder that a file imports."""
    rooms = {room_of(file) for file in files_imported(path) if file.parts[0] == path.parts[0]}
    return rooms - {room_of(path)}


def circle_in(arrows: dict[str, set[str]]) -> list[str]:
    """Return one circle of the arrows, or nothing."""
    done: set[str] = set()

    def walk(at: str, way: list[str]) -> list[str]:
        if at in way:
            return [*way[way.index(at) :], at]
        if at in done:
            return []
        for target in sorted(arrows.get(at, ())):
            if circle := walk(target, [*way, at]):
                return circle
        done.add(at)
        return []

    circles = (walk(at, []) for at in sorted(arrows))
    return next((circle for circle in circles if circle), list[str]())


def test_there_is_something_to_check() -> None:
    """A check over an empty list would pass."""
    assert len(sources()) > 400
    assert sum(len(files_imported(path)) for path in sources()) > 1500


@pytest.mark.parametrize("path", sources(), ids=str)
def test_a_file_imports_only_what_its_package_may(path: Path) -> None:
    """The planes stay apart: policies do not know components, models know nobody."""
    package = package_of(path)
    for module in imports(path):
        target = target_of(module)
        if target.split("/")[0] in OURS:
            assert target in MAY_IMPORT[package], f"{package} may not import {module}"
        if package == "models":
            assert target not in FORBIDDEN_IN_MODELS, f"models is pure and imports {module}"
        if package == "components/render":
            assert module != "pulumi", "render is pure: no Output, no engine"


@pytest.mark.parametrize("path", sources()[1:], ids=str)
def test_a_file_imports_only_the_rooms_that_its_room_may(path: Path) -> None:
    """A folder with rooms is read from the bottom up: each room knows the ones below it."""
    more = rooms_imported(path) - ROOMS[room_of(path)]
    assert not more, f"{room_of(path)} may not import {sorted(more)}"


def test_every_room_has_its_row_and_every_row_is_needed() -> None:
    """An arrow that nobody uses is a door left open."""
    used: dict[str, set[str]] = {}
    for path in sources()[1:]:
        used.setdefault(room_of(path), set()).update(rooms_imported(path))
    assert sorted(ROOMS) == sorted(used)
    assert used == ROOMS


def test_rooms_form_no_circle() -> None:
    """What two rooms need of each other belongs into one of them, or below both."""
    assert circle_in(ROOMS) == []


def test_modules_form_no_circle() -> None:
    """An import inside a function counts: it hides a circle, it does not open it."""
    arrows = {str(path): {str(file) for file in files_imported(path)} for path in sources()}
    assert circle_in(arrows) == []


@pytest.mark.parametrize(
    ("arrows", "circle"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set[str]()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c", "b"]),
    ],
)
def test_a_circle_is_found(arrows: dict[str, set[str]], circle: list[str]) -> None:
    """The search itself, on tables small enough to be judged by eye."""
    assert circle_in(arrows) == circle


def test_the_program_stays_a_contents_page() -> None:
    """What grows beyond it belongs into a pure module."""
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 80
