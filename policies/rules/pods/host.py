"""The host, and Pod Security: what a pod may reach outside itself."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import NODE_NAMESPACE, Context, is_house
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import Container, Pod, concerns_us

_HARMLESS_CAPABILITIES: Final = frozenset({"NET_BIND_SERVICE"})
_HOST_SWITCHES: Final = ("hostNetwork", "hostPID", "hostIPC")
_VOLUMES: Final = frozenset(
    {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"}
    | {"projected", "secret"}
)
_STANDARD: Final = "Pod Security Standards"


@rule(
    "k8s-pod-stay-off-host",
    f"Nothing touches the host outside the namespace {NODE_NAMESPACE}.",
    remedy="take the privilege out; what really needs the host runs in the namespace "
    f"{NODE_NAMESPACE} (docs/policies.md), an operator's own pods need a recorded exception",
    weight=RuleWeight.CRITICAL,
    tags=("host",),
    framework=(_STANDARD, "baseline"),
    fragments=True,
    house=True,
    configuration=("nodeNamespaces",),
)
def stay_off_host(pod: Pod, context: Context) -> Iterator[Finding]:
    """Privileged containers, the host's namespaces, paths and ports, capabilities."""
    if pod.namespace in context.node_namespaces:
        return
    for switch in _HOST_SWITCHES:
        if pod.spec[switch].flag():
            yield Finding(pod.spec[switch].path, f"the pod asks for {switch}")
    for volume in pod.spec["volumes"].items():
        if volume["hostPath"].present:
            yield Finding(volume.path, f"volume {volume['name'].text()!r} is a hostPath")
    for container in pod.containers():
        yield from _container_on_host(container)


def _container_on_host(container: Container) -> Iterator[Finding]:
    security = container.node["securityContext"]
    if security["privileged"].flag():
        yield Finding(security.path, f"container {container.called} is privileged")
    for word in security.at("capabilities", "add").words():
        if word.upper().removeprefix("CAP_") not in _HARMLESS_CAPABILITIES:
            yield Finding(security.path, f"container {container.called} adds the capability {word}")
    for port in container.node["ports"].items():
        if port["hostPort"].integer():
            yield Finding(port.path, f"container {container.called} takes a port of the host")


@rule(
    "k8s-pod-meet-restricted",
    "Every pod of this project meets the restricted Pod Security Standard.",
    remedy="set runAsNonRoot: true, seccompProfile RuntimeDefault, allowPrivilegeEscalation: false "
    "and capabilities.drop: [ALL] on every container",
    tags=("pod-security",),
    framework=(_STANDARD, "restricted"),
    house=True,
    configuration=("nodeNamespaces",),
)
def meet_restricted(pod: Pod, context: Context) -> Iterator[Finding]:
    """An error in this project's namespaces; elsewhere a warning for what runs engines."""
    if pod.namespace in context.node_namespaces or not concerns_us(pod):
        return
    severity = Severity.ERROR if is_house(pod.namespace) else Severity.WARNING
    for volume in pod.spec["volumes"].items():
        kinds = {key for key, node in volume.pairs() if key != "name" and node.present}
        if kinds - _VOLUMES - {"hostPath"}:
            yield Finding(volume.path, f"a volume is of kind {sorted(kinds)}", severity)
    for container in pod.containers():
        if not container.inherits:
            for path, message in _unrestricted(container):
                yield Finding(path, f"container {container.called} {message}", severity)


def _unrestricted(container: Container) -> Iterator[tuple[str, str]]:
    own, pod = container.node["securityContext"], container.pod.spec["securityContext"]
    if not _effective(own, pod, "runAsNonRoot").flag():
        yield own.path, "may run as root (runAsNonRoot is not true)"
    user = _effective(own, pod, "runAsUser")
    if user.present and user.integer() == 0:
        yield user.path, "runs as user 0"
    if own["allowPrivilegeEscalation"].flag() is not False:
        yield own.path, "may escalate privileges (allowPrivilegeEscalation is not false)"
    if "ALL" not in (word.upper() for word in own.at("capabilities", "drop").words()):
        yield own.path, "keeps capabilities (drop has no ALL)"
    seccomp = _effective(own, pod, "seccompProfile")["type"]
    if seccomp.text() not in ("RuntimeDefault", "Localhost"):
        yield own.path, "has no seccomp profile"
    if own["procMount"].text() not in (None, "Default"):
        yield own.path, "changes procMount"


def _effective(own: Node, pod: Node, key: str) -> Node:
    return own[key] if own[key].present else pod[key]


@rule(
    "k8s-namespace-enforce-restricted",
    "Every namespace of this project enforces the restricted Pod Security Standard.",
    remedy='label it {"pod-security.kubernetes.io/enforce": "restricted"}',
    tags=("pod-security",),
    framework=(_STANDARD, "restricted"),
    house=True,
    configuration=("nodeNamespaces",),
)
def enforce_restricted(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """Except the one namespace for what needs the host."""
    name = manifest.metadata["name"].text()
    if not manifest.is_kind("Namespace") or not is_house(name):
        return
    level = manifest.labels().get("pod-security.kubernetes.io/enforce")
    if name not in context.node_namespaces and level != "restricted":
        said = "nothing" if level is None else repr(level)
        yield Finding("metadata.labels", f"the namespace enforces {said}, not restricted")
