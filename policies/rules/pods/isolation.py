"""GPU nodes are for pods that take GPUs, and those pods are sent there on purpose."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context, is_house, strictness
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.workload import Pod

_GPU_TAINT: Final = "nvidia.com/gpu"
_POOL_LABEL: Final = "triplane.dev/pool"
_GPU_LABELS: Final = (
    "nvidia.com/gpu.",
    "nvidia.com/mig",
    "nvidia.com/cuda.",
    "amd.com/gpu",
    "accelerator",
    "k8s.amazonaws.com/accelerator",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-gpu",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "karpenter.k8s.aws/instance-gpu",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "feature.node.kubernetes.io/pci-10de",
    _POOL_LABEL,
)
"""Node labels, or beginnings of them, by which GPU nodes are told from others."""

_GPU_ONLY: Final = ("nvidia.com/gpu.", "nvidia.com/mig", "gke-accelerator", "gke-gpu")


def _selected(pod: Pod) -> Iterator[tuple[str, Node]]:
    """Yield the node labels that a pod requires, with their values."""
    yield from pod.spec["nodeSelector"].pairs()
    for term in _terms(pod):
        yield from _required(term)


def _terms(pod: Pod) -> Iterator[Node]:
    """Yield the alternatives of the required node affinity."""
    required = pod.spec.at(
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    yield from required["nodeSelectorTerms"].items()


def _required(term: Node) -> Iterator[tuple[str, Node]]:
    for expression in term["matchExpressions"].items():
        if (expression["operator"].text() or "In") in ("In", "Exists"):
            yield expression["key"].text() or "", expression["values"]


def _selects(pod: Pod, labels: tuple[str, ...]) -> bool:
    """Whether wherever the pod may run has one of these labels: alternatives all need one."""
    if any(key.startswith(labels) for key, _ in pod.spec["nodeSelector"].pairs()):
        return True
    terms = list(_terms(pod))
    return bool(terms) and all(
        any(key.startswith(labels) for key, _ in _required(term)) for term in terms
    )


def _on_daemon_duty(pod: Pod, context: Context) -> bool:
    """Whether this is a daemon that belongs on every node: an operator's, or our node agents'."""
    if not pod.manifest.is_kind("DaemonSet"):
        return False
    return not is_house(pod.namespace) or pod.namespace in context.node_namespaces


@rule(
    "k8s-pod-select-gpu-nodes",
    "Every pod that takes accelerators selects the nodes that have them.",
    remedy='add a nodeSelector such as {"triplane.dev/pool": "<pool>", "nvidia.com/gpu.present": '
    '"true"}',
    tags=("isolation", "gpu"),
    house=True,
)
def select_gpu_nodes(pod: Pod, context: Context) -> Iterator[Finding]:
    """Without a selector a pod lands on any card that is free, whatever its memory."""
    if not pod.takes_accelerators:
        return
    path = f"{pod.spec.path}.nodeSelector"
    if not _selects(pod, _GPU_LABELS):
        severity = strictness(pod.namespace, context)
        yield Finding(path, "the pod takes accelerators but selects no kind of node", severity)
    elif is_house(pod.namespace) and not _selects(pod, (_POOL_LABEL,)):
        yield Finding(path, f"the pod does not say in which pool it runs ({_POOL_LABEL})")


@rule(
    "k8s-pod-tolerate-gpu-taint",
    "Every pod that takes NVIDIA GPUs tolerates the taint of GPU nodes.",
    remedy="add the toleration {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}",
    tags=("isolation", "gpu"),
    house=True,
)
def tolerate_gpu_taint(pod: Pod, context: Context) -> Iterator[Finding]:
    """The pod would stay Pending forever."""
    if not any(
        name.lower().startswith("nvidia.com/")
        for container in pod.containers()
        for name in container.accelerators()
    ):
        return
    if not any(_tolerates(toleration) for toleration in pod.spec["tolerations"].items()):
        path = f"{pod.spec.path}.tolerations"
        severity = strictness(pod.namespace, context)
        yield Finding(path, "the pod takes GPUs but tolerates no GPU taint", severity)


def _tolerates(toleration: Node) -> bool:
    key = toleration["key"].text() or ""
    exists = toleration["operator"].text() == "Exists"
    effect = toleration["effect"].text()
    return (key == _GPU_TAINT or (not key and exists)) and effect in (None, "", "NoSchedule")


@rule(
    "k8s-pod-keep-off-gpu-nodes",
    "Nothing that takes no accelerator may run on GPU nodes.",
    remedy="remove the toleration and the selector, or ask for the accelerator in limits",
    tags=("isolation", "gpu"),
    house=True,
    configuration=("nodeNamespaces",),
)
def keep_off_gpu_nodes(pod: Pod, context: Context) -> Iterator[Finding]:
    """A pod without GPUs takes the CPU and memory that an engine was sized for."""
    takes = pod.takes_accelerators or pod.claims_devices
    if takes or _on_daemon_duty(pod, context):
        return
    for toleration in pod.spec["tolerations"].items():
        key, operator = toleration["key"].text() or "", toleration["operator"].text()
        effect = toleration["effect"].text()
        everything = not key and operator == "Exists" and effect in (None, "", "NoSchedule")
        if key.lower().startswith(_GPU_TAINT) or everything:
            yield Finding(toleration.path, "a pod without accelerators tolerates the GPU taint")
    for key, node in _selected(pod):
        pool = key == _POOL_LABEL and "gpu" in "".join(_texts(node)).lower()
        if pool or any(mark in key for mark in _GPU_ONLY):
            yield Finding(node.path, f"a pod without accelerators selects GPU nodes by {key!r}")


def _texts(node: Node) -> list[str]:
    return node.words() if isinstance(node.value, list) else [node.text() or ""]


@rule(
    "k8s-container-take-no-hidden-gpu",
    "No container sees GPUs that it did not ask for.",
    remedy="remove NVIDIA_VISIBLE_DEVICES and ask for nvidia.com/gpu in limits",
    weight=RuleWeight.CRITICAL,
    tags=("isolation", "gpu"),
    fragments=True,
    house=True,
    configuration=("nodeNamespaces",),
)
def take_no_hidden_gpu(pod: Pod, context: Context) -> Iterator[Finding]:
    """The variable gives a container every GPU of its node behind the scheduler's back."""
    if pod.namespace in context.node_namespaces:
        return
    for container in pod.containers():
        for node in container.node["env"].items():
            if (node["name"].text() or "").upper() != "NVIDIA_VISIBLE_DEVICES":
                continue
            value = (node["value"].text() or "").strip().lower()
            if value not in ("", "none", "void"):
                yield Finding(
                    node.path,
                    f"container {container.called} takes GPUs by NVIDIA_VISIBLE_DEVICES",
                )
