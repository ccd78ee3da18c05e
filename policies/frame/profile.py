"""How findings count for whom: conventions of this project are no errors in other people's files.

An error is what will fail, or silently do nothing, wherever it is deployed; what a convention of
ours asks beyond that is a warning, unless the profile `triplane` is asked for.
"""

from dataclasses import replace
from enum import StrEnum
from typing import Final

from policies.core.finding import Finding, Severity


class Profile(StrEnum):
    """Whose files are checked."""

    ANYBODY = "anybody"
    TRIPLANE = "triplane"


CONVENTIONS: Final = frozenset(
    {
        "k8s-pod-be-guaranteed",
        "k8s-pod-keep-class",
        "k8s-pod-bound-storage",
        "k8s-pod-refuse-injection",
        "k8s-namespace-refuse-injection",
        "k8s-namespace-inject-no-engine",
        "k8s-pod-select-gpu-nodes",
        "k8s-pod-tolerate-gpu-taint",
        "k8s-pod-keep-off-gpu-nodes",
        "k8s-container-take-no-hidden-gpu",
        "k8s-container-delay-no-liveness",
        "k8s-container-bear-slow-answers",
        "k8s-container-pin-image",
        "k8s-pod-stay-off-host",
        "k8s-pod-meet-restricted",
        "k8s-namespace-enforce-restricted",
        "k8s-namespace-deny-ingress",
        "k8s-pod-switch-off-service-links",
        "k8s-scaledobject-hold-on-missing-data",
        "k8s-scaledobject-pace-scale-down",
        "k8s-workload-leave-replicas",
        "k8s-statefulset-start-together",
        "k8s-statefulset-keep-templates",
        "k8s-monitor-carry-selected-labels",
        "k8s-pod-run-admitted-model",
    }
)
"""Rules whose breach works somewhere, and is refused by this project all the same."""


def counted(finding: Finding, profile: Profile) -> Finding:
    """Return a finding with the severity that it has under a profile."""
    lenient = profile is Profile.ANYBODY and finding.rule in CONVENTIONS
    if lenient and finding.severity is Severity.ERROR:
        return replace(finding, severity=Severity.WARNING)
    return finding
