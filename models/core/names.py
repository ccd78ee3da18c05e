"""Every name that ties objects together, computed in one place.

A client's model id, the route's header value, the backend, the Service, the labels and the served
model name must agree; the field's most common failure is that they do not. Names are fixed (no
random suffix), since other objects refer to them as plain strings.
"""

from typing import Final

MODELS_NAMESPACE: Final = "triplane-models"
"""Engines, the models' volume and the seeding Jobs."""

GATEWAY_NAMESPACE: Final = "triplane-gateway"
"""The Gateway, routes and backends."""

OBSERVABILITY_NAMESPACE: Final = "triplane-observability"
"""Prometheus, Alertmanager and Grafana."""

NODE_NAMESPACE: Final = "triplane-node"
"""The one privileged namespace of ours: what needs the host."""

SWAP_OFF: Final = "swap-off"
"""The DaemonSet that keeps swap off on nodes of an existing cluster."""

GATEWAY: Final = "triplane"
GATEWAY_CLASS: Final = "triplane"
GATEWAY_CONTROLLER: Final = "gateway.envoyproxy.io/gatewayclass-controller"
OBJECTS_NAMESPACE: Final = "triplane-objects"
"""The MinIO tenant, where the region's object store is one."""

TENANT: Final = "objects"
TENANT_CONFIG_SECRET: Final = "objects-config"  # noqa: S105 - the name of a Secret, not a secret
"""The file with the tenant's root keys."""

TENANT_LABEL: Final = f"Tenant/{OBJECTS_NAMESPACE}/{TENANT}"
"""How messages and `accept_data_loss` name the tenant with the weights."""

LONGHORN_RELEASE: Final = "Release/longhorn"
"""How messages and `accept_data_loss` name Longhorn's release, with which every volume goes."""

GATEWAY_TLS_SECRET: Final = "gateway-tls"  # noqa: S105 - the name of a Secret, not a secret
"""Certificate and key of the gateway's listener, unless `gateway.tls_secret` names another."""

GATEWAY_CLIENTS_SECRET: Final = "gateway-clients"  # noqa: S105 - the name of a Secret, not a secret
"""The keys of the gateway's clients, unless `gateway.api_keys_secret` names another."""

CLIENT_HEADER: Final = "x-client-id"
"""Request header in which the gateway tells engines, logs and limits whose key it was."""

GATEWAY_CA_SECRET: Final = "gateway-ca"  # noqa: S105 - the name of a Secret, not a secret
"""Whose `ca.crt` clients check the gateway with, where the authority is ours."""

AUTHORITY: Final = "triplane-ca"
"""The certificate authority of ours: Certificate, and the Secret with its key pair."""

ISSUER: Final = "triplane"
"""The ClusterIssuer that signs for the gateway."""

CERT_MANAGER: Final = "cert-manager"
EXTERNAL_SECRETS: Final = "external-secrets"
"""Namespace and service account of the operator that is called so."""

MODELS_VOLUME: Final = "models"
"""What the name of the claim with the weights begins with; its class follows."""

CACHE_VOLUME: Final = "kv-cache"
CACHE_CLAIM: Final = f"PersistentVolumeClaim/{MODELS_NAMESPACE}/{CACHE_VOLUME}"
CACHE_MOUNT: Final = "/cache/kv"
"""Where an engine finds its directory of the volume with KV caches."""

MODELS_MOUNT: Final = "/models"
SEED_PROGRAM: Final = "model-seed"
OBJECT_STORE_SECRET: Final = "object-store"  # noqa: S105 - the name of a Secret, not a secret
ENGINE_ACCOUNT: Final = "engine"
SEED_ACCOUNT: Final = "model-seed"

MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "triplane"}

OPERATORS_ANNOTATION: Final = "triplane.dev/operators"
"""On our namespaces: who installs the operators of the region (setting `operators`). An update in
which it changes is judged by `models/plan/changes.py`."""

MODEL_HEADER: Final = "x-ai-eg-model"
"""Request header that Envoy AI Gateway sets from the body's `model`; routes match on it."""

WORKLOAD_NAME_MAX: Final = 52
"""A StatefulSet's name plus a revision hash must fit a 63 character label."""


def engine_labels(model: str) -> dict[str, str]:
    """Return the labels that select a model's engine pods; they never change."""
    return {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": model}


def provider_object(provider: str) -> str:
    """Return the name of a fallback provider's objects, its Secret included."""
    return f"fallback-{provider}"


def engine_host(model: str) -> str:
    """Return the DNS name of a model's Service."""
    return f"{model}.{MODELS_NAMESPACE}.svc.cluster.local"


def pods_service(model: str) -> str:
    """Return the name of the headless Service that gives a model's pods their own DNS names."""
    return f"{model}-pods"


def model_directory(model: str) -> str:
    """Return the directory in the pod whose `current` link names the seeded revision."""
    return f"{MODELS_MOUNT}/{model}"


def weights_path(model: str, revision: str) -> str:
    """Return the directory of one revision's weights in the pod."""
    return f"{model_directory(model)}/{revision}"


def models_claim(storage_class: str) -> str:
    """Return the name of the claim with the weights.

    A claim's class never changes, so another class is another claim: the new one is seeded and the
    engines move to it before the old one goes.
    """
    return f"{MODELS_VOLUME}-{storage_class}"


def claim_label(name: str) -> str:
    """Return how messages and `accept_data_loss` name a claim of the engines' namespace."""
    return f"PersistentVolumeClaim/{MODELS_NAMESPACE}/{name}"
