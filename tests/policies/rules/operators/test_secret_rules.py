"""Rules about secrets and certificates: a compliant stack, broken one field at a time."""

from dataclasses import replace
from typing import Any

import pytest

from models.core.findings import Severity
from policies.frame.evaluate import findings
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import ABSENT

pytestmark = pytest.mark.pure

Json = dict[str, Any]
SPACE = "triplane-gateway"
REMOTE = {
    "key": "hub",
    "property": "token",
    "conversionStrategy": "Default",
    "decodingStrategy": "None",
    "metadataPolicy": "None",
}


def _object(api: str, kind: str, name: str, namespace: str | None, **rest: Any) -> Json:
    metadata: Json = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


def _secrets() -> dict[str, Json]:
    api, rbac = "external-secrets.io/v1", "rbac.authorization.k8s.io/v1"
    kubernetes = {
        "remoteNamespace": "sources",
        "auth": {"serviceAccount": {"name": "reader"}},
    }
    return {
        "store": _object(
            api, "SecretStore", "store", SPACE, spec={"provider": {"kubernetes": kubernetes}}
        ),
        "external": _object(
            api,
            "ExternalSecret",
            "hub",
            SPACE,
            spec={
                "refreshInterval": "1h0m0s",
                "refreshPolicy": "Periodic",
                "secretStoreRef": {"kind": "SecretStore", "name": "store"},
                "target": {"name": "hub", "creationPolicy": "Owner", "deletionPolicy": "Retain"},
                "data": [{"secretKey": "HF_TOKEN", "remoteRef": dict(REMOTE)}],
            },
        ),
        "shared": _object(
            api,
            "ClusterSecretStore",
            "shared",
            None,
            spec={"provider": {"fake": {}}, "conditions": [{"namespaces": [SPACE]}]},
        ),
        "role": _object(
            rbac,
            "Role",
            "reader",
            "sources",
            rules=[
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "resourceNames": ["hub"],
                    "verbs": ["get"],
                }
            ],
        ),
        "binding": _object(
            rbac,
            "RoleBinding",
            "reader",
            "sources",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            subjects=[{"kind": "ServiceAccount", "name": "reader", "namespace": SPACE}],
        ),
    }


def _certificates() -> dict[str, Json]:
    api = "cert-manager.io/v1"
    listener = {
        "name": "https",
        "hostname": "models.example.com",
        "port": 443,
        "protocol": "HTTPS",
        "tls": {"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": "tls"}]},
    }
    return {
        "root": _object(api, "Issuer", "root", "cert-manager", spec={"selfSigned": {}}),
        "authority": _object(
            api,
            "Certificate",
            "ca",
            "cert-manager",
            spec={
                "secretName": "ca",
                "isCA": True,
                "duration": "87600h0m0s",
                "renewBefore": "29184h0m0s",
                "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": "root"},
                "privateKey": {"rotationPolicy": "Never"},
            },
        ),
        "issuer": _object(api, "ClusterIssuer", "ours", None, spec={"ca": {"secretName": "ca"}}),
        "certificate": _object(
            api,
            "Certificate",
            "tls",
            SPACE,
            spec={
                "secretName": "tls",
                "dnsNames": ["models.example.com"],
                "duration": "2160h0m0s",
                "renewBefore": "720h0m0s",
                "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "ours"},
            },
        ),
        "gateway": _object(
            "gateway.networking.k8s.io/v1",
            "Gateway",
            "gate",
            SPACE,
            spec={"gatewayClassName": "eg", "listeners": [listener]},
        ),
    }


def compliant() -> dict[str, Json]:
    """Return a stack with secrets from a store and a certificate of its own authority."""
    return {**_secrets(), **_certificates()}


CASES: list[tuple[str, str, Any, str]] = [
    (
        "k8s-externalsecret-say-defaults",
        "external.spec.data.0.remoteRef.conversionStrategy",
        ABSENT,
        f"ExternalSecret/{SPACE}/hub",
    ),
    (
        "k8s-externalsecret-say-defaults",
        "external.spec.data.0.remoteRef.metadataPolicy",
        ABSENT,
        f"ExternalSecret/{SPACE}/hub",
    ),
    (
        "k8s-externalsecret-say-defaults",
        "external.spec.target.deletionPolicy",
        ABSENT,
        f"ExternalSecret/{SPACE}/hub",
    ),
    (
        "k8s-externalsecret-find-its-store",
        "external.spec.secretStoreRef.name",
        "stores",
        f"ExternalSecret/{SPACE}/hub",
    ),
    (
        "k8s-externalsecret-find-its-store",
        "store.metadata.namespace",
        "elsewhere",
        f"ExternalSecret/{SPACE}/hub",
    ),
    (
        "k8s-secretstore-limit-readers",
        "shared.spec.conditions",
        ABSENT,
        "ClusterSecretStore/shared",
    ),
    (
        "k8s-secretstore-limit-readers",
        "shared.spec.conditions.0",
        {"namespaceRegexes": [".*"]},
        "ClusterSecretStore/shared",
    ),
    (
        "k8s-secretstore-limit-readers",
        "shared.spec.conditions.0",
        {"namespaceSelector": {}},
        "ClusterSecretStore/shared",
    ),
    (
        "k8s-secretstore-read-named-secrets",
        "role.rules.0.resourceNames",
        ABSENT,
        f"SecretStore/{SPACE}/store",
    ),
    (
        "k8s-secretstore-read-named-secrets",
        "role.rules.0.verbs",
        ["get", "list"],
        f"SecretStore/{SPACE}/store",
    ),
    (
        "k8s-certificate-find-its-issuer",
        "certificate.spec.issuerRef.name",
        "theirs",
        f"Certificate/{SPACE}/tls",
    ),
    (
        "k8s-certificate-find-its-issuer",
        "certificate.spec.issuerRef.kind",
        "Issuer",
        f"Certificate/{SPACE}/tls",
    ),
    (
        "k8s-certificate-keep-authority-key",
        "authority.spec.privateKey",
        ABSENT,
        "Certificate/cert-manager/ca",
    ),
    (
        "k8s-certificate-keep-authority-key",
        "authority.spec.privateKey.rotationPolicy",
        "Always",
        "Certificate/cert-manager/ca",
    ),
    (
        "k8s-certificate-be-accepted",
        "certificate.spec.duration",
        "17520h0m0s",
        f"Certificate/{SPACE}/tls",
    ),
    (
        "k8s-certificate-be-accepted",
        "certificate.spec.renewBefore",
        "2160h",
        f"Certificate/{SPACE}/tls",
    ),
    (
        "k8s-gateway-serve-its-name",
        "gateway.spec.listeners.0.hostname",
        "chat.example.com",
        f"Gateway/{SPACE}/gate",
    ),
    (
        "k8s-gateway-serve-its-name",
        "certificate.spec.dnsNames.0",
        "*.com",
        f"Gateway/{SPACE}/gate",
    ),
]


