"""What a rule says of itself beside what it finds: closed sets, written out for review.

A convention is shown as a warning to other people's files (`check --profile anybody`); a rule that
holds for fragments judges patches too; tags are what CrossGuard's readers filter by.
"""

from typing import Any, Final

import pytest

from policies.frame.registry import RULES
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.engine_files import found

pytestmark = pytest.mark.pure

TAGS: Final = frozenset(
    [
        "autoscaling",
        "aws",
        "cache",
        "catalog",
        "certificates",
        "charts",
        "cost",
        "drift",
        "eks",
        "encryption",
        "engine",
        "gateway",
        "gpu",
        "gpu-operator",
        "host",
        "iam",
        "images",
        "immutable",
        "isolation",
        "kserve",
        "logs",
        "longhorn",
        "machines",
        "memory",
        "mesh",
        "metrics",
        "minio",
        "names",
        "network",
        "parallelism",
        "plan",
        "pod-security",
        "probes",
        "qos",
        "rollout",
        "secrets",
        "storage",
        "versions",
        "visibility",
        "vram",
    ]
)

CONVENTIONS: Final = frozenset(
    [
        "k8s-container-bear-slow-answers",
        "k8s-container-delay-no-liveness",
        "k8s-container-pin-image",
        "k8s-container-take-no-hidden-gpu",
        "k8s-monitor-carry-selected-labels",
        "k8s-namespace-deny-ingress",
        "k8s-namespace-enforce-restricted",
        "k8s-namespace-inject-no-engine",
        "k8s-namespace-refuse-injection",
        "k8s-pod-be-guaranteed",
        "k8s-pod-bound-storage",
        "k8s-pod-keep-class",
        "k8s-pod-keep-off-gpu-nodes",
        "k8s-pod-meet-restricted",
        "k8s-pod-refuse-injection",
        "k8s-pod-run-admitted-model",
        "k8s-pod-select-gpu-nodes",
        "k8s-pod-stay-off-host",
        "k8s-pod-switch-off-service-links",
        "k8s-pod-tolerate-gpu-taint",
        "k8s-scaledobject-hold-on-missing-data",
        "k8s-scaledobject-pace-scale-down",
        "k8s-statefulset-keep-templates",
        "k8s-statefulset-start-together",
        "k8s-workload-leave-replicas",
    ]
)
"""What works somewhere and is refused here all the same."""

OF_FRAGMENTS: Final = frozenset(
    [
        "k8s-container-hide-secrets",
        "k8s-container-leave-engine-ports",
        "k8s-container-pin-image",
        "k8s-container-split-evenly",
        "k8s-container-suit-family",
        "k8s-container-take-known-options",
        "k8s-container-take-no-hidden-gpu",
        "k8s-httproutefilter-have-known-fields",
        "k8s-namespace-refuse-injection",
        "k8s-object-be-readable",
        "k8s-object-hide-secrets",
        "k8s-object-name-no-deleted-image",
        "k8s-object-use-served-version",
        "k8s-pod-refuse-injection",
        "k8s-pod-stay-off-host",
        "k8s-query-name-known-series",
        "k8s-service-spare-engine-variables",
    ]
)
"""Faults that a part of an object shows by itself."""


def test_tags_are_a_closed_set() -> None:
    assert {tag for each in RULES for tag in each.rule.tags} == TAGS
    assert all(each.rule.tags for each in RULES), "a rule without a tag is found by nobody"
    assert {"aws"} == {each.rule.tags[0] for each in RULES if each.rule.id.startswith("aws-")}


def test_conventions_are_these() -> None:
    assert {each.rule.id for each in RULES if each.rule.house} == CONVENTIONS


def test_rules_about_fragments_are_these() -> None:
    assert {each.rule.id for each in RULES if each.rule.fragments} == OF_FRAGMENTS


def issued_by(kind: str, **beside: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "tls", "namespace": compliant_stack.NAMESPACE},
        "spec": {"issuerRef": {"kind": kind, "name": "absent"}, **beside},
    }


def issuer(kind: str, name: str) -> dict[str, Any]:
    meta = {"name": name}
    if kind == "Issuer":
        meta["namespace"] = compliant_stack.NAMESPACE
    return {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": meta, "spec": {}}


@pytest.mark.parametrize(
    ("kind", "others", "severity"),
    [
        ("Issuer", [], "error"),
        ("Issuer", [issuer("ClusterIssuer", "other")], "error"),
        # Often somebody else's, unless the stack makes issuers itself.
        ("ClusterIssuer", [], "warning"),
        ("ClusterIssuer", [issuer("Issuer", "other")], "warning"),
        ("ClusterIssuer", [issuer("ClusterIssuer", "other")], "error"),
        ("ClusterIssuer", [issuer("ClusterIssuer", "absent")], None),
    ],
)
def test_an_issuer_that_is_missing_is_a_fault_where_it_is_surely_ours(
    kind: str, others: list[dict[str, Any]], severity: str | None
) -> None:
    rule, context = "k8s-certificate-find-its-issuer", compliant_stack.CONTEXT
    seen = [each.severity.value for each in found(rule, issued_by(kind), *others, context=context)]
    assert seen == ([] if severity is None else [severity])
