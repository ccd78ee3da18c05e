"""A stand-in for the KEDA operator on ScaledObjects: it checks, it does not scale."""

from collections.abc import Iterable, Mapping
from typing import Final

from sandbox.kube import Object
from sandbox.standins.objects import (
    Objects,
    age_key,
    entries,
    label,
    namespace_of,
    section,
)

_TARGET_KINDS: Final = ("Deployment", "StatefulSet", "LeaderWorkerSet")
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "prometheus": ("serverAddress", "query", "threshold"),
}


def scaled_object(obj: Object, objects: Objects) -> Object:
    """Say Ready when the target exists and is nobody else's, and the triggers are complete.

    Active stays Unknown: nothing here reads a metric.
    """
    problems = list(_problems(obj, objects))
    if problems:
        ready = _condition("Ready", "False", "ScaledObjectCheckFailed", "; ".join(problems))
    else:
        text = "ScaledObject is defined correctly and is ready for scaling"
        ready = _condition("Ready", "True", "ScaledObjectReady", text)
    return {
        "conditions": [
            ready,
            _condition("Active", "Unknown", "NotEvaluated", "no metrics are read in a sandbox"),
            _condition("Fallback", "False", "NoFallbackFound", "No fallbacks are active"),
        ]
    }


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    # KEDA's conditions have no generation; neither its CRD nor its operator knows one.
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _target(obj: Object) -> tuple[str, str]:
    ref: Object = obj["spec"]["scaleTargetRef"]
    return ref.get("kind", "Deployment"), ref["name"]


def _problems(obj: Object, objects: Objects) -> Iterable[str]:
    kind, name = _target(obj)
    space = namespace_of(obj)
    if kind not in _TARGET_KINDS:
        yield f"scaleTargetRef of kind {kind} is not known here: {', '.join(_TARGET_KINDS)} are"
    elif objects.get(kind, space, name) is None:
        yield f"scaleTargetRef: {kind} {space}/{name} does not exist"
    yield from _rivals(obj, objects)
    triggers = entries(obj["spec"], "triggers")
    if not triggers:
        yield "triggers is empty"
    for index, trigger in enumerate(triggers):
        yield from _trigger(index, trigger, space, objects)
    smallest = obj["spec"].get("minReplicaCount", 0)
    largest = obj["spec"].get("maxReplicaCount", 100)
    if smallest > largest:
        yield f"minReplicaCount {smallest} is above maxReplicaCount {largest}"


def _rivals(obj: Object, objects: Objects) -> Iterable[str]:
    space = namespace_of(obj)
    for other in objects.all("ScaledObject"):
        same = namespace_of(other) == space and _target(other) == _target(obj)
        if same and age_key(other) < age_key(obj):
            yield f"{label(other)} scales the same target already"
    for other in objects.all("HorizontalPodAutoscaler"):
        ref: Object = other["spec"]["scaleTargetRef"]
        owners = entries(other["metadata"], "ownerReferences")
        if (
            namespace_of(other) == space
            and (ref["kind"], ref["name"]) == _target(obj)
            and not any(owner["kind"] == "ScaledObject" for owner in owners)
        ):
            yield f"{label(other)} scales the same target already"


def _trigger(index: int, trigger: Object, space: str, objects: Objects) -> Iterable[str]:
    where = f"triggers[{index}] ({trigger['type']})"
    metadata = section(trigger, "metadata")
    for key in _REQUIRED.get(trigger["type"], ()):
        if not metadata.get(key):
            yield f"{where}: metadata.{key} is missing"
    ref: Object | None = trigger.get("authenticationRef")
    if ref is not None:
        kind = ref.get("kind", "TriggerAuthentication")
        scope = "" if kind == "ClusterTriggerAuthentication" else space
        if objects.get(kind, scope, ref["name"]) is None:
            yield f"{where}: {kind} {ref['name']} does not exist"
