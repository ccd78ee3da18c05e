"""What the installed release of an operator serves: by its version, never guessed without one."""

from typing import Any

import pytest

from models.core.findings import Severity
from policies.core.context import Context
from policies.frame.evaluate import object_findings
from policies.views.kubernetes.manifest import of_body

pytestmark = pytest.mark.pure

SERVED = "k8s-object-use-served-version"
FALLBACK = "k8s-scaledobject-fall-back-as-meant"


def severities(body: dict[str, Any], rule: str, **versions: str) -> list[str]:
    """Return how a rule's findings count at an object, under the releases that are given."""
    named = {name.replace("_", "-"): version for name, version in versions.items()}
    context = Context(whole=False, versions=named)
    found = object_findings(of_body(body), context)
    assert all(each.remedy for each in found)
    return [each.severity.value for each in found if each.rule == rule]


def secret(version: str, kind: str = "ExternalSecret") -> dict[str, Any]:
    """Return an object of External Secrets."""
    return {
        "apiVersion": f"external-secrets.io/{version}",
        "kind": kind,
        "metadata": {"name": "token"},
        "spec": {},
    }


@pytest.mark.parametrize(
    ("version", "release", "wanted"),
    [
        ("v1beta1", "0.9.20", []),
        ("v1beta1", "0.15.1", []),
        ("v1beta1", "0.16.2", ["warning"]),
        ("v1beta1", "0.17.0", ["error"]),
        ("v1beta1", "0.20.4", ["error"]),
        ("v1beta1", "1.2.0", ["error"]),
        ("v1beta1", "2.9.0", ["error"]),
        ("v1", "0.15.1", ["error"]),
        ("v1", "0.16.0", []),
        ("v1", "0.17.0", []),
        ("v1", "2.9.0", []),
        ("v2", "2.9.0", ["error"]),
        ("v2", "3.1.0", ["unknown"]),
    ],
)
def test_eso_01_versions_by_the_charts_release(
    version: str, release: str, wanted: list[str]
) -> None:
    """The same file is right with one release and refused by the next."""
    assert severities(secret(version), SERVED, external_secrets=release) == wanted


def test_without_a_release_what_the_pinned_one_refuses_is_unknown() -> None:
    """People have other versions: no false alarm, and no silence either."""
    assert severities(secret("v1beta1"), SERVED) == ["unknown"]
    assert severities(secret("v1"), SERVED) == []
    assert severities(secret("v1alpha1", "PushSecret"), SERVED) == []
    other: dict[str, Any] = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {}}
    assert severities(other, SERVED) == []


def test_a_pulumi_program_is_held_against_the_catalog() -> None:
    """The pack previews what the catalog's charts serve."""
    found = object_findings(of_body(secret("v1beta1")), Context(pulumi=True))
    assert [each.severity for each in found if each.rule == SERVED] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("release", "wanted"),
    [("1.1.3", ["error"]), ("1.2.0", []), ("1.5.4", []), ("1.8.3", []), ("", [])],
)
def test_fb_06_fields_that_an_old_definition_drops(release: str, wanted: list[str]) -> None:
    """Accepted by the API server, and gone."""
    policy = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "BackendTrafficPolicy",
        "metadata": {"name": "streams"},
        "spec": {"timeout": {"http": {"requestTimeout": "0s"}}},
    }
    given = {"envoy_gateway": release} if release else {}
    assert severities(policy, SERVED, **given) == wanted


@pytest.mark.parametrize(
    ("types", "release", "wanted"),
    [
        (("Value",), "2.14", ["error"]),
        (("Value", "AverageValue"), "2.14.0", ["error"]),
        (("AverageValue",), "2.14", []),
        ((None,), "2.14", []),
        (("Value",), "2.18.0", []),
        (("Value", "AverageValue"), "2.20.2", []),
        (("Value",), "", ["unknown"]),
        (("AverageValue",), "", []),
    ],
)
def test_keda_04_fallbacks_by_release(
    types: tuple[str | None, ...], release: str, wanted: list[str]
) -> None:
    """A fallback that is ignored scales down when Prometheus is away."""
    triggers: list[dict[str, Any]] = [
        {"type": "prometheus", "metadata": {"query": "sum(x)"}}
        | ({} if each is None else {"metricType": each})
        for each in types
    ]
    given = {"keda": release} if release else {}
    assert severities(scaled(triggers), FALLBACK, **given) == wanted


def test_keda_04_processor_and_memory_have_no_fallback() -> None:
    """In no release."""
    triggers = [{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}]
    assert severities(scaled(triggers), FALLBACK) == ["error"]
    mixed = [*triggers, {"type": "prometheus", "metadata": {"query": "sum(x)"}}]
    assert severities(scaled(mixed), FALLBACK) == []


def scaled(triggers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a ScaledObject with a fallback."""
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "engine"},
        "spec": {
            "scaleTargetRef": {"name": "engine"},
            "fallback": {"failureThreshold": 3, "replicas": 4},
            "triggers": triggers,
        },
    }
