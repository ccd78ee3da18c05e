"""Starting, stopping and asking after a control plane: the interface of the sandbox.

A sandbox is a name. Its data, ports, credentials and logs are kept under one folder outside the
project's tree, so that a stopped one starts again as it was and its kubeconfig stays valid.
"""

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import toolchain
from sandbox.cluster import node_sync, pki, templates
from sandbox.cluster.controlplane import (
    PORT_ROLES,
    SERVICE_IP,
    START_ORDER,
    ProcessPlan,
    engine_addresses,
)
from sandbox.cluster.nodes import NodeSpec
from sandbox.core import locks, ports
from sandbox.core.errors import SandboxError
from sandbox.core.kube import Api
from sandbox.core.paths import cache_root, sandboxes_home
from sandbox.core.processes import Supervisor
from sandbox.crds import apply as crd_apply
from sandbox.crds import sources as crds
from sandbox.crds.sources import PinnedDefinition
from sandbox.operators.controllers import accounts
from sandbox.operators.controllers.table import NAMES, wanted
from sandbox.toolchain import Toolchain

__all__ = ["Sandbox", "SandboxError", "Status", "kubeconfig", "start", "status", "stop"]

_NAME: Final = re.compile(r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")
_NODE_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_CONTROLLERS_FILE: Final = "controllers.json"
"""Which controllers were wanted at the last start: one that is not up is a fault, then."""
_HEALTH_TIMEOUT_SEC: Final = 90.0
_STOP_TIMEOUT_SEC: Final = 10.0

Say = Callable[[str], None]


def say_to_stderr(text: str) -> None:
    """Write one line of progress where it does not disturb a command's result."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """A running control plane."""

    name: str
    home: Path
    server: str
    kubeconfig: Path
    """The administrator's, with token and CA inline, mode 0600."""
    toolchain: Toolchain

    @property
    def engine_addresses(self) -> Path:
        """The file that an `AddressFile` reads; absent without engines."""
        return engine_addresses(self.home)

    @property
    def engine_control(self) -> str:
        """Where engines are listed, steered and killed (`sandbox/dataplane/engines/fleet.py`)."""
        return f"http://127.0.0.1:{ports.chosen(self.home)['engines']}"

    def api(self) -> Api:
        """Open a client as administrator."""
        return _api(self.home, self.server, "admin")


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What is known of a sandbox: `processes` maps each name to its process id or None."""

    name: str
    home: Path
    exists: bool
    processes: dict[str, int | None]

    @property
    def running(self) -> bool:
        """Whether every process is up."""
        return all(pid is not None for pid in self.processes.values())


def start(
    name: str,
    node_specs: Sequence[NodeSpec] = (),
    *,
    crd_sets: Sequence[str] = crds.DEFAULT_SETS,
    tools: Toolchain | None = None,
    aws_endpoint: str | None = None,
    aws_account: str = "sandbox",
    engines: bool = False,
    say: Say = say_to_stderr,
) -> Sandbox:
    """Bring the sandbox `name` up as described, starting and changing only what differs.

    Builds the toolchain if it is not in the cache, unless `tools` is given. `aws_endpoint` is where
    External Secrets finds a stand-in for AWS, `aws_account` the account that it acts in. With
    `engines` stub engines run for engine pods, from then on at every start: their pods wait for
    them when they are deleted. Raises `SandboxError` with the end of the log of the process that
    did not come up.
    """
    home = _home(name)
    tools = toolchain.ensure() if tools is None else tools
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    waiting = f"sandbox {name}: somebody else is starting or stopping it, waiting"
    with locks.exclusive(home / "lock", lambda: say(waiting)):
        began = time.monotonic()
        chosen = ports.ensure(sandboxes_home(), home, PORT_ROLES)
        server = f"https://127.0.0.1:{chosen['kube-apiserver']}"
        keys = pki.ensure(home / "pki", server=server, service_ip=SERVICE_IP)
        plan = ProcessPlan(
            home=home,
            tools=tools,
            pki=keys,
            ports=chosen,
            controllers=wanted(crd_sets),
            aws_endpoint=aws_endpoint,
            aws_account=aws_account,
        )
        definitions = crds.resolve_all(crds.select(crds.read_lock(), crd_sets), say)
        _begin_from_template(plan, definitions)
        started = _start_processes(plan, _supervisor(home))
        api = _api(home, server, "admin")
        applied, total = crd_apply.apply(
            lambda: _api(home, server, "admin"), home / templates.RECORD, definitions
        )
        _start_one(plan, _supervisor(home), "standins", started)
        _start_controllers(plan, api, started)
        if engines or engine_addresses(home).exists():
            _start_one(plan, _supervisor(home), "engines", started)
            _wait_healthy(plan, _supervisor(home), ["engines"])
        node_sync.reconcile(api, node_specs, say)
        # Last, since the controller-manager takes seconds to come to it while we load the rest.
        _wait_for_default_account(api, _supervisor(home))
        what = f"started {', '.join(started)}" if started else "already running"
        say(
            f"sandbox {name}: {what}; {applied} of {total} CRDs applied, {len(node_specs)} nodes "
            f"Ready, {time.monotonic() - began:.1f} s; {server}"
        )
    return Sandbox(
        name=name,
        home=home,
        server=server,
        kubeconfig=keys.kubeconfig("admin"),
        toolchain=tools,
    )


def stop(name: str, *, purge: bool = False, say: Say = say_to_stderr) -> None:
    """End every process of `name`; with `purge` also delete its data. Unknown names are no error.

    The API server goes before etcd: the other way round it hangs on its watches.
    """
    home = _home(name)
    if not home.exists():
        say(f"sandbox {name}: there is none")
        return
    with locks.exclusive(home / "lock"):
        supervisor = _supervisor(home)
        rest = [name for name in (*START_ORDER, "engines", *NAMES) if name != "etcd"]
        # Whose data are deleted need not write them first.
        timeout_sec = 0.0 if purge else _STOP_TIMEOUT_SEC
        supervisor.stop(rest, timeout_sec)
        supervisor.stop(["etcd"], timeout_sec)
        if purge:
            shutil.rmtree(home)
    say(f"sandbox {name}: stopped{' and purged' if purge else ''}")


def status(name: str) -> Status:
    """Tell which processes of `name` run."""
    home = _home(name)
    supervisor = _supervisor(home)
    engines = ("engines",) if engine_addresses(home).exists() else ()
    names = (*START_ORDER, *engines, *_started_controllers(home))
    running = {process: supervisor.running(process) for process in names}
    return Status(
        name=name,
        home=home,
        exists=home.exists(),
        processes={key: None if found is None else found.pid for key, found in running.items()},
    )


def kubeconfig(name: str) -> Path:
    """Return the administrator's kubeconfig of `name`; raises `SandboxError` when there is none."""
    path = pki.Pki(root=_home(name) / "pki").kubeconfig("admin")
    if not path.exists():
        raise SandboxError(
            f"sandbox {name!r} has no kubeconfig: start it first (python -m sandbox start --name "
            f"{name})"
        )
    return path


def _home(name: str) -> Path:
    if not _NAME.match(name):
        raise SandboxError(
            f"sandbox name {name!r} is not allowed: lower-case letters, digits and inner hyphens, "
            "at most 40"
        )
    return sandboxes_home() / name


def _supervisor(home: Path) -> Supervisor:
    return Supervisor(records=home / "processes", logs=home / "logs")


def _api(home: Path, server: str, user: str) -> Api:
    keys = pki.Pki(root=home / "pki")
    return Api(server, keys.tokens()[user], keys.path("ca.crt"))


def _begin_from_template(plan: ProcessPlan, definitions: Sequence[PinnedDefinition]) -> None:
    """Give a new sandbox data with its definitions; one that was started before has its own."""
    if not definitions or (plan.home / templates.DATA).exists():
        return
    name = templates.key(plan.tools, definitions)
    workshop = _home(f"template-{name}")
    kept = templates.Templates(root=cache_root() / "templates")
    kept.lay(name, plan.home, lambda: _load_apart(workshop, plan.tools, definitions))
    shutil.rmtree(workshop, ignore_errors=True)


def _load_apart(home: Path, tools: Toolchain, definitions: Sequence[PinnedDefinition]) -> Path:
    """Load definitions in a control plane of their own with keys of its own; stop it."""
    supervisor = _supervisor(home)
    # A killed start may have left processes and half of the definitions.
    supervisor.stop(("kube-apiserver", "etcd"), 0.0)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True, mode=0o700)
    chosen = ports.ensure(sandboxes_home(), home, PORT_ROLES)
    server = f"https://127.0.0.1:{chosen['kube-apiserver']}"
    keys = pki.ensure(home / "pki", server=server, service_ip=SERVICE_IP)
    plan = ProcessPlan(home=home, tools=tools, pki=keys, ports=chosen)
    try:
        _start_api(plan, supervisor, [])
        crd_apply.apply(lambda: _api(home, server, "admin"), home / templates.RECORD, definitions)
    finally:
        for name in ("kube-apiserver", "etcd"):
            supervisor.stop([name], _STOP_TIMEOUT_SEC)
    return home


