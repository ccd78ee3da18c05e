"""The processes of a control plane, as command lines; nothing here starts anything."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sandbox.cluster.pki import Pki
from sandbox.core.paths import PROJECT_ROOT
from sandbox.core.processes import GO_MEMORY, ProcessSpec
from sandbox.operators.controllers.table import NAMES, Controller
from sandbox.toolchain import Toolchain

PORT_ROLES: Final = (
    "etcd-client",
    "etcd-peer",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "engines",
    *NAMES,
)
SERVICE_RANGE: Final = "10.96.0.0/16"
SERVICE_IP: Final = "10.96.0.1"
_POD_RANGE: Final = "10.244.0.1/16"
STAGES_DIR: Final = Path(__file__).resolve().parent / "stages"

START_ORDER: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "standins",
)
"""What every sandbox runs; the controllers of `sandbox/operators/controllers` come after, where
wanted."""


_NO_AWS: Final = {
    # The stand-in takes any secret; a user's own must not reach a controller of the sandbox.
    "AWS_SECRET_ACCESS_KEY": "sandbox",
    "AWS_SESSION_TOKEN": "",
    "AWS_PROFILE": "",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessPlan:
    """What the command lines are made from."""

    home: Path
    tools: Toolchain
    pki: Pki
    ports: Mapping[str, int]
    controllers: tuple[Controller, ...] = ()
    aws_endpoint: str | None = None
    """Where External Secrets finds AWS; None where no stand-in for AWS runs."""

    aws_account: str = "sandbox"
    """Its access key: the stand-in takes an account's number for whose secrets are read."""

    @property
    def server(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    def health_url(self, name: str) -> str:
        """Return where the process `name` says whether it is well (etcd does not)."""
        scheme = "http" if name in ("kwok", "engines", *NAMES) else "https"
        path = "readyz" if name == "kube-apiserver" else "healthz"
        return f"{scheme}://127.0.0.1:{self.ports[name]}/{path}"

    def specs(self) -> dict[str, ProcessSpec]:
        """Return every process by name, in the order of starting."""
        made = (
            self._etcd(),
            self._apiserver(),
            self._controller_manager(),
            self._scheduler(),
            self._kwok(),
            self._standins(),
            self._engines(),
            *(self._controller(controller) for controller in self.controllers),
        )
        return {spec.name: spec for spec in made}

    def _tool(self, tool: str, flags: Mapping[str, object], *inputs: Path) -> ProcessSpec:
        # The build itself, not the link: an identity that a new bin directory does not change.
        program = str(self.tools.path(tool).resolve())
        argv = (program, *(f"--{flag}={value}" for flag, value in flags.items()))
        return ProcessSpec(name=tool, argv=argv, env=GO_MEMORY, inputs=inputs)

    def _etcd(self) -> ProcessSpec:
        client = f"https://127.0.0.1:{self.ports['etcd-client']}"
        peer = f"https://127.0.0.1:{self.ports['etcd-peer']}"
        tls = {
            "cert-file": self.pki.path("serving.crt"),
            "key-file": self.pki.path("serving.key"),
            "trusted-ca-file": self.pki.path("ca.crt"),
            # Everybody on the machine can reach the loopback address; etcd holds every Secret.
            "client-cert-auth": "true",
        }
        return self._tool(
            "etcd",
            {
                "name": "sandbox",
                "data-dir": self.home / "etcd",
                "listen-client-urls": client,
                "advertise-client-urls": client,
                "listen-peer-urls": peer,
                "initial-advertise-peer-urls": peer,
                "initial-cluster": f"sandbox={peer}",
                **tls,
                **{f"peer-{flag}": value for flag, value in tls.items()},
                # Safe against a killed process, not against a power cut: right for a sandbox.
                "unsafe-no-fsync": "true",
                "log-level": "warn",
            },
        )

    def _apiserver(self) -> ProcessSpec:
        path = self.pki.path
        return self._tool(
            "kube-apiserver",
            {
                "etcd-servers": f"https://127.0.0.1:{self.ports['etcd-client']}",
                "etcd-cafile": path("ca.crt"),
                "etcd-certfile": path("etcd-client.crt"),
                "etcd-keyfile": path("etcd-client.key"),
                "bind-address": "127.0.0.1",
                "secure-port": self.ports["kube-apiserver"],
                "tls-cert-file": path("serving.crt"),
                "tls-private-key-file": path("serving.key"),
                "client-ca-file": path("ca.crt"),
                "token-auth-file": path("tokens.csv"),
                "authorization-mode": "RBAC",
                "allow-privileged": "true",
                "service-account-issuer": "https://kubernetes.default.svc",
                "service-account-key-file": path("sa.pub"),
                "service-account-signing-key-file": path("sa.key"),
                "service-cluster-ip-range": SERVICE_RANGE,
                # The endpoint of the `kubernetes` Service may not be a loopback address.
                "endpoint-reconciler-type": "none",
                # Aggregation (KEDA's external metrics): who may speak for other users.
                "requestheader-client-ca-file": path("front-proxy-ca.crt"),
                "requestheader-allowed-names": "front-proxy-client",
                "requestheader-extra-headers-prefix": "X-Remote-Extra-",
                "requestheader-group-headers": "X-Remote-Group",
                "requestheader-username-headers": "X-Remote-User",
                "proxy-client-cert-file": path("front-proxy-client.crt"),
                "proxy-client-key-file": path("front-proxy-client.key"),
                "enable-aggregator-routing": "true",
                "profiling": "false",
            },
        )

    def _component(self, name: str, extra: Mapping[str, object]) -> ProcessSpec:
        kubeconfig = self.pki.kubeconfig(f"system:{name}")
        return self._tool(
            name,
            {
                "kubeconfig": kubeconfig,
                "authentication-kubeconfig": kubeconfig,
                "authorization-kubeconfig": kubeconfig,
                "bind-address": "127.0.0.1",
                "secure-port": self.ports[name],
                "tls-cert-file": self.pki.path("serving.crt"),
                "tls-private-key-file": self.pki.path("serving.key"),
                # There is one of each: an election only delays a restart by its lease.
                "leader-elect": "false",
                "profiling": "false",
                # The default of 20 requests per second alone delays a first start by seconds.
                "kube-api-qps": 300,
                "kube-api-burst": 500,
                **extra,
            },
        )

    def _controller_manager(self) -> ProcessSpec:
        return self._component(
            "kube-controller-manager",
            {
                "service-account-private-key-file": self.pki.path("sa.key"),
                "root-ca-file": self.pki.path("ca.crt"),
                "use-service-account-credentials": "true",
                "horizontal-pod-autoscaler-sync-period": "5s",
            },
        )

    def _scheduler(self) -> ProcessSpec:
        return self._component("kube-scheduler", {})

    def _kwok(self) -> ProcessSpec:
        stages = sorted(STAGES_DIR.glob("*.yaml"))
        base = self._tool(
            "kwok",
            {
                "kubeconfig": self.pki.kubeconfig("triplane:kwok"),
                "manage-nodes-with-annotation-selector": "kwok.x-k8s.io/node=fake",
                # Without leases the node controller finds every node dead after 40 seconds.
                "node-lease-duration-seconds": 40,
                "node-ip": "127.0.0.1",
                "cidr": _POD_RANGE,
                "server-address": f"127.0.0.1:{self.ports['kwok']}",
            },
            *stages,
        )
        configs = tuple(f"--config={stage}" for stage in stages)
        return replace(base, argv=base.argv + configs)

    def controller_kubeconfig(self, name: str) -> Path:
        """Return the kubeconfig of a controller's service account."""
        return self.home / "controllers" / f"{name}.kubeconfig"

    def _controller(self, controller: Controller) -> ProcessSpec:
        kubeconfig = self.controller_kubeconfig(controller.name)
        flags = {
            "kubeconfig": kubeconfig,
            "health-address": f"127.0.0.1:{self.ports[controller.name]}",
        }
        if controller.reads_aws and self.aws_endpoint is not None:
            flags["secrets-manager-endpoint"] = self.aws_endpoint
        base = self._tool(controller.name, flags, kubeconfig)
        own = {**base.env, **_NO_AWS, "AWS_ACCESS_KEY_ID": self.aws_account}
        return replace(base, argv=(*base.argv, *controller.flags), env=own)

    def _standins(self) -> ProcessSpec:
        folder = PROJECT_ROOT / "sandbox"
        kubeconfig = self.pki.kubeconfig("triplane:standins")
        return ProcessSpec(
            name="standins",
            argv=(sys.executable, "-m", "sandbox.operators.standins", f"--kubeconfig={kubeconfig}"),
            env={"PYTHONPATH": str(PROJECT_ROOT), "PYTHONUNBUFFERED": "1"},
            inputs=(
                folder / "core" / "kube.py",
                *sorted((folder / "operators" / "standins").glob("*.py")),
            ),
        )

    def _engines(self) -> ProcessSpec:
        folder = PROJECT_ROOT / "sandbox"
        # It is a part of the kubelet, whose rights KWOK has.
        argv = (
            *(sys.executable, "-m", "sandbox.dataplane.pods"),
            f"--kubeconfig={self.pki.kubeconfig('triplane:kwok')}",
            f"--addresses={engine_addresses(self.home)}",
            f"--control-port={self.ports['engines']}",
        )
        return ProcessSpec(
            name="engines",
            argv=argv,
            env={"PYTHONPATH": str(PROJECT_ROOT), "PYTHONUNBUFFERED": "1"},
            inputs=(folder / "core" / "kube.py", *sorted((folder / "dataplane").rglob("*.py"))),
        )


def engine_addresses(home: Path) -> Path:
    """Return the file with the loopback ports of a sandbox's engines, where it runs them."""
    return home / "engines.json"
