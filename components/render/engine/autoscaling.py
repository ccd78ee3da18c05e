"""The ScaledObject by which KEDA scales a model's replicas on what the engine reports."""

from typing import Final, TypedDict

from models.plan.plan import PlannedModel
from models.settings.options import AutoscalingOptions

KEDA_API: Final = "keda.sh/v1alpha1"

_TOLERANCE: Final = "0.02"
"""The autoscaler's default tolerance of 10 % would keep a threshold of 0.85 silent up to 0.935."""


class ScaleTarget(TypedDict):
    """The workload to scale."""

    apiVersion: str
    kind: str
    name: str


class TriggerMetadata(TypedDict):
    """A Prometheus trigger's metadata; every value is a string."""

    serverAddress: str
    query: str
    threshold: str
    ignoreNullValues: str


class Trigger(TypedDict):
    """One reason to scale."""

    type: str
    name: str
    metricType: str
    metadata: TriggerMetadata


class Fallback(TypedDict):
    """What holds when Prometheus does not answer."""

    failureThreshold: int
    replicas: int
    behavior: str


class ScalePolicy(TypedDict):
    """How fast replicas may change."""

    type: str
    value: int
    periodSeconds: int


class ScaleUp(TypedDict):
    """Growing."""

    stabilizationWindowSeconds: int
    tolerance: str
    policies: list[ScalePolicy]


class ScaleDown(TypedDict):
    """Shrinking."""

    stabilizationWindowSeconds: int
    policies: list[ScalePolicy]


class ScalingBehavior(TypedDict):
    """The horizontal pod autoscaler's behavior."""

    scaleUp: ScaleUp
    scaleDown: ScaleDown


class HpaConfig(TypedDict):
    """The horizontal pod autoscaler that KEDA makes."""

    name: str
    behavior: ScalingBehavior


class Advanced(TypedDict):
    """KEDA's advanced options."""

    restoreToOriginalReplicaCount: bool
    horizontalPodAutoscalerConfig: HpaConfig


class ScaledObjectSpec(TypedDict):
    """keda.sh/v1alpha1 ScaledObject."""

    scaleTargetRef: ScaleTarget
    minReplicaCount: int
    maxReplicaCount: int
    pollingInterval: int
    fallback: Fallback
    advanced: Advanced
    triggers: list[Trigger]


def scaled_object(model: PlannedModel, options: AutoscalingOptions) -> ScaledObjectSpec:
    """Return the ScaledObject's spec.

    Both triggers are sums of AverageValue type, so that they mean "per replica" and share one
    fallback rule. A lost scrape target is a failure (`ignoreNullValues` "false"), not a zero, and
    failures never lower the count.
    """
    return {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": model.name},
        "minReplicaCount": model.replicas_min,
        "maxReplicaCount": model.replicas_max,
        "pollingInterval": options.polling_interval_sec,
        "fallback": {
            "failureThreshold": 3,
            "replicas": model.replicas_min,
            "behavior": "currentReplicasIfHigher",
        },
        "advanced": {
            "restoreToOriginalReplicaCount": False,
            "horizontalPodAutoscalerConfig": {
                "name": f"keda-{model.name}",
                "behavior": _behavior(options),
            },
        },
        "triggers": [
            _trigger(
                "waiting-requests",
                f'sum(vllm:num_requests_waiting{{model_name="{model.name}"}})',
                str(options.waiting_requests_per_replica),
                options,
            ),
            _trigger(
                "kv-cache-usage",
                f'sum(vllm:kv_cache_usage_perc{{model_name="{model.name}"}})',
                f"{options.kv_cache_usage:g}",
                options,
            ),
        ],
    }


def _behavior(options: AutoscalingOptions) -> ScalingBehavior:
    return {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "tolerance": _TOLERANCE,
            "policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": options.scale_down_stabilization_sec,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
        },
    }


def _trigger(name: str, query: str, threshold: str, options: AutoscalingOptions) -> Trigger:
    return {
        "type": "prometheus",
        "name": name,
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": options.prometheus_url,
            "query": query,
            "threshold": threshold,
            "ignoreNullValues": "false",
        },
    }