def _start_api(plan: ProcessPlan, supervisor: Supervisor, started: list[str]) -> None:
    for name in ("etcd", "kube-apiserver"):
        _start_one(plan, supervisor, name, started)
    _wait_healthy(plan, supervisor, ["kube-apiserver"])


def _start_processes(plan: ProcessPlan, supervisor: Supervisor) -> list[str]:
    """Start etcd to kwok, each waiting for the API server; return the names that were started."""
    started: list[str] = []
    _start_api(plan, supervisor, started)
    rest = ["kube-controller-manager", "kube-scheduler", "kwok"]
    for name in rest:
        _start_one(plan, supervisor, name, started)
    _wait_healthy(plan, supervisor, rest)
    return started


def _start_controllers(plan: ProcessPlan, api: Api, started: list[str]) -> None:
    """Start the controllers whose definitions are loaded; end those whose definitions are not."""
    supervisor = _supervisor(plan.home)
    names = [controller.name for controller in plan.controllers]
    supervisor.stop([name for name in NAMES if name not in names], _STOP_TIMEOUT_SEC)
    (plan.home / _CONTROLLERS_FILE).write_text(json.dumps(names))
    for controller in plan.controllers:
        folder = plan.controller_kubeconfig(controller.name).parent
        accounts.ensure(api, controller, plan.server, plan.pki.path("ca.crt"), folder)
    for name in names:
        _start_one(plan, supervisor, name, started)
    _wait_healthy(plan, supervisor, names)


