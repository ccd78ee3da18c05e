"""Quality of service: every container of an engine's pod bounded, requests equal to limits.

The memory model sizes a pod for its own engine; a container whose use is not bounded takes the
pod its Guaranteed class, and then the kubelet ends it first when the node runs short.
"""

from collections.abc import Iterator
from typing import Final

from catalog.readers.tables import injectors
from models.core.findings import Finding
from policies.core.context import Context, is_house, strictness
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import Container, Pod, concerns_us, quantity

_GUARANTEED: Final = ("cpu", "memory")
_SCRATCH: Final = "ephemeral-storage"


@rule(
    "k8s-pod-be-guaranteed",
    "Every container of an engine's pod requests exactly what it is limited to.",
    remedy="give every container, init containers and sidecars too, cpu and memory limits and the "
    "same requests, so that the pod's class is Guaranteed",
    weight=RuleWeight.CRITICAL,
    tags=("qos",),
    house=True,
)
def be_guaranteed(container: Container, context: Context) -> Iterator[Finding]:
    """QOS-01, KSV-04: limits without requests are fine, the API server copies them."""
    if not concerns_us(container.pod):
        return
    resources = container.node["resources"]
    if container.inherits and not resources.present:
        return
    names = {*_GUARANTEED, *container.accelerators()}
    names |= {name for side in ("requests", "limits") for name, _ in resources[side].pairs()}
    for name in sorted(names):
        request = container.quantity("requests", name)
        limit = container.quantity("limits", name)
        path = f"{resources.path}.limits"
        if limit is None and name != _SCRATCH:
            yield Finding(path, f"container {container.called} has no limit of {name}")
        elif limit is not None and request is not None and request != limit:
            yield Finding(
                f"{resources.path}.requests",
                f"container {container.called} requests another amount of {name} than its limit",
            )
        elif limit == 0 and name in _GUARANTEED:
            yield Finding(path, f"container {container.called} has a limit of {name} that is zero")


@rule(
    "k8s-pod-keep-class",
    "No resources of a whole pod take it its Guaranteed class.",
    remedy="remove spec.resources, or give cpu and memory in it equal requests and limits",
    weight=RuleWeight.CRITICAL,
    tags=("qos",),
    house=True,
)
def keep_class(pod: Pod, context: Context) -> Iterator[Finding]:
    """Where a pod has resources of its own, they decide the class, not its containers'."""
    resources = pod.spec["resources"]
    if pod.found.inherits or not resources.present or not concerns_us(pod):
        return
    for name in _GUARANTEED:
        request = quantity(resources.at("requests", name))
        limit = quantity(resources.at("limits", name))
        if limit is None or request not in (None, limit):
            yield Finding(resources.path, f"the pod's own {name} has unequal request and limit")


@rule(
    "k8s-pod-count-whole-gpus",
    "Every container asks for whole accelerators, in its limits.",
    remedy="write a whole number, the same in limits and requests",
    weight=RuleWeight.HIGH,
    tags=("qos", "gpu"),
)
def count_whole_gpus(container: Container, context: Context) -> Iterator[Finding]:
    """Kubernetes takes whole devices only; parts need MIG or time slicing."""
    for name in container.accelerators():
        for side in ("requests", "limits"):
            amount = container.quantity(side, name)
            if amount is not None and (amount.denominator != 1 or amount < 0):
                yield Finding(
                    f"{container.node.path}.resources.{side}",
                    f"container {container.called} asks for a part of {name}",
                )


@rule(
    "k8s-pod-bound-storage",
    "Every container of an engine's pod has its ephemeral storage bounded.",
    remedy="set ephemeral-storage in limits and requests, and sizeLimit on every emptyDir",
    tags=("qos",),
    house=True,
)
def bound_storage(pod: Pod, context: Context) -> Iterator[Finding]:
    """A cache without bounds fills the node, and the kubelet evicts whoever is biggest."""
    if not concerns_us(pod):
        return
    severity = strictness(pod.namespace, context)
    for container in pod.containers():
        resources = container.node["resources"]
        if container.inherits and not resources.present:
            continue
        for side in ("requests", "limits"):
            if container.quantity(side, _SCRATCH) is None and not (
                side == "requests" and container.quantity("limits", _SCRATCH) is not None
            ):
                yield Finding(
                    f"{resources.path}.{side}",
                    f"container {container.called} has no {_SCRATCH} in {side}",
                    severity,
                )
    for volume in pod.spec["volumes"].items():
        empty = volume["emptyDir"]
        if empty.present and not empty["sizeLimit"].present:
            name = volume["name"].text()
            message = f"volume {name!r} is an emptyDir without a sizeLimit"
            yield Finding(empty.path, message, severity)


_ISTIO_BOUNDS: Final = (
    "sidecar.istio.io/proxyCPU",
    "sidecar.istio.io/proxyCPULimit",
    "sidecar.istio.io/proxyMemory",
    "sidecar.istio.io/proxyMemoryLimit",
)


def injections(marks: dict[str, str]) -> Iterator[str]:
    """Yield the keys among labels or annotations that make a webhook add a sidecar."""
    known = injectors()
    yield from (key for key, value in marks.items() if known.injects(key, value))


@rule(
    "k8s-pod-refuse-injection",
    "No webhook adds a sidecar to an engine's pod.",
    remedy="remove the key or set it to false: an injected sidecar is not bounded here. For Istio, "
    "setting all four of " + ", ".join(_ISTIO_BOUNDS) + " with equal pairs is accepted",
    weight=RuleWeight.CRITICAL,
    tags=("qos", "mesh"),
    fragments=True,
    house=True,
)
def refuse_injection(pod: Pod, context: Context) -> Iterator[Finding]:
    """QOS-01: the sidecar appears after every check of the manifest, and makes it Burstable."""
    annotations = pod.annotations()
    for kind, marks in (("annotations", annotations), ("labels", pod.labels())):
        for key in injections(marks):
            if not concerns_us(pod) or ("istio" in key and _istio_is_bounded(annotations)):
                continue
            yield Finding(
                f"{pod.found.metadata.path}.{kind}",
                f"{key!r} adds a sidecar whose requests and limits nobody checked",
            )


def _istio_is_bounded(annotations: dict[str, str]) -> bool:
    cpu, cpu_limit, memory, memory_limit = (annotations.get(key) for key in _ISTIO_BOUNDS)
    return bool(cpu and memory) and cpu == cpu_limit and memory == memory_limit


@rule(
    "k8s-namespace-refuse-injection",
    "No namespace of this project has sidecars injected.",
    remedy="remove the label or annotation from the namespace",
    weight=RuleWeight.CRITICAL,
    tags=("qos", "mesh"),
    fragments=True,
    house=True,
)
def namespace_refuses_injection(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """One label on the namespace reaches every pod in it."""
    if not manifest.is_kind("Namespace") or not is_house(manifest.metadata["name"].text()):
        return
    for kind, marks in (("labels", manifest.labels()), ("annotations", manifest.annotations())):
        for key in injections(marks):
            yield Finding(
                f"metadata.{kind}", f"{key!r} adds a sidecar to every pod of the namespace"
            )
