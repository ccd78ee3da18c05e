"""Bringing a stack up on embedded control planes: `python -m sandbox.engine.stack up --env dev`.

The same program as in production runs under the real engine; only the clusters are sandboxes. A
stack is run here when every region's cluster is an existing one whose context begins with
`triplane-sandbox`. With `SANDBOX=1` any stack is: a stand-in then plays AWS (docs/stand-in.md),
and a sandbox every existing cluster.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from catalog.loader import load
from models.core.problems import ProblemsError
from models.settings.regions import ExistingClusterSettings, RegionSettings
from models.settings.settings import Settings, parse
from models.settings.storage import Credentials
from sandbox import toolchain
from sandbox.aws.lifecycle.side import AwsSide, is_on
from sandbox.cluster import cluster, storage_classes
from sandbox.cluster.pools import nodes_of
from sandbox.core.errors import SandboxError
from sandbox.core.paths import PROJECT_ROOT, cache_root
from sandbox.engine.diagnosis import unready_objects, unready_pods
from sandbox.engine.event_log import followed
from sandbox.engine.kubeconfig import merged
from sandbox.engine.progress import Progress
from sandbox.engine.recovery import recover
from sandbox.engine.workspace import Workspace, read_settings
from sandbox.operators import charts
from sandbox.operators.controllers.needed import crd_sets
from sandbox.operators.controllers.sources import provide_in_kubernetes
from sandbox.toolchain.errors import ToolchainError

CONTEXT_PREFIX: Final = "triplane-sandbox"
SETTINGS_KEY: Final = "triplane:platform"

CHECKED: Final = (
    *("--policy-pack", str(PROJECT_ROOT / "policies")),
    "--suppress-permalink=true",
)
"""The pack judges the preview that precedes an update, so that nothing is half-created."""

UP: Final = ("up", "--yes", "--skip-preview", "--suppress-permalink=true")
"""Without preview and pack: for what was proven already, and for rendering."""

_MADE_UP_KEYS: Final = {"access_key_id": "sandbox", "secret_access_key": "sandbox"}

Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class SandboxStack:
    """One stack in the sandbox.

    `instance` tells apart several of the same environment (tests); `change` edits the settings
    before they are used; `config` adds other configuration keys. The toolchain is asked for by what
    runs something, not by what only looks at settings.
    """

    env: str
    instance: str = ""
    change: Change | None = None
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stand_in: bool = field(default_factory=lambda: is_on(os.environ))
    """Whether AWS is played and every existing cluster too (`SANDBOX=1`)."""

    engines: bool = field(default_factory=lambda: os.environ.get("SANDBOX_ENGINES") == "1")
    """Whether stub engines run in existing clusters (`SANDBOX_ENGINES=1`)."""

    @cached_property
    def tools(self) -> toolchain.Toolchain:
        """The toolchain, built where it is not there yet."""
        return toolchain.ensure()

    @property
    def aws(self) -> AwsSide | None:
        """The stack's AWS side, where there is one."""
        return AwsSide(env=self.env, label=self.label, tools=self.tools) if self.stand_in else None

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
        foreign = [] if self.stand_in else [r.name for r in settings.regions if not _is_sandbox(r)]
        if foreign:
            message = (
                f"stack {self.env}: regions {', '.join(foreign)} are not in the sandbox: they are "
                f"on EKS, or their cluster's context does not begin with {CONTEXT_PREFIX}. To try "
                f"the stack offline, against a stand-in for AWS: SANDBOX=1 make up ENV={self.env}. "
                f"To run it for real: pulumi up --stack {self.env} (docs/aws.md)"
            )
            raise SandboxError(message)
        return settings

    def sandbox_name(self, region: str) -> str:
        """Return the name of a region's control plane."""
        return f"{self.label}-{region}"

    def start(self) -> Workspace:
        """Start the control planes, and return the workspace ready to run pulumi in."""
        settings = self.settings()
        contexts = self._start_existing(settings)
        variables = {"KUBECONFIG": str(self.home / "kubeconfig")}
        if self.aws is not None:
            variables |= self.aws.stand_in.variables()
        workspace = self._workspace(variables)
        workspace.prepare(self._runnable(settings))
        if self.aws is not None:
            self._invent_keys(workspace, settings)
            state = workspace.run(["stack", "export"], quiet=True).stdout
            self.aws.start(settings, json.loads(state))
            contexts |= self.aws.contexts()
        merged(contexts, self.home / "kubeconfig")
        return workspace

    def _start_existing(self, settings: Settings) -> dict[str, Path]:
        """Start a control plane for each existing cluster; return kubeconfigs by context."""
        contexts: dict[str, Path] = {}
        catalog = load()
        for region in settings.regions:
            if not isinstance(region.cluster, ExistingClusterSettings):
                continue
            running = cluster.start(
                self.sandbox_name(region.name),
                nodes_of(region, catalog),
                crd_sets=crd_sets(region),
                tools=self.tools,
                engines=self.engines,
            )
            environment = settings.environment.value
            provide_in_kubernetes(running.api(), region, settings.gateway, environment)
            storage_classes.provide(running.api(), storage_classes.expected(region))
            contexts[region.cluster.context] = running.kubeconfig
        return contexts

    def _invent_keys(self, workspace: Workspace, settings: Settings) -> None:
        """Set made-up keys, as secrets, where a region takes its object store's from the stack."""
        known = cast("dict[str, Any]", workspace.settings().get("config") or {})
        for region in settings.regions:
            key = f"triplane:{region.name}-object-store"
            if region.storage.objects.credentials is Credentials.CONFIG and key not in known:
                keys = json.dumps(_MADE_UP_KEYS)
                workspace.run(["config", "set", "--secret", key, keys], quiet=True)

    def _runnable(self, settings: Settings) -> dict[str, Any]:
        """Return the stack file's content with what a run in the sandbox needs beside it.

        Charts come from a local repository of stubs: nothing that a stack refers to outside is
        reached from here.
        """
        raw = self.raw()
        config = cast("dict[str, Any]", raw["config"])
        if settings.operators.installed and settings.mirror.charts is None:
            mirror = config[SETTINGS_KEY].setdefault("mirror", {})
            mirror["charts"] = charts.repository()
        return raw

    def _workspace(self, variables: Mapping[str, str]) -> Workspace:
        return Workspace(home=self.home, stack=self.env, toolchain=self.tools, variables=variables)

    def up(self) -> str:
        """Bring the stack up; return its outputs as JSON text, secrets masked."""
        workspace = self.start()
        self._recover(workspace)
        self._update(workspace)
        return workspace.run(["stack", "output", "--json"], quiet=True).stdout

    def _update(self, workspace: Workspace) -> None:
        """Run the update, showing what it has come to; the engine's own words go to a file.

        Where it fails, say what failed with its messages, and which pods are not ready and why.
        """
        log = self.home / "up.log"
        progress = Progress(
            write=_print, regions=[region.name for region in self.settings().regions]
        )
        _print(f"the engine's full log: {log}")
        with followed(self.home / "up.events.jsonl", progress) as events:
            command = ["up", "--yes", *CHECKED, "--suppress-outputs", "--event-log", str(events)]
            done = _logging(workspace).attempt(command, log=log)
        if done.returncode == 0:
            progress.finish()
            return
        lines = [
            line
            for context in self._contexts()
            for look in (unready_objects, unready_pods)
            for line in look(workspace, context)
        ]
        what = f"the update of stack {self.env} failed; the engine's full log: {log}"
        raise SandboxError("\n  ".join([what, *progress.failures, *lines]))

    def preview(self, events: Path) -> None:
        """Preview the stack against its control planes; keep the engine's events in a file.

        They are what `triplane changes` judges; the engine masks secrets in them.
        """
        workspace = self.start()
        self._recover(workspace)
        events.parent.mkdir(parents=True, exist_ok=True)
        events.unlink(missing_ok=True)
        _logging(workspace).run(["preview", *CHECKED, "--event-log", str(events)])

    def _contexts(self) -> list[str]:
        """Return the kubeconfig contexts of all control planes; EKS clusters may have come late."""
        existing = {
            region.cluster.context: cluster.kubeconfig(self.sandbox_name(region.name))
            for region in self.settings().regions
            if isinstance(region.cluster, ExistingClusterSettings)
        }
        if self.aws is None:
            return list(existing)
        late = self.aws.contexts()
        merged({**existing, **late}, self.home / "kubeconfig")
        return [*existing, *late]

    def down(self) -> None:
        """Destroy the stack, stop its control planes and delete their data.

        With `SANDBOX=1` what is protected is unprotected first, which nobody does for a real stack
        but its owner (docs/aws.md), and AWS must be empty afterwards.
        """
        if self.home.exists():
            workspace = self.start()
            self._recover(workspace)
            if self.aws is not None:
                self._unprotect(workspace, self.aws)
            workspace.run(["destroy", "--yes", "--skip-preview", "--suppress-permalink=true"])
            if self.aws is not None:
                self.aws.require_empty(self.settings())
            workspace.run(["stack", "rm", "--yes", "--preserve-config", self.env], quiet=True)
        self.purge()

    def _unprotect(self, workspace: Workspace, aws: AwsSide) -> None:
        print(f"stack {self.env}: SANDBOX=1, so protection is lifted before the destroy")
        workspace.run(["state", "unprotect", "--all", "--yes"], quiet=True)
        aws.lift_deletion_protection(self.settings(), print)

    def _recover(self, workspace: Workspace) -> None:
        recover(workspace, None if self.aws is None else self.aws.stand_in.home.repeated)

    def purge(self) -> None:
        """Stop the control planes and delete every trace of the stack, without destroying it."""
        for region in self.raw()["config"][SETTINGS_KEY]["regions"]:
            name = self.sandbox_name(str(region["name"]))
            # EKS clusters have control planes of another name, which are AWS's side. Settings may
            # have changed since the last run, so what there is counts, not only what they say.
            existing = region["cluster"].get("kind") == "existing"
            if existing or cluster.status(name).exists:
                cluster.stop(name, purge=True)
        if self.aws is not None:
            self.aws.purge(print)
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
            # This state is thrown away: no step of it need be kept.
            variables = {"PULUMI_SKIP_CHECKPOINTS": "true"}
            workspace = Workspace(
                home=home, stack=self.env, toolchain=self.tools, variables=variables
            )
            raw = self.raw()
            raw["config"]["triplane:renderTo"] = str(home / "files")
            workspace.prepare(raw)
            yield workspace, home / "files"
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _logging(workspace: Workspace) -> Workspace:
    """Return the workspace with event logs: they are among the engine's commands for debugging."""
    return replace(workspace, variables={**workspace.variables, "PULUMI_DEBUG_COMMANDS": "true"})


