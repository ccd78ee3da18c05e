"""KServe: resources where KServe reads them, and the container it knows by name."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.rule import rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import pods_of

_CONTAINER: Final = "kserve-container"


@rule(
    "k8s-inferenceservice-place-resources",
    "Every InferenceService states its resources where KServe reads them.",
    remedy="move resources to spec.predictor.model.resources, and name the serving container "
    f"{_CONTAINER}",
    tags=("kserve",),
)
def place_resources(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KSV-03: what stands elsewhere is ignored, GPUs too."""
    if manifest.is_kind("InferenceService"):
        predictor = manifest.spec["predictor"]
        if predictor["resources"].present:
            yield Finding(predictor["resources"].path, "KServe ignores resources of the predictor")
        uri = predictor.at("model", "storageUri")
        if not (uri.text() or "pvc://").startswith("pvc://"):
            yield Finding(
                uri.path,
                "every start downloads the weights through an init container limited to 1Gi",
                Severity.WARNING,
                remedy="seed them onto a volume and use pvc://<claim>/<path>",
            )
    if not manifest.is_kind("InferenceService", "ServingRuntime", "ClusterServingRuntime"):
        return
    for pod in pods_of(manifest):
        names = {container.node["name"].text() for container in pod.containers()}
        if pod.found.model is None and pod.takes_accelerators and _CONTAINER not in names:
            worker = pod.spec.path.endswith("workerSpec")
            if not worker:
                yield Finding(pod.spec["containers"].path, f"no container is named {_CONTAINER}")
