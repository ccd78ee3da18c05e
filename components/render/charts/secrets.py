"""Values of the charts that bring secrets and certificates: External Secrets and cert-manager."""

from typing import Any

from models.core.names import CERT_MANAGER, EXTERNAL_SECRETS
from models.engine.profiles import Environment
from models.facts.mirroring import mirrored
from models.plan.plan import PlannedRegion, PlatformPlan

_TWICE: dict[str, Any] = {"replicaCount": 2, "podDisruptionBudget": {"enabled": True}}


def cert_manager(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values for cert-manager.

    The definitions stay when the release goes: objects hang on them. A certificate's Secret goes
    with its Certificate, so that nothing outlives a destroyed region. In production controller and
    webhook survive the loss of a node (the webhook's absence refuses every new Certificate).
    """
    values: dict[str, Any] = {
        "crds": {"enabled": True, "keep": True},
        # Its own namespace, not kube-system, to which managed clusters may give no rights.
        "global": {"leaderElection": {"namespace": CERT_MANAGER}},
        "enableCertificateOwnerRef": True,
    }
    if plan.environment is Environment.PROD:
        values |= {**_TWICE, "webhook": dict(_TWICE), "cainjector": dict(_TWICE)}
    if plan.mirror.registry is not None:
        values["imageRegistry"] = plan.mirror.registry
    return values


def external_secrets(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values for External Secrets.

    Only what we use is processed: stores of a namespace, never of the cluster, and nothing is
    pushed. Editors of a namespace get no rights to stores: a store without credentials of its own
    reads with the controller's identity, so whoever may write one reads all that it may.
    """
    off = {
        f"process{kind}": False
        for kind in (
            "ClusterStore",
            "ClusterExternalSecret",
            "PushSecret",
            "ClusterPushSecret",
            "ClusterGenerator",
        )
    }
    values: dict[str, Any] = {
        "installCRDs": True,
        **off,
        "rbac": {"aggregateToEdit": False, "aggregateToAdmin": False},
        "serviceAccount": {"name": EXTERNAL_SECRETS},
    }
    parts: dict[str, dict[str, Any]] = {"webhook": {}, "certController": {}}
    if plan.environment is Environment.PROD:
        values |= {**_TWICE, "leaderElect": True}
        parts["webhook"] |= _TWICE
    if plan.mirror.registry is not None:
        repository = mirrored("ghcr.io/external-secrets/external-secrets", plan.mirror.registry)
        image = {"image": {"repository": repository}}
        values |= image
        parts = {name: {**part, **image} for name, part in parts.items()}
    return values | {name: part for name, part in parts.items() if part}
