"""A stand-in for the KEDA operator on ScaledObjects: it checks, it does not scale."""

from collections.abc import Iterable
from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.standins import keda_triggers
from sandbox.operators.standins.objects import (
    Objects,
    age_key,
    entries,
    label,
    namespace_of,
)

_TARGET_KINDS: Final = ("Deployment", "StatefulSet", "LeaderWorkerSet")


def scaled_object(obj: Object, objects: Objects) -> Object:
    """Say Ready when the target exists and is nobody else's, and the triggers are complete.

    Ready is Unknown where all that is looked at holds, and a trigger is of a type whose metadata
    nobody here can judge. Active stays Unknown: nothing here reads a metric.
    """
    problems = list(_problems(obj, objects))
    if problems:
        return refuse(obj, "; ".join(problems))
    unread = _unread(obj)
    if unread:
        text = f"the metadata of triggers of type {', '.join(unread)} is not judged in a sandbox"
        return _status(_condition("Ready", "Unknown", "NotEvaluated", text))
    text = "ScaledObject is defined correctly and is ready for scaling"
    return _status(_condition("Ready", "True", "ScaledObjectReady", text))


def refuse(_obj: Object, text: str) -> Object:
    """Return the status of a ScaledObject that is not ready."""
    return _status(_condition("Ready", "False", "ScaledObjectCheckFailed", text))


def _unread(obj: Object) -> list[str]:
    checked = keda_triggers.scalers().checked
    return sorted({trigger["type"] for trigger in entries(obj["spec"], "triggers")} - checked)


def _status(ready: Object) -> Object:
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
    names = [trigger["name"] for trigger in triggers if trigger.get("name")]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"several triggers are called {name}"
    yield from _counts(obj["spec"])


def _counts(spec: Object) -> Iterable[str]:
    """Yield what KEDA's CheckReplicaCountBoundsAreValid refuses: the autoscaler's least is 1."""
    smallest = max(1, spec["minReplicaCount"]) if "minReplicaCount" in spec else 0
    largest = spec.get("maxReplicaCount", 100)
    if smallest > largest:
        yield f"minReplicaCount {smallest} is above maxReplicaCount {largest}"
    idle: int | None = spec.get("idleReplicaCount")
    if idle is not None and idle >= smallest:
        yield f"idleReplicaCount {idle} is not below minReplicaCount {smallest}"


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
    for problem in keda_triggers.problems(trigger):
        yield f"{where}: {problem}"
    ref: Object | None = trigger.get("authenticationRef")
    if ref is not None:
        kind = ref.get("kind", "TriggerAuthentication")
        scope = "" if kind == "ClusterTriggerAuthentication" else space
        if objects.get(kind, scope, ref["name"]) is None:
            yield f"{where}: {kind} {ref['name']} does not exist"
