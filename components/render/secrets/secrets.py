"""Manifests that bring secrets into a region: a store per namespace, an ExternalSecret per Secret.

Every default that the API server or the controller would fill in is written out (ESO-02): GitOps
and refreshes then see no difference where there is none.
"""

from collections.abc import Sequence
from string import Formatter
from typing import Final, NotRequired, TypedDict

from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, RoleRefArgsDict, SubjectArgsDict

from models.core.names import MANAGED_BY
from models.settings.secrets import SecretsKind, SecretSource, SecretUse

STORE_API: Final = "external-secrets.io/v1"
STORE: Final = "triplane"
READER: Final = "secret-reader"
"""The service account by which a Kubernetes store reads."""

_CLUSTER_API: Final = "kubernetes.default"
_CLUSTER_CA: Final = "kube-root-ca.crt"
"""ConfigMap with the API server's authority, which Kubernetes keeps in every namespace."""


class CaProvider(TypedDict):
    """Where a store finds the authority of the API server that it reads."""

    type: str
    name: str
    key: str


class KubernetesServer(TypedDict):
    """The API server that a store reads."""

    url: str
    caProvider: CaProvider


class AccountName(TypedDict):
    """A service account of the store's namespace."""

    name: str


class KubernetesAuth(TypedDict):
    """How a store is authenticated: by a token of a service account, made for each use."""

    serviceAccount: AccountName


class KubernetesProvider(TypedDict):
    """Secrets of another namespace."""

    remoteNamespace: str
    server: KubernetesServer
    auth: KubernetesAuth


class AwsProvider(TypedDict):
    """AWS Secrets Manager, read with the controller's own identity."""

    service: str
    region: str
    sessionTagsPolicy: str


class Provider(TypedDict):
    """Exactly one of the two."""

    aws: NotRequired[AwsProvider]
    kubernetes: NotRequired[KubernetesProvider]


class SecretStoreSpec(TypedDict):
    """external-secrets.io/v1 SecretStore."""

    provider: Provider


class StoreRef(TypedDict):
    """The store of an ExternalSecret."""

    kind: str
    name: str


class TemplateMetadata(TypedDict):
    """Metadata of the Secret; without it the ExternalSecret's own would be copied."""

    labels: dict[str, str]


class SecretTemplate(TypedDict):
    """What the Secret is made like."""

    engineVersion: str
    mergePolicy: str
    type: str
    metadata: TemplateMetadata
    data: NotRequired[dict[str, str]]


class Target(TypedDict):
    """The Secret that is made."""

    name: str
    creationPolicy: str
    deletionPolicy: str
    template: SecretTemplate


class RemoteRef(TypedDict):
    """One property of a remote secret."""

    key: str
    property: str
    conversionStrategy: str
    decodingStrategy: str
    metadataPolicy: str


class DataEntry(TypedDict):
    """One value and what it is called here."""

    secretKey: str
    remoteRef: RemoteRef


class ExternalSecretSpec(TypedDict):
    """external-secrets.io/v1 ExternalSecret."""

    refreshInterval: str
    refreshPolicy: str
    secretStoreRef: StoreRef
    target: Target
    data: list[DataEntry]


def secret_store(source: SecretSource, aws_region: str | None) -> SecretStoreSpec:
    """Return a namespace's store; `aws_region` is where an AWS source is."""
    if source.kind is SecretsKind.AWS:
        assert aws_region is not None, "checked when the plan was made"
        return {
            "provider": {
                "aws": {
                    "service": "SecretsManager",
                    "region": aws_region,
                    "sessionTagsPolicy": "None",
                }
            }
        }
    return {
        "provider": {
            "kubernetes": {
                "remoteNamespace": source.source_namespace,
                "server": {
                    "url": _CLUSTER_API,
                    "caProvider": {"type": "ConfigMap", "name": _CLUSTER_CA, "key": "ca.crt"},
                },
                "auth": {"serviceAccount": {"name": READER}},
            }
        }
    }


def external_secret(use: SecretUse, source: SecretSource) -> ExternalSecretSpec:
    """Return what fills the Secret of a use from the region's store.

    The Secret belongs to the ExternalSecret and goes with it; a remote secret that vanishes leaves
    the last values (`Retain`): an engine that restarts at night must find them.
    """
    template: SecretTemplate = {
        "engineVersion": "v2",
        "mergePolicy": "Replace",
        "type": use.type,
        "metadata": {"labels": dict(MANAGED_BY)},
    }
    texts = any(key.text is not None for key in use.keys)
    if texts:
        template["data"] = {key.key: _template(key.text, key.property) for key in use.keys}
        entries = [_entry(name, use.remote, name) for name in use.properties]
    else:
        entries = [_entry(key.key, use.remote, str(key.property)) for key in use.keys]
    return {
        "refreshInterval": duration(source.refresh_interval_sec),
        "refreshPolicy": "Periodic",
        "secretStoreRef": {"kind": "SecretStore", "name": STORE},
        "target": {
            "name": use.secret,
            "creationPolicy": "Owner",
            "deletionPolicy": "Retain",
            "template": template,
        },
        "data": entries,
    }


def _template(text: str | None, name: str | None) -> str:
    """Return a Go template of a text with `{property}` in it, or of one property."""
    if text is None:
        return f'{{{{ index . "{name}" }}}}'
    parts: list[str] = []
    for literal, field, _, _ in Formatter().parse(text):
        parts.append(literal)
        if field is not None:
            parts.append(f'{{{{ index . "{field}" }}}}')
    return "".join(parts)


def _entry(key: str, remote: str, name: str) -> DataEntry:
    return {
        "secretKey": key,
        "remoteRef": {
            "key": remote,
            "property": name,
            "conversionStrategy": "Default",
            "decodingStrategy": "None",
            "metadataPolicy": "None",
        },
    }


def duration(seconds: int) -> str:
    """Return seconds as Go writes a duration, `1h0m0s`: the form that is stored."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def reader_name(namespace: str) -> str:
    """Return the name of a namespace's Role and binding in the source namespace."""
    return f"triplane-{namespace.removeprefix('triplane-')}"


def reader_rules(remotes: Sequence[str]) -> list[PolicyRuleArgsDict]:
    """Return rights to get the named Secrets, and nothing else: no list, no watch."""
    return [
        {
            "api_groups": [""],
            "resources": ["secrets"],
            "resource_names": sorted(remotes),
            "verbs": ["get"],
        }
    ]


def reader_role(namespace: str) -> RoleRefArgsDict:
    """Return the reference from the binding to the Role."""
    return {
        "api_group": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": reader_name(namespace),
    }


def reader_subject(namespace: str) -> SubjectArgsDict:
    """Return the service account that a namespace's store uses."""
    return {"kind": "ServiceAccount", "name": READER, "namespace": namespace}
