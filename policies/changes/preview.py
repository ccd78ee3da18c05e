"""What a change would replace or lose: over the JSON of `pulumi preview --json`, or two manifests.

Policies see only what a resource will be, never what it was, so this is no policy. The engine's
own preview says which resources it would replace or delete; here that is judged: an object that
holds data needs an approval, a replaced engine is told with the pods that go down, and an update in
place that would lose data is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from models.core.findings import Finding, Severity
from models.core.rule_ids import GateRule
from models.plan.changes import cautions, judges, losses
from policies.changes.aws import aws_change_findings
from policies.core.context import Context
from policies.core.nodes import Node, leaves
from policies.core.unknowns import Plain, plain
from policies.views.kubernetes.data import keeps_data
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import pods_of

_REPLACING: Final = ("replace", "create-replacement", "delete-replaced", "delete")
_PROVIDER: Final = "pulumi:providers:kubernetes"

_MUTABLE: Final[Mapping[str, frozenset[str]]] = {
    "StatefulSet": frozenset(
        {"replicas", "ordinals", "template", "updateStrategy", "minReadySeconds"}
        | {"persistentVolumeClaimRetentionPolicy", "revisionHistoryLimit"}
    ),
    "PersistentVolumeClaim": frozenset({"resources", "volumeAttributesClassName"}),
    "Job": frozenset(
        {"parallelism", "suspend", "activeDeadlineSeconds", "ttlSecondsAfterFinished"}
    ),
}
"""What may change in the spec of kinds of which little may."""

_IMMUTABLE: Final[Mapping[str, frozenset[str]]] = {
    "Deployment": frozenset({"selector"}),
    "DaemonSet": frozenset({"selector"}),
    "Service": frozenset({"clusterIP"}),
    "PersistentVolume": frozenset({"csi", "hostPath", "local", "nfs", "volumeMode"}),
}
"""What may not change in the spec of kinds of which most may."""

_TOP_LEVEL: Final[Mapping[str, tuple[str, ...]]] = {
    "StorageClass": ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
}


def immutable_changes(old: Manifest, new: Manifest) -> tuple[str, ...]:
    """Return the fields that differ and cannot be changed in place."""
    kind = old.kind
    found = [key for key in _TOP_LEVEL.get(kind, ()) if old.body[key].value != new.body[key].value]
    before, after = _mapping(old.spec.value), _mapping(new.spec.value)
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) == after.get(key):
            continue
        mutable = _MUTABLE.get(kind)
        if (mutable is not None and key not in mutable) or key in _IMMUTABLE.get(kind, ()):
            found.append(f"spec.{key}")
    return tuple(found)


def change_findings(old: Manifest, new: Manifest | None, context: Context) -> Iterator[Finding]:
    """Yield what stands against replacing `old` by `new` (None: against deleting it)."""
    label = old.label
    fields = "it is deleted" if new is None else ", ".join(immutable_changes(old, new))
    why = fields or "the engine replaces it"
    if _holds_data(old) and label not in context.accept_data_loss:
        yield Finding(
            rule=GateRule.DATA_SURVIVES,
            severity=Severity.ERROR,
            subject=label,
            path="",
            message=f"the change replaces or deletes it, and its data is lost ({why})",
            remedy=f'take the change back, or approve it: "accept_data_loss": ["{label}"]',
        )
    elif any(pod.takes_accelerators for pod in pods_of(old)):
        replicas = old.spec["replicas"].text() or "all"
        yield Finding(
            rule=GateRule.DATA_SURVIVES,
            severity=Severity.WARNING,
            subject=label,
            path="",
            message=f"the change replaces it: {replicas} pods with accelerators go down ({why})",
            remedy="bring the new one up under another name first, or accept the outage",
        )


def preview_findings(document: Mapping[str, Any], context: Context) -> tuple[Finding, ...]:
    """Return what stands against a preview, given its JSON (`pulumi preview --json`)."""
    found: list[Finding] = []
    for step in cast("list[dict[str, Any]]", document.get("steps") or []):
        old = step.get("oldState")
        if step.get("op") == "update" and isinstance(old, dict):
            found += _update_findings(step, cast("dict[str, Any]", old), context)
        if step.get("op") not in _REPLACING or not isinstance(old, dict):
            continue
        found += _provider_findings(cast("dict[str, Any]", old), context)
        found += aws_change_findings(str(step["op"]), cast("dict[str, Any]", old), context)
        before = _of_state(cast("dict[str, Any]", old))
        if before is None:
            continue
        new = step.get("newState")
        after = _of_state(cast("dict[str, Any]", new)) if isinstance(new, dict) else None
        found += change_findings(before, after, context)
    return tuple(dict.fromkeys(found))


def _update_findings(
    step: Mapping[str, Any], old: dict[str, Any], context: Context
) -> Iterator[Finding]:
    """Yield what stands against an update in place: what it would lose
    (`models/plan/changes.py`).
    """
    new = step.get("newState")
    before = _of_state(old)
    after = _of_state(cast("dict[str, Any]", new)) if isinstance(new, dict) else None
    if before is None or after is None or not judges(before.kind):
        return
    unknown = next(_unknown_size(after), None)
    if unknown is not None:
        yield Finding(
            rule=GateRule.DATA_SURVIVES,
            severity=Severity.UNKNOWN,
            subject=before.label,
            path=unknown.path,
            message=f"cannot verify that the change loses no data, because {unknown.path} is "
            "unknown at preview",
            remedy="give sizes, counts and versions as plain values",
        )
    was, now = _mapping(before.body.value), _mapping(after.body.value)
    for caution in cautions(before.kind, was, now):
        yield replace(caution.of(before.label), rule=GateRule.DATA_SURVIVES)
    for loss in losses(before.kind, was, now):
        if loss.approvable and before.label in context.accept_data_loss:
            continue
        yield replace(loss.of(before.label), rule=GateRule.DATA_SURVIVES)


def _unknown_size(manifest: Manifest) -> Iterator[Node]:
    """Yield what is unknown of that which decides whether data survives."""
    judged = (
        manifest.spec["resources"],
        manifest.spec["pools"],
        manifest.spec["volumeClaimTemplates"],
        manifest.body["version"],
    )
    for node in judged:
        yield from (leaf for leaf in leaves(node) if leaf.unknown)


def _provider_findings(state: dict[str, Any], context: Context) -> Iterator[Finding]:
    """Yield what stands against replacing a cluster: every object in it would be replaced too."""
    if state.get("type") != _PROVIDER:
        return
    label = f"Provider/{str(state.get('urn', '')).rsplit('::', 1)[-1]}"
    if label not in context.accept_data_loss:
        yield Finding(
            rule=GateRule.DATA_SURVIVES,
            severity=Severity.ERROR,
            subject=label,
            path="",
            message="the change replaces the cluster, and with it every object, whose fixed names "
            "then collide",
            remedy="keep the cluster's identifier, or bring the new cluster up as another region; "
            f'to go on: "accept_data_loss": ["{label}"]',
        )


def _of_state(state: dict[str, Any]) -> Manifest | None:
    kind = str(state.get("type", ""))
    if not kind.startswith("kubernetes:"):
        return None
    body = plain(state.get("inputs") or state.get("outputs") or {})
    return Manifest(body=Node(body), implied_kind=kind.rsplit(":", 1)[-1])


def _holds_data(manifest: Manifest) -> bool:
    if keeps_data(manifest):
        return True
    templates = manifest.spec["volumeClaimTemplates"]
    return manifest.is_kind("StatefulSet") and templates.value not in (None, [])


def _mapping(value: Plain) -> dict[str, Plain]:
    return value if isinstance(value, dict) else {}
