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

GATEWAY: Final = "triplane"
GATEWAY_CLASS: Final = "triplane"
GATEWAY_CONTROLLER: Final = "gateway.envoyproxy.io/gatewayclass-controller"
MODELS_VOLUME: Final = "models"
MODELS_CLAIM: Final = f"PersistentVolumeClaim/{MODELS_NAMESPACE}/{MODELS_VOLUME}"
"""How messages and `accept_data_loss` name the volume with the weights."""

MODELS_MOUNT: Final = "/models"
SEED_PROGRAM: Final = "model-seed"
OBJECT_STORE_SECRET: Final = "object-store"  # noqa: S105 - the name of a Secret, not a secret
ENGINE_ACCOUNT: Final = "engine"
SEED_ACCOUNT: Final = "model-seed"

MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "triplane"}

MODEL_HEADER: Final = "x-ai-eg-model"
"""Request header that Envoy AI Gateway sets from the body's `model`; routes match on it."""

WORKLOAD_NAME_MAX: Final = 52
"""A StatefulSet's name plus a revision hash must fit a 63 character label."""


def engine_labels(model: str) -> dict[str, str]:
    """Return the labels that select a model's engine pods; they never change."""
    return {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": model}


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
