"""Volumes: shared as they can be, mounted where they exist, and kept when something changes."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.data import keeps_data
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed, Stack
from policies.views.kubernetes.workload import Pod, pods_of

_CHANGING_LABELS: Final = ("helm.sh/chart", "app.kubernetes.io/version", "chart", "version")


@rule(
    "k8s-statefulset-keep-templates",
    "No volume claim template carries what changes with a release.",
    remedy="keep only labels that never change in volumeClaimTemplates[].metadata",
    tags=("storage", "immutable"),
    house=True,
)
def keep_templates(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """ARGO-01: the templates are immutable, so a chart's next version replaces the set."""
    if not manifest.is_kind("StatefulSet"):
        return
    for template in manifest.spec["volumeClaimTemplates"].items():
        metadata = template["metadata"]
        marks = {**metadata["labels"].strings(), **metadata["annotations"].strings()}
        for key in marks:
            if key in _CHANGING_LABELS:
                yield Finding(metadata.path, f"{key!r} changes with a release")
        if not template["kind"].present or not template["apiVersion"].present:
            # ARGO-02: the API server adds them, and every comparison differs forever.
            yield Finding(
                template.path,
                "the template has no apiVersion and kind",
                Severity.WARNING,
                remedy="write apiVersion: v1 and kind: PersistentVolumeClaim",
            )


@rule(
    "k8s-pod-mount-existing-volumes",
    "Every volume mount has its volume.",
    remedy="add the volume, or correct the mount's name",
    tags=("storage",),
)
def mount_existing_volumes(pod: Pod, context: Context) -> Iterator[Finding]:
    """KSV-03: the API server refuses the pod, and only the workload's events say so."""
    names = {volume["name"].text() for volume in pod.spec["volumes"].items()}
    if pod.manifest.is_kind("StatefulSet"):
        for template in pod.manifest.spec["volumeClaimTemplates"].items():
            names.add(template.at("metadata", "name").text())
    for container in pod.containers():
        if container.inherits:
            continue
        for mount in container.node["volumeMounts"].items():
            name = mount["name"].text()
            if name not in names:
                yield Finding(
                    mount.path,
                    f"container {container.called} mounts {name!r}, which the pod has no volume of",
                )


@rule(
    "k8s-claim-share-volume",
    "Every claim that several pods use can be used by several.",
    remedy="use the access mode ReadWriteMany (or ReadOnlyMany), or a claim per pod "
    "(volumeClaimTemplates)",
    weight=RuleWeight.CRITICAL,
    tags=("storage",),
)
def share_volume(placed: Placed, context: Context) -> Iterator[Finding]:
    """PSTK-01: the second replica, and every rolling update, waits for the first to go."""
    manifest = placed.manifest
    if manifest.fragment or not _may_be_many(placed):
        return
    for pod in pods_of(manifest):
        for volume in pod.spec["volumes"].items():
            name = volume.at("persistentVolumeClaim", "claimName").text()
            claims = placed.stack.named("PersistentVolumeClaim", manifest.namespace, name or "")
            given = {mode for claim in claims for mode in claim.spec["accessModes"].words()}
            if given and not given & {"ReadWriteMany", "ReadOnlyMany"}:
                yield Finding(volume.path, f"claim {name!r} has only {sorted(given)}")


def _may_be_many(placed: Placed) -> bool:
    manifest = placed.manifest
    if not manifest.is_kind("Deployment", "StatefulSet", "LeaderWorkerSet", "ReplicaSet"):
        return False
    replicas = manifest.spec["replicas"]
    if replicas.integer(1) > 1:
        return True
    scaled = placed.stack.once("names that are scaled", lambda: _scaled(placed.stack))
    return (manifest.namespace, manifest.name) in scaled


def _scaled(stack: Stack) -> set[tuple[str | None, str | None]]:
    return {
        (each.namespace, each.spec.at("scaleTargetRef", "name").text())
        for each in stack.of_kind("ScaledObject", "HorizontalPodAutoscaler")
    }


@rule(
    "k8s-data-be-protected",
    "Nothing that holds data can be replaced by a change without an approval.",
    remedy="set protect=True in its resource options; to replace or delete it on purpose, name it "
    'in the settings ("accept_data_loss": ["Kind/namespace/name"]) for that one change',
    weight=RuleWeight.CRITICAL,
    tags=("storage", "immutable"),
    configuration=("acceptDataLoss",),
)
def be_protected(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-02, MINIO-01: policies see no old state, so the engine's own protection must be on.

    With it the preview itself fails where a change would replace or delete the object.
    `policies/changes/preview.py` judges the replacements of a preview that has been made.
    """
    if not context.pulumi or manifest.options is None or not _holds_data(manifest):
        return
    if not manifest.options.protect and manifest.label not in context.accept_data_loss:
        yield Finding("", "it holds data and is neither protected nor named in accept_data_loss")


def _holds_data(manifest: Manifest) -> bool:
    if keeps_data(manifest):
        return True
    templates = manifest.spec["volumeClaimTemplates"]
    return manifest.is_kind("StatefulSet") and any(True for _ in templates.items())
