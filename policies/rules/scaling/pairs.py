"""Autoscalers and what they scale: found, one each, and nobody else sets the count."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.nodes import UnknownFieldError, UnreadableFieldError
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed, Stack

_AUTOSCALERS: Final = ("ScaledObject", "HorizontalPodAutoscaler")
_COUNTED: Final = ("Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet")


@dataclass(frozen=True, slots=True)
class _Target:
    kind: str
    namespace: str | None
    name: str


def _target(manifest: Manifest) -> _Target | None:
    """Return what an autoscaler scales; None for other objects."""
    if not manifest.is_kind(*_AUTOSCALERS) or manifest.fragment:
        return None
    reference = manifest.spec["scaleTargetRef"]
    kind = reference["kind"].text() or "Deployment"
    return _Target(kind.lower(), manifest.namespace, reference["name"].text() or "")


def _workloads(target: _Target, stack: Stack) -> Iterator[Manifest]:
    return stack.named(target.kind, target.namespace, target.name)


def _scaling(target: _Target, stack: Stack) -> list[Manifest]:
    """Return the autoscalers of a target."""

    def index() -> dict[_Target, list[Manifest]]:
        found: dict[_Target, list[Manifest]] = {}
        for each in stack.of_kind(*_AUTOSCALERS):
            known = _known_target(each)
            if known is not None:
                found.setdefault(known, []).append(each)
        return found

    return stack.once("autoscalers by target", index).get(target, [])


def _known_target(manifest: Manifest) -> _Target | None:
    try:
        return _target(manifest)
    except (UnknownFieldError, UnreadableFieldError):
        return None


@rule(
    "k8s-workload-leave-replicas",
    "No workload sets its replicas beside an autoscaler.",
    remedy="remove spec.replicas from the workload; the autoscaler owns it",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling",),
    house=True,
)
def leave_replicas(placed: Placed, context: Context) -> Iterator[Finding]:
    """PULK-01, ARGO-03: applying the count ends loaded replicas, or fails on a field conflict."""
    target = _target(placed.manifest)
    if target is None:
        return
    for workload in _workloads(target, placed.stack):
        ignored = () if workload.options is None else workload.options.ignore_changes
        if "spec" in ignored or "spec.replicas" in ignored:
            continue
        if workload.spec["replicas"].present:
            yield Finding(
                "spec.replicas",
                f"spec.replicas is set, and {placed.label} scales it",
                subject=workload.label,
            )


@rule(
    "k8s-workload-have-one-autoscaler",
    "Every workload has one autoscaler at most.",
    remedy="remove one of the two; KEDA makes an HPA by itself",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling",),
)
def have_one_autoscaler(placed: Placed, context: Context) -> Iterator[Finding]:
    """KEDA-01: both set the same count, and it flaps."""
    target = _target(placed.manifest)
    if target is None:
        return
    for other in _scaling(target, placed.stack):
        if other is not placed.manifest and other.label > placed.label:
            message = f"{other.label} scales the same {target.kind} {target.name!r}"
            yield Finding("spec.scaleTargetRef", message)


@rule(
    "k8s-autoscaler-find-its-target",
    "Every autoscaler scales something that exists.",
    remedy="write the workload's kind and metadata.name in spec.scaleTargetRef",
    tags=("autoscaling", "names"),
)
def find_its_target(placed: Placed, context: Context) -> Iterator[Finding]:
    """A name that differs by a letter scales nothing, and every status is green."""
    target = _target(placed.manifest)
    if target is None or not context.whole or target.kind not in map(str.lower, _COUNTED):
        return
    if not any(True for _ in _workloads(target, placed.stack)):
        yield Finding(
            "spec.scaleTargetRef", f"there is no {target.kind} {target.name!r} in the namespace"
        )
