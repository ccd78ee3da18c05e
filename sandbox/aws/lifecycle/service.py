"""Starting and stopping a stack's stand-in: moto's process, the plugin and the `aws` shim."""

import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import requests

from sandbox.aws.clusters import planes, registry
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.home import SWITCH, PlaneNeeds, StandInHome
from sandbox.cluster import cluster
from sandbox.core import locks, ports
from sandbox.core.paths import PROJECT_ROOT, sandboxes_home
from sandbox.core.processes import ProcessSpec, Supervisor
from sandbox.toolchain import Toolchain, bindir
from sandbox.toolchain.table import PROVIDER_VERSION

PROCESS: Final = "moto"
_PLUGIN: Final = "pulumi-resource-aws"
_TIMEOUT_SEC: Final = 60.0
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsStandIn:
    """One stack's stand-in. Its folder is named so that no control plane's can be the same."""

    label: str
    tools: Toolchain

    @property
    def home(self) -> StandInHome:
        """Where everything of it is kept."""
        return StandInHome(root=sandboxes_home() / f"{self.label}.aws")

    @property
    def _supervisor(self) -> Supervisor:
        root = self.home.root
        return Supervisor(records=root / "processes", logs=root / "logs")

    def running(self) -> bool:
        """Tell whether moto runs: with it everything that was made on AWS."""
        return self._supervisor.running(PROCESS) is not None

    def start(self, needs: Mapping[str, PlaneNeeds]) -> None:
        """Start moto unless it runs, write the launchers, bring the clusters' control planes up.

        `needs` says what the control planes of each AWS region are given.
        """
        root = self.home.root
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locks.exclusive(root / "lock"):
            port = ports.ensure(sandboxes_home(), root, [PROCESS])[PROCESS]
            endpoint = f"http://127.0.0.1:{port}"
            self.home.write_config(self.label, endpoint, needs)
            if not self.running():
                ports.require_free(port, PROCESS)
                self._supervisor.spawn(self._spec(port))
            self._wait(endpoint)
            self._write_launchers()
        planes.restart(self.home)

    def _spec(self, port: int) -> ProcessSpec:
        arguments = ("--port", str(port), "--home", str(self.home.root))
        return ProcessSpec(
            name=PROCESS,
            argv=(sys.executable, "-P", "-m", "sandbox.aws.server", *arguments),
            env={SWITCH: "1", "PYTHONPATH": str(PROJECT_ROOT)},
        )

    def _wait(self, endpoint: str) -> None:
        deadline = time.monotonic() + _TIMEOUT_SEC
        session = requests.Session()
        session.trust_env = False
        while True:
            self._supervisor.require_alive(PROCESS)
            try:
                session.get(f"{endpoint}/stand-in", timeout=2).raise_for_status()
            except requests.RequestException as error:
                if time.monotonic() > deadline:
                    message = f"moto does not answer. {self._supervisor.explain(PROCESS)}"
                    raise StandInError(message) from error
                time.sleep(0.1)
            else:
                return

    def _write_launchers(self) -> None:
        home = self.home
        home.bin.mkdir(exist_ok=True)
        shim = Path(__file__).with_name("shim.py")
        # -I and -S: nothing of anybody's environment, and a start in a fiftieth of a second.
        call = shlex.join([sys.executable, "-I", "-S", str(shim), str(home.root)])
        _script(home.bin / "aws", f'exec {call} "$@"')
        plugins = self.pulumi_home / "plugins"
        folder = plugins / f"resource-aws-v{version('pulumi-aws')}"
        folder.mkdir(parents=True, exist_ok=True)
        call = shlex.join([sys.executable, "-P", "-m", "sandbox.aws.plugin"])
        path = shlex.quote(str(PROJECT_ROOT))
        root = shlex.quote(str(home.root))
        _script(folder / _PLUGIN, f'PYTHONPATH={path} exec {call} --home {root} "$@"')
        bindir.install_plugin(self.tools.bin_dir, self.pulumi_home, PROVIDER_VERSION)

    @property
    def pulumi_home(self) -> Path:
        """A PULUMI_HOME of this stack's own: elsewhere the stand-in is not to be found."""
        return self.home.root / "pulumi-home"

    def variables(self) -> Mapping[str, str]:
        """Return the environment that lets a stack's commands find the stand-in."""
        path = self.tools.env()["PATH"]
        return {
            SWITCH: "1",
            "PATH": f"{self.home.bin}:{path}",
            "PULUMI_HOME": str(self.pulumi_home),
        }

    def purge(self, say: Say) -> None:
        """Stop moto and every control plane of an EKS cluster, and delete what they kept."""
        root = self.home.root
        if not root.exists():
            return
        for entry in list(registry.of(self.home).entries()):
            cluster.stop(entry.sandbox, purge=True, say=say)
            registry.of(self.home).remove(entry.sandbox)
        self._supervisor.stop([PROCESS], 5.0)
        shutil.rmtree(root, ignore_errors=True)


def _script(path: Path, body: str) -> None:
    text = f"#!/bin/sh\n{body}\n"
    if path.exists() and path.read_text() == text:
        return
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.chmod(0o755)
    partial.replace(path)