def _print(text: str) -> None:
    print(text, flush=True)


def _is_sandbox(region: RegionSettings) -> bool:
    """Tell whether a region's cluster is one that is started here without further ado."""
    given = region.cluster
    return isinstance(given, ExistingClusterSettings) and given.context.startswith(CONTEXT_PREFIX)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox.engine.stack", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "preview", "render"])
    parser.add_argument("--env", default="dev", help="which Pulumi.<env>.yaml")
    parser.add_argument(
        "--purge", action="store_true", help="with down: delete everything without destroying it"
    )
    return parser.parse_args()


def _run(command: str, stack: SandboxStack, *, purge: bool) -> None:
    if command == "up":
        print(stack.up(), end="")
    elif command == "down" and purge:
        stack.purge()
    elif command == "down":
        stack.down()
    elif command == "preview":
        stack.preview(PROJECT_ROOT / "build" / f"{stack.label}.preview.jsonl")
    else:
        target = PROJECT_ROOT / "build" / stack.label
        stack.render(target)
        print(f"manifests written to {target.relative_to(PROJECT_ROOT)}/")


def main() -> int:
    """Run one command; errors are lines, not tracebacks."""
    arguments = _arguments()
    try:
        instance = os.environ.get("TRIPLANE_INSTANCE", "")
        stack = SandboxStack(env=arguments.env, instance=instance)
        _run(arguments.command, stack, purge=arguments.purge)
    except (SandboxError, ToolchainError, ProblemsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
