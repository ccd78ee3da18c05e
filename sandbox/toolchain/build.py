"""Building one tool from its pinned modules into the cache, once per key.

A key covers what decides the result: go.mod, go.sum, main.go, the package, flags and platform. The
patch version of the installed Go is left out on purpose: go.mod's `go` line already sets the least
one, and a distribution's update of Go should not cost half an hour, nor make a cached toolchain
unusable on a machine that has no Go at all.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.toolchain.errors import ToolchainError
from sandbox.toolchain.table import BUILD_ENV, BUILD_FLAGS, ChangedSource, Tool

_INPUTS = ("go.mod", "go.sum", "main.go")
_LOG_TAIL_LINES = 15
OVERLAY = "upstream"
"""The folder with our files over a module's, and where go.mod expects the result."""


def key(tool: Tool) -> str:
    """Return the hash that names a build of `tool`: equal inputs give equal keys on any path."""
    parts: dict[str, object] = {
        "package": tool.package,
        "ldflags": tool.ldflags,
        "embeds": dict(tool.embeds),
        "flags": BUILD_FLAGS,
        "env": dict(BUILD_ENV),
        "platform": [sys.platform, platform.machine()],
    }
    for name in _INPUTS:
        path = tool.source / name
        parts[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
    if tool.changed is not None:
        parts["module_sum"] = tool.changed.sum
        parts["overlay"] = {
            str(path.relative_to(tool.source)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in _files(tool.source / OVERLAY)
        }
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolStore:
    """The part of the cache that holds finished builds and their logs."""

    root: Path

    def binary(self, tool: Tool) -> Path:
        """Return where the build of `tool` is, or would be."""
        return self.root / f"{tool.name}-{key(tool)}" / tool.name

    def has(self, tool: Tool) -> bool:
        """Tell whether `tool` is built; a build appears whole, by a rename, or not at all."""
        return os.access(self.binary(tool), os.X_OK)

    def log(self, tool: Tool) -> Path:
        """Return the log of the last build of `tool`."""
        return self.root / "logs" / f"{tool.name}-{key(tool)}.log"


def build(tool: Tool, store: ToolStore, go: Path) -> None:
    """Build `tool` into `store` with the Go at `go`; raise `ToolchainError` with the log's tail."""
    log = store.log(tool)
    log.parent.mkdir(parents=True, exist_ok=True)
    final = store.binary(tool).parent
    work = store.root / "work" / f"{final.name}.{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    try:
        with log.open("w") as out:
            _compile(tool, work, go, lambda argv: _run(argv, work / "src", out.fileno()))
        final.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(final, ignore_errors=True)
        (work / "bin").rename(final)
    except subprocess.CalledProcessError as error:
        tail = "\n".join(f"    {line}" for line in log_tail(log, _LOG_TAIL_LINES))
        raise ToolchainError(
            f"building {tool.name} {tool.version} ({tool.package}) failed with exit code "
            f"{error.returncode}. The end of {log}:\n{tail}\n"
            "Mend what it names (often the network, GOPROXY or a full disk) and run this again: "
            "finished tools are kept"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compile(tool: Tool, work: Path, go: Path, run: Callable[[list[str]], None]) -> None:
    source = work / "src"
    source.mkdir(parents=True)
    for name in _INPUTS:
        if (tool.source / name).exists():
            shutil.copyfile(tool.source / name, source / name)
    if tool.embeds:
        # The module must be on disk before its generated files can be copied.
        run([str(go), "mod", "download", tool.module])
        folder = Path(_module_dir(tool, source, go))
        for name, inside in tool.embeds.items():
            shutil.copyfile(folder / inside, source / name)
    if tool.changed is not None:
        _lay_over(tool.source, tool.changed, source, go, run)
    out = work / "bin" / tool.name
    out.parent.mkdir()
    command = [str(go), "build", *BUILD_FLAGS, "-ldflags", tool.ldflags, "-o", str(out)]
    run([*command, tool.package])


def _module_dir(tool: Tool, cwd: Path, go: Path) -> str:
    argv = [str(go), "list", "-m", "-f", "{{.Dir}}", tool.module]
    done = subprocess.run(argv, cwd=cwd, env=_environ(), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _lay_over(
    ours: Path, changed: ChangedSource, source: Path, go: Path, run: Callable[[list[str]], None]
) -> None:
    """Copy the module's Go files to where go.mod replaces it, and those of `ours` over them.

    Go does not check a replaced module, so its sum is compared here. (`go build -overlay` would
    need no copy, but refuses files of the module cache.)
    """
    argv = [str(go), "mod", "download", "-json", f"{changed.module}@{changed.version}"]
    # First with its output in the log, which is what an error shows; then for the answer.
    run(argv)
    done = subprocess.run(
        argv, cwd=source, env=_environ(), capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    if found["Sum"] != changed.sum:
        message = (
            f"module {changed.module}@{changed.version} has sum {found['Sum']}, the table of the "
            f"toolchain says {changed.sum}: somebody changed it, do not build it"
        )
        raise ToolchainError(message)
    for root, suffix in ((Path(found["Dir"]), ".go"), (ours / OVERLAY, "")):
        for path in _files(root):
            if path.name.endswith(suffix) and not path.name.endswith("_test.go"):
                target = source / OVERLAY / path.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                # Without its mode: files of the module cache are read-only.
                target.unlink(missing_ok=True)
                shutil.copyfile(path, target)


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def _environ() -> dict[str, str]:
    # GOROOT would make one Go use the standard library of another.
    return {**os.environ, **BUILD_ENV, "GOROOT": ""}


def _run(argv: list[str], cwd: Path, out: int) -> None:
    started = time.monotonic()
    os.write(out, f"$ {' '.join(argv)}\n".encode())
    subprocess.run(argv, cwd=cwd, env=_environ(), stdout=out, stderr=out, check=True)
    os.write(out, f"done in {time.monotonic() - started:.1f} s\n".encode())


def log_tail(path: Path, lines: int) -> list[str]:
    """Return the last `lines` lines of a log, or a note when there is none."""
    if not path.exists():
        return [f"(no log at {path})"]
    return path.read_text(errors="replace").splitlines()[-lines:] or ["(the log is empty)"]