def _started_controllers(home: Path) -> list[str]:
    try:
        return json.loads((home / _CONTROLLERS_FILE).read_text())
    except (OSError, ValueError):
        return []


def _start_one(plan: ProcessPlan, supervisor: Supervisor, name: str, started: list[str]) -> None:
    spec = plan.specs()[name]
    if supervisor.is_current(spec):
        return
    # What runs with other arguments is out of date; stopping what does not run does nothing.
    supervisor.stop([name], _STOP_TIMEOUT_SEC)
    for role, port in plan.ports.items():
        if role.removesuffix("-client").removesuffix("-peer") == name:
            ports.require_free(port, name)
    if name == "kwok":
        # A killed one still holds its nodes' leases: its successor would look on for 40 seconds.
        _api(plan.home, plan.server, "admin").delete(_NODE_LEASES)
    supervisor.spawn(spec)
    started.append(name)


def _wait_healthy(plan: ProcessPlan, supervisor: Supervisor, names: Sequence[str]) -> None:
    deadline = time.monotonic() + _HEALTH_TIMEOUT_SEC
    waiting = list(names)
    while waiting:
        for name in ("etcd", *names):
            supervisor.require_alive(name)
        waiting = [name for name in waiting if not _is_healthy(plan, name)]
        if waiting and time.monotonic() > deadline:
            raise SandboxError(
                f"{waiting[0]} is not healthy after {_HEALTH_TIMEOUT_SEC:.0f} s. "
                + supervisor.explain(waiting[0])
            )
        time.sleep(0.1)


def _is_healthy(plan: ProcessPlan, name: str) -> bool:
    return _api(plan.home, plan.health_url(name), "admin").healthy()


def _wait_for_default_account(api: Api, supervisor: Supervisor) -> None:
    """Wait until pods can be made: admission refuses them before this account exists."""
    deadline = time.monotonic() + _HEALTH_TIMEOUT_SEC
    while api.get("/api/v1/namespaces/default/serviceaccounts/default") is None:
        supervisor.require_alive("kube-controller-manager")
        if time.monotonic() > deadline:
            raise SandboxError(
                "the controller-manager made no default service account. "
                + supervisor.explain("kube-controller-manager")
            )
        time.sleep(0.1)
