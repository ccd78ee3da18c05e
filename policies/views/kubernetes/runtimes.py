"""An InferenceService as KServe completes it: with the runtime that stands beside it.

KServe takes the runtime's container of the well-known name, lays the service's `model` over it,
and appends the service's arguments to the runtime's (its `MergeRuntimeContainers`). Without the
runtime the service alone does not say which engine runs, nor with what.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from policies.core.nodes import Node, UnknownFieldError, UnreadableFieldError
from policies.core.unknowns import Plain
from policies.views.kubernetes.manifest import Manifest

CONTAINER: Final = "kserve-container"
_RUNTIMES: Final = ("ServingRuntime", "ClusterServingRuntime")
_OF_PODS: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "securityContext",
    "serviceAccountName",
    "hostIPC",
)


def is_runtime(manifest: Manifest) -> bool:
    """Whether an object is a runtime that services may name."""
    return manifest.is_kind(*_RUNTIMES) and not manifest.fragment


def with_runtime(manifest: Manifest, runtimes: Sequence[Manifest]) -> Manifest:
    """Return a service completed by its runtime, or the object as it is where there is none."""
    if not manifest.is_kind("InferenceService") or manifest.fragment or not runtimes:
        return manifest
    try:
        return _completed(manifest, runtimes)
    except (UnknownFieldError, UnreadableFieldError):
        return manifest


def _completed(manifest: Manifest, runtimes: Sequence[Manifest]) -> Manifest:
    predictor = manifest.spec["predictor"]
    model = predictor["model"].value
    runtime = _runtime(manifest, predictor["model"], runtimes)
    if runtime is None or not isinstance(model, dict) or not isinstance(predictor.value, dict):
        return manifest
    container = _container(runtime)
    if container is None:
        return manifest
    merged: dict[str, Plain] = {**container, **model}
    for key in ("args", "env", "volumeMounts"):
        merged[key] = [*_listed(container.get(key)), *_listed(model.get(key))]
    if not merged["args"]:
        del merged["args"]
    pods: dict[str, Plain] = dict(predictor.value)
    for key in _OF_PODS:
        inherited = runtime.spec[key].value
        if inherited is not None:
            pods.setdefault(key, inherited)
    pods["volumes"] = [*_listed(runtime.spec["volumes"].value), *_listed(pods.get("volumes"))]
    pods["model"] = merged
    body, spec = manifest.body.value, manifest.spec.value
    assert isinstance(body, dict)
    assert isinstance(spec, dict)
    whole: dict[str, Plain] = {**body, "spec": {**spec, "predictor": pods}}
    return replace(manifest, body=Node(whole, manifest.body.path), completed=True)


def _listed(value: Plain) -> list[Plain]:
    """Return a list's members; a list that is not known is one member that is not."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _container(runtime: Manifest) -> dict[str, Plain] | None:
    for node in runtime.spec["containers"].items():
        if node["name"].text() == CONTAINER and isinstance(node.value, dict):
            return node.value
    return None


def _runtime(manifest: Manifest, model: Node, runtimes: Iterable[Manifest]) -> Manifest | None:
    """Return the runtime that a service names, or the only one that takes its format by itself."""
    near = [
        each
        for each in runtimes
        if each.is_kind("ClusterServingRuntime") or each.namespace == manifest.namespace
    ]
    named = model["runtime"].text()
    if named:
        return next((each for each in near if each.name == named), None)
    wanted = (model.at("modelFormat", "name").text() or "").lower()
    fitting = [each for each in near if wanted and wanted in _selected_formats(each)]
    return fitting[0] if len(fitting) == 1 else None


def _selected_formats(runtime: Manifest) -> set[str]:
    return {
        (each["name"].text() or "").lower()
        for each in runtime.spec["supportedModelFormats"].items()
        if each["autoSelect"].flag()
    }
