"""How an update goes: Pulumi waits as long as weights take, and replicas load together."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context, strictness
from policies.core.rule import rule
from policies.rules.pods.probes import budget_seconds, needed_seconds
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import Pod, pods_of

_DEFAULT_WAIT_SEC: Final = 600
_AWAITED: Final = ("StatefulSet", "Deployment", "LeaderWorkerSet")


@rule(
    "k8s-workload-await-startup",
    "Pulumi waits for an engine as long as its start-up may take.",
    remedy="set custom_timeouts(create=..., update=...) to the start-up time, times the replicas "
    "where they start one after another",
    tags=("rollout",),
)
def await_startup(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-03: after ten minutes the update fails while the weights are still loading."""
    if not context.pulumi or manifest.options is None or not manifest.is_kind(*_AWAITED):
        return
    if manifest.metadata["annotations"]["pulumi.com/skipAwait"].flag():
        return
    needed = max((_startup(pod) for pod in pods_of(manifest)), default=0)
    if needed == 0:
        return
    if manifest.is_kind("StatefulSet") and not _is_parallel(manifest):
        needed *= max(1, manifest.spec["replicas"].integer(1))
    options = manifest.options
    for what, seconds in (("create", options.create_sec), ("update", options.update_sec)):
        if (seconds or _DEFAULT_WAIT_SEC) < needed:
            yield Finding(
                "",
                f"Pulumi waits {seconds or _DEFAULT_WAIT_SEC:g} s to {what} it, "
                f"its pods may take {needed:g} s",
            )


def _startup(pod: Pod) -> float:
    """Return the seconds that a pod's engine may take; 0 where it has none."""
    known = needed_seconds(pod)
    if known is not None:
        return known
    probes = [
        container.node["startupProbe"]
        for container in pod.containers()
        if container.is_engine and not container.inherits
    ]
    return max((budget_seconds(probe) for probe in probes if probe.present), default=0)


def _is_parallel(manifest: Manifest) -> bool:
    return manifest.spec["podManagementPolicy"].text() == "Parallel"


@rule(
    "k8s-statefulset-start-together",
    "Every engine's StatefulSet starts its replicas together and replaces them itself.",
    remedy="set podManagementPolicy: Parallel and updateStrategy.type: RollingUpdate",
    tags=("rollout",),
    house=True,
)
def start_together(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-03: one after another, each loads for minutes; OnDelete never finishes."""
    if not manifest.is_kind("StatefulSet"):
        return
    if not any(pod.runs_engine for pod in pods_of(manifest)):
        return
    if not _is_parallel(manifest) and manifest.spec["replicas"].integer(2) > 1:
        severity = strictness(manifest.namespace, context)
        yield Finding("spec.podManagementPolicy", "replicas start one after another", severity)
    skips = manifest.metadata["annotations"]["pulumi.com/skipAwait"].flag()
    if manifest.spec.at("updateStrategy", "type").text() == "OnDelete" and not skips:
        yield Finding("spec.updateStrategy", "with OnDelete an update waits forever")
