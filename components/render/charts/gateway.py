"""Values of Envoy Gateway and Envoy AI Gateway: the first calls the second while it translates."""

from typing import Any, Final

from models.core.names import GATEWAY_CONTROLLER
from models.facts.mirroring import mirrored
from models.plan.plan import PlannedRegion, PlatformPlan

_CONTROLLER: Final = "ai-gateway-controller"
_CONTROLLER_HOST: Final = f"{_CONTROLLER}.envoy-ai-gateway-system.svc.cluster.local"
_CONTROLLER_PORT: Final = 1063
_TRANSLATED: Final = ("listener", "route", "cluster", "secret")


def envoy_gateway(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values with the hooks that Envoy AI Gateway needs.

    As in envoyproxy/ai-gateway v1.1.0, manifests/envoy-gateway-values.yaml, without the patch
    policies it recommends: those can put anything into Envoy past every other check.
    """
    values: dict[str, Any] = {
        "config": {
            "envoyGateway": {
                "gateway": {"controllerName": GATEWAY_CONTROLLER},
                "provider": {"type": "Kubernetes"},
                "extensionApis": {"enableBackend": True},
                "extensionManager": {
                    "hooks": {
                        "xdsTranslator": {
                            "translation": {kind: {"includeAll": True} for kind in _TRANSLATED},
                            "post": ["Translation", "Cluster", "Route"],
                        }
                    },
                    "service": {"fqdn": {"hostname": _CONTROLLER_HOST, "port": _CONTROLLER_PORT}},
                },
            }
        }
    }
    if plan.mirror.registry is not None:
        values["global"] = {"imageRegistry": plan.mirror.registry}
    return values


def ai_gateway_crds(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return no values: the chart has none."""
    return {}


def ai_gateway(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values with the controller's name, by which Envoy Gateway finds it."""
    values: dict[str, Any] = {"controller": {"fullnameOverride": _CONTROLLER}}
    registry = plan.mirror.registry
    if registry is not None:
        for part in ("controller", "extProc"):
            image = "controller" if part == "controller" else "extproc"
            repository = mirrored(f"docker.io/envoyproxy/ai-gateway-{image}", registry)
            values.setdefault(part, {})["image"] = {"repository": repository}
    return values


def leader_worker_set(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values for LeaderWorkerSet; its manager makes its own certificate."""
    values: dict[str, Any] = {"enablePrometheus": False}
    if plan.mirror.registry is not None:
        repository = mirrored("registry.k8s.io/lws/lws", plan.mirror.registry)
        values["image"] = {"manager": {"repository": repository}}
    return values