def test_a_compliant_stack_has_no_findings() -> None:
    """A rule that refuses what is right is switched off by the first who meets it."""
    assert [str(each) for each in compliant_stack.found(compliant())] == []


@pytest.mark.parametrize("name", ["issuer", "shared"])
def test_an_object_of_the_cluster_is_found_whatever_namespace_it_shows(name: str) -> None:
    """Before its definition is installed the provider takes every object for a namespaced one."""
    store = {"kind": "ClusterSecretStore", "name": "shared"}
    stack = compliant_stack.broken("external.spec.secretStoreRef", store, compliant())
    stack = compliant_stack.broken(f"{name}.metadata.namespace", "default", stack)
    rules = ("k8s-certificate-find-its-issuer", "k8s-externalsecret-find-its-store")
    assert [each for each in compliant_stack.found(stack) if each.rule in rules] == []


@pytest.mark.parametrize(("rule", "path", "value", "target"), CASES)
def test_one_broken_field_is_found(rule: str, path: str, value: Any, target: str) -> None:
    """Each rule sees what it is there for, and names the object."""
    stack = compliant_stack.broken(path, value, compliant())
    found = [each for each in compliant_stack.found(stack) if each.rule == rule]
    assert found, f"{path}={value!r} passed"
    assert {each.severity for each in found} == {Severity.ERROR}
    assert target in {each.subject for each in found}
    assert all(each.remedy for each in found)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("external.spec.refreshInterval", "0"),
        ("external.spec.refreshInterval", "0h0m0s"),
        ("external.spec.refreshPolicy", "CreatedOnce"),
        ("external.spec.target.creationPolicy", "Orphan"),
    ],
)
def test_a_secret_that_is_never_read_again_is_mentioned(path: str, value: str) -> None:
    """It may be meant, so it is a warning."""
    stack = compliant_stack.broken(path, value, compliant())
    found = [
        each
        for each in compliant_stack.found(stack)
        if each.rule == "k8s-externalsecret-stay-fresh"
    ]
    assert [each.severity for each in found] == [Severity.WARNING]


def test_a_wildcard_covers_one_label() -> None:
    """`*.example.com` is for models.example.com, not for a.models.example.com."""
    stack = compliant_stack.broken("certificate.spec.dnsNames.0", "*.example.com", compliant())
    assert compliant_stack.found(stack) == []
    stack = compliant_stack.broken(
        "gateway.spec.listeners.0.hostname", "a.models.example.com", stack
    )
    assert {each.rule for each in compliant_stack.found(stack)} == {"k8s-gateway-serve-its-name"}


def test_other_peoples_files_are_not_scolded_for_house_rules() -> None:
    """Defaults left to the server break nothing in somebody else's cluster."""
    stack = compliant()
    stack = compliant_stack.broken(
        "external.spec.data.0.remoteRef", {"key": "hub", "property": "token"}, stack
    )
    for name in ("external", "store"):
        stack = compliant_stack.broken(f"{name}.metadata.namespace", "shop", stack)
    stack = compliant_stack.broken("binding.subjects.0.namespace", "shop", stack)
    context = replace(compliant_stack.CONTEXT, pulumi=False)
    severities = {each.severity for each in compliant_stack.found(stack, context)}
    assert severities == {Severity.WARNING}


def test_an_unknown_store_name_is_not_waved_through() -> None:
    """What cannot be read is refused."""
    stack = compliant()
    unknown = compliant_stack.with_unknown(stack.pop("external"), "spec.secretStoreRef.name")
    manifests = [*(compliant_stack.manifest(body) for body in stack.values()), unknown]
    found = {each.rule: each.severity for each in findings(manifests, compliant_stack.CONTEXT)}
    assert found["k8s-externalsecret-find-its-store"] is Severity.UNKNOWN
