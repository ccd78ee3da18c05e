"""Where pod templates stand: by kind where the kind is known, by shape everywhere else."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policies.core.nodes import Node
from policies.core.unknowns import Unknown
from policies.views.kubernetes.manifest import Manifest

_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "statefulset": ("spec", "template"),
    "deployment": ("spec", "template"),
    "daemonset": ("spec", "template"),
    "replicaset": ("spec", "template"),
    "replicationcontroller": ("spec", "template"),
    "job": ("spec", "template"),
    "cronjob": ("spec", "jobTemplate", "spec", "template"),
    "podtemplate": ("template",),
}
_WITHOUT_PODS: Final = frozenset(
    {
        *("configmap", "secret", "service", "serviceaccount", "namespace", "node", "event"),
        *("endpoints", "persistentvolume", "persistentvolumeclaim", "limitrange"),
        *("resourcequota", "customresourcedefinition", "apiservice", "ingress", "ingressclass"),
    }
)
_GROUPS_WITHOUT_PODS: Final = (
    "rbac.authorization.k8s.io",
    "networking.k8s.io",
    "policy",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "discovery.k8s.io",
    "admissionregistration.k8s.io",
    "autoscaling",
    "gateway.networking.k8s.io",
    "inference.networking.k8s.io",
    "aigateway.envoyproxy.io",
    "cert-manager.io",
    "external-secrets.io",
)
_SUGGESTING_PODS: Final = frozenset(
    {"spec", "template", "podTemplate", "podSpec", "containers", "initContainers"}
    | {"leaderTemplate", "workerTemplate", "leaderWorkerTemplate", "jobTemplate", "predictor"}
)
"""Keys below which a value that is unknown may be a pod."""

_RUNTIME_KEYS: Final = frozenset({"modelFormat", "storageUri", "protocolVersion", "runtime"})


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundPodSpec:
    """A pod's spec, the metadata its pods get, and KServe's model container if there is one.

    `inherits`: the owner's annotations reach the pods.
    """

    spec: Node
    metadata: Node
    model: Node | None = None
    inherits: bool = False


def pod_specs(manifest: Manifest) -> Iterator[FoundPodSpec]:
    """Yield every pod spec of an object; a spec that is unknown is yielded as it is."""
    kind, body = manifest.kind.lower(), manifest.body
    if kind == "pod":
        yield FoundPodSpec(spec=body["spec"], metadata=body["metadata"])
    elif kind in _TEMPLATES:
        template = body.at(*_TEMPLATES[kind])
        yield FoundPodSpec(spec=template["spec"], metadata=template["metadata"])
    elif kind == "inferenceservice":
        yield from _inference_service(body)
    elif kind in ("servingruntime", "clusterservingruntime"):
        yield from _runtime(body)
    elif kind not in _WITHOUT_PODS and not manifest.group.endswith(_GROUPS_WITHOUT_PODS):
        yield from _by_shape(body, Node(None), "")


def _inference_service(body: Node) -> Iterator[FoundPodSpec]:
    for role in ("predictor", "transformer", "explainer"):
        component = body.at("spec", role)
        if component.value is None:
            continue
        yield FoundPodSpec(
            spec=component, metadata=component, model=_model(component, role), inherits=True
        )
        worker = component["workerSpec"]
        if not component.unknown and worker.value is not None:
            yield FoundPodSpec(spec=worker, metadata=component, inherits=True)


def _model(component: Node, role: str) -> Node | None:
    """Return the container of a predictor: `model`, or the older key named like a framework."""
    if role != "predictor" or not isinstance(component.value, dict):
        return None
    if component["model"].value is not None:
        return component["model"]
    for key, value in component.value.items():
        if key != "workerSpec" and isinstance(value, dict) and _RUNTIME_KEYS & value.keys():
            return component[key]
    return None


def _runtime(body: Node) -> Iterator[FoundPodSpec]:
    spec = body["spec"]
    yield FoundPodSpec(spec=spec, metadata=spec)
    worker = spec["workerSpec"]
    if not spec.unknown and worker.value is not None:
        yield FoundPodSpec(spec=worker, metadata=spec)


def _by_shape(node: Node, parent: Node, key: str) -> Iterator[FoundPodSpec]:
    value = node.value
    if isinstance(value, Unknown):
        if key in _SUGGESTING_PODS:
            yield FoundPodSpec(spec=node, metadata=Node(None))
    elif isinstance(value, dict):
        if _is_pod_spec(node):
            yield FoundPodSpec(spec=node, metadata=parent["metadata"] if key == "spec" else node)
            return
        for name in value:
            yield from _by_shape(node[name], node, name)
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from _by_shape(node[index], node, key)


def _is_pod_spec(node: Node) -> bool:
    for key in ("containers", "initContainers"):
        value = node[key].value
        if isinstance(value, Unknown):
            return True
        if isinstance(value, list) and any(isinstance(each, dict | Unknown) for each in value):
            return True
    return False
