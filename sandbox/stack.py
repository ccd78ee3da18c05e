"""Bringing a stack up on embedded control planes: `python -m sandbox.stack up --env dev`.

The same program as in production runs under the real engine; only the clusters are sandboxes. A
stack is run here when every region's cluster is an existing one whose context begins with
`triplane-sandbox`.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from catalog.loader import load
from models.problems import ProblemsError
from models.regions import ExistingCluster
from models.settings import Settings, parse
from sandbox import cluster, toolchain
from sandbox.diagnosis import unready_pods
from sandbox.errors import SandboxError
from sandbox.kubeconfig import merged
from sandbox.paths import PROJECT_ROOT, cache_root
from sandbox.pools import nodes_of
from sandbox.recovery import recover
from sandbox.toolchain.errors import ToolchainError
from sandbox.workspace import Workspace, read_settings

CONTEXT_PREFIX: Final = "triplane-sandbox"
SETTINGS_KEY: Final = "triplane:platform"

CHECKED: Final = (
    *("--policy-pack", str(PROJECT_ROOT / "policies")),
    "--suppress-permalink=true",
)
"""The pack judges the preview that precedes an update, so that nothing is half-created."""

UP: Final = ("up", "--yes", "--skip-preview", "--suppress-permalink=true")
"""Without preview and pack: for what was proven already, and for rendering."""

Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class SandboxStack:
    """One stack in the sandbox.

    `instance` tells apart several of the same environment (tests); `change` edits the settings
    before they are used; `config` adds other configuration keys.
    """

    env: str
    instance: str = ""
    change: Change | None = None
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: toolchain.Toolchain = field(default_factory=toolchain.ensure)

    @property
    def label(self) -> str:
        """The stack's name among sandboxes."""
        return f"{self.env}-{self.instance}" if self.instance else self.env

    @property
    def home(self) -> Path:
        """Where state, settings and kubeconfig are kept."""
        return cache_root() / "stacks" / self.label

    def raw(self) -> dict[str, Any]:
        """Return the stack file's content with this stack's changes."""
        raw = read_settings(PROJECT_ROOT / f"Pulumi.{self.env}.yaml")
        config = cast("dict[str, Any]", raw.setdefault("config", {}))
        config.update(self.config)
        if self.change is not None:
            self.change(cast("dict[str, Any]", config[SETTINGS_KEY]))
        return raw

    def settings(self) -> Settings:
        """Return the stack's settings; raises `SandboxError` where they need real clusters."""
        raw = self.raw()["config"].get(SETTINGS_KEY)
        settings = parse(json.dumps(raw))
        foreign = [
            region.name
            for region in settings.regions
            if not isinstance(region.cluster, ExistingCluster)
            or not region.cluster.context.startswith(CONTEXT_PREFIX)
        ]
        if foreign:
            message = (
                f"stack {self.env}: regions {', '.join(foreign)} are not in the sandbox: their "
                f"cluster's context does not begin with {CONTEXT_PREFIX}. Run pulumi itself for it"
            )
            raise SandboxError(message)
        return settings

    def sandbox_name(self, region: str) -> str:
        """Return the name of a region's control plane."""
        return f"{self.label}-{region}"

    def start(self) -> Workspace:
        """Start the control planes, and return the workspace ready to run pulumi in."""
        settings, catalogue = self.settings(), load()
        contexts: dict[str, Path] = {}
        for region in settings.regions:
            running = cluster.start(
                self.sandbox_name(region.name), nodes_of(region, catalogue), tools=self.tools
            )
            assert isinstance(region.cluster, ExistingCluster)
            contexts[region.cluster.context] = running.kubeconfig
        workspace = self._workspace({"KUBECONFIG": str(self.home / "kubeconfig")})
        workspace.prepare(self.raw())
        merged(contexts, self.home / "kubeconfig")
        return workspace

    def _workspace(self, variables: Mapping[str, str]) -> Workspace:
        return Workspace(home=self.home, stack=self.env, toolchain=self.tools, variables=variables)

    def up(self) -> str:
        """Bring the stack up; return its outputs as JSON text, secrets masked."""
        workspace = self.start()
        recover(workspace)
        self._update(workspace)
        return workspace.run(["stack", "output", "--json"], quiet=True).stdout

    def _update(self, workspace: Workspace) -> None:
        """Run the update; where it fails, say which pods are not ready and why."""
        done = workspace.attempt(["up", "--yes", *CHECKED, "--suppress-outputs"])
        if done.returncode == 0:
            return
        lines = [
            line
            for region in self.settings().regions
            if isinstance(region.cluster, ExistingCluster)
            for line in unready_pods(workspace, region.cluster.context)
        ]
        raise SandboxError("\n  ".join([f"the update of stack {self.env} failed", *lines]))

    def preview(self) -> None:
        """Preview the stack against its control planes."""
        workspace = self.start()
        recover(workspace)
        workspace.run(["preview", *CHECKED])

    def down(self) -> None:
        """Destroy the stack, stop its control planes and delete their data."""
        if self.home.exists():
            workspace = self.start()
            recover(workspace)
            workspace.run(["destroy", "--yes", "--skip-preview", "--suppress-permalink=true"])
            workspace.run(["stack", "rm", "--yes", "--preserve-config", self.env], quiet=True)
        self.purge()

    def purge(self) -> None:
        """Stop the control planes and delete every trace of the stack, without destroying it."""
        for region in self.raw()["config"][SETTINGS_KEY]["regions"]:
            cluster.stop(self.sandbox_name(str(region["name"])), purge=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def render(self, target: Path) -> Path:
        """Write the stack's manifests to `target`/<region>/; return `target`.

        Needs no cluster: the provider writes files instead. The old tree is replaced only once
        the new one is complete.
        """
        with self.rendering() as (workspace, files):
            workspace.run(UP, quiet=True)
            shutil.rmtree(target, ignore_errors=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(files, target)
        return target

    @contextmanager
    def rendering(self) -> Generator[tuple[Workspace, Path]]:
        """Yield a workspace whose provider writes files, and the directory that it writes to.

        It is removed afterwards, with its state: rendered files are nothing to update or destroy.
        """
        parent = cache_root() / "render"
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        home = Path(tempfile.mkdtemp(prefix=f"{self.label}-", dir=parent))
        try:
            workspace = Workspace(home=home, stack=self.env, toolchain=self.tools, variables={})
            raw = self.raw()
            raw["config"]["triplane:renderTo"] = str(home / "files")
            workspace.prepare(raw)
            yield workspace, home / "files"
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox.stack", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "preview", "render"])
    parser.add_argument("--env", default="dev", help="which Pulumi.<env>.yaml")
    return parser.parse_args()


def _run(command: str, stack: SandboxStack) -> None:
    if command == "up":
        print(stack.up(), end="")
    elif command == "down":
        stack.down()
    elif command == "preview":
        stack.preview()
    else:
        target = PROJECT_ROOT / "build" / stack.label
        stack.render(target)
        print(f"manifests written to {target.relative_to(PROJECT_ROOT)}/")


def main() -> int:
    """Run one command; errors are lines, not tracebacks."""
    arguments = _arguments()
    try:
        instance = os.environ.get("TRIPLANE_INSTANCE", "")
        _run(arguments.command, SandboxStack(env=arguments.env, instance=instance))
    except (SandboxError, ToolchainError, ProblemsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
