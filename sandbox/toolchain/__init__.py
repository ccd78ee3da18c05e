"""The real Pulumi engine, Kubernetes provider, control plane and KWOK, built from pinned modules.

`ensure()` returns at once when everything is in the cache, else it builds what is missing and says
how far it is. Nothing that happens to be installed is relied on: an official Pulumi is used only
when it brings all its parts, Go comes from PATH or PyPI.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.core import locks
from sandbox.core.paths import cache_root
from sandbox.toolchain import bindir, build, go, official
from sandbox.toolchain.errors import ToolchainError
from sandbox.toolchain.table import PROVIDER_VERSION, TOOLS, Tool

__all__ = ["Toolchain", "ToolchainError", "ensure"]

Say = Callable[[str], None]
_PULUMI_TOOLS: Final = frozenset({"pulumi", "pulumi-resource-kubernetes"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolchain:
    """Every tool at its pinned version, in one directory."""

    bin_dir: Path
    pulumi_home: Path
    official: bool
    """Whether Pulumi and its provider are an official installation's, not ours."""

    def path(self, tool: str) -> Path:
        """Return the executable of `tool`; raises `ToolchainError` for a name that is not one."""
        folders = (self.bin_dir, bindir.plugins_dir(self.bin_dir))
        for folder in folders:
            if (folder / tool).exists():
                return folder / tool
        names = ", ".join(sorted(entry.name for folder in folders for entry in folder.glob("*")))
        raise ToolchainError(f"tool {tool!r} is not in the toolchain: it has {names}")

    def env(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return `base` (default: this process's environment) made fit to run Pulumi with.

        PULUMI_HOME is kept where it is set, and the provider is then found on PATH, of which Pulumi
        warns; else it is in the cache: a user's own logins and plugins neither help nor suffer.
        """
        env = dict(os.environ if base is None else base)
        folders = [str(self.bin_dir), env.get("PATH", os.defpath)]
        if env.get("PULUMI_HOME"):
            folders.insert(1, str(bindir.plugins_dir(self.bin_dir)))
        else:
            env["PULUMI_HOME"] = str(self.pulumi_home)
            bindir.install_plugin(self.bin_dir, self.pulumi_home, PROVIDER_VERSION)
        env["PATH"] = os.pathsep.join(folders)
        env["PULUMI_SKIP_UPDATE_CHECK"] = "true"
        # All plugins are ambient: a missing one is our fault and must not start a download.
        env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        env.pop("PULUMI_IGNORE_AMBIENT_PLUGINS", None)
        return env


def say_to_stderr(text: str) -> None:
    """Write progress where it does not disturb what a command prints as its result."""
    sys.stderr.write(text)
    sys.stderr.flush()


def ensure(say: Say = say_to_stderr, *, cache: Path | None = None) -> Toolchain:
    """Return the toolchain, building what the cache lacks.

    `say` gets progress as text with its own line ends. A second caller waits for the first and
    says so. Raises `ToolchainError` when Go is missing or a build fails.
    """
    # Heard by the fast tests, which may not depend on a build
    # (tests/helpers/repository/fast_guard.py).
    sys.audit("triplane.toolchain")
    root = cache_root() if cache is None else cache
    store = build.ToolStore(root=root / "toolchain" / "builds")
    found, why = official.find(root)
    tools = [tool for tool in TOOLS if found is None or tool.name not in _PULUMI_TOOLS]
    if all(store.has(tool) for tool in tools):
        say(f"toolchain: {len(tools)} tools ready in the cache ({why})\n")
    else:
        waiting = "toolchain: another build is running, waiting for it to finish\n"
        with locks.exclusive(root / "toolchain" / "build.lock", lambda: say(waiting)):
            _build_missing(tools, store, root, say)
    files = {tool.name: store.binary(tool) for tool in tools}
    if found is not None:
        files |= found.files
    bin_dir = bindir.ensure(root / "toolchain" / "bin", files)
    pulumi_home = root / "pulumi-home"
    pulumi_home.mkdir(parents=True, exist_ok=True)
    return Toolchain(bin_dir=bin_dir, pulumi_home=pulumi_home, official=found is not None)


def _build_missing(tools: list[Tool], store: build.ToolStore, root: Path, say: Say) -> None:
    started = time.monotonic()
    missing = [tool for tool in tools if not store.has(tool)]
    if not missing:
        return
    compiler = go.find(root)
    say(f"toolchain: building {len(missing)} of {len(tools)} tools with {compiler}\n")
    for number, tool in enumerate(tools, start=1):
        if tool not in missing:
            continue
        say(f"[{number}/{len(tools)}] {tool.name} {tool.version} … ")
        begun = time.monotonic()
        try:
            build.build(tool, store, compiler)
        except ToolchainError:
            say("failed\n")
            raise
        now = time.monotonic()
        say(f"{now - begun:.0f} s (total {_minutes(now - started)})\n")
    folder, size = go.build_cache(compiler)
    say(
        f"toolchain: Go's build cache, {folder}, has {size / 1e9:.1f} GB: a changed "
        f"tool is built in seconds with it. To be rid of it: {compiler} clean -cache\n"
    )


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
