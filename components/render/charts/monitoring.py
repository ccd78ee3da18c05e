"""Values of kube-prometheus-stack and KEDA."""

from typing import Any, Final

from models.plan.plan import PlannedRegion, PlatformPlan

_NOT_OURS: Final = ("kubeControllerManager", "kubeEtcd", "kubeScheduler", "kubeProxy")
"""Components that a managed control plane does not let anybody scrape: alerts without end."""

_SELECTORS: Final = ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig")


def kube_prometheus_stack(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values by which Prometheus takes every monitor and rule of the cluster.

    The switches are booleans: as text they would be true to Helm, and every monitor without the
    release's label would be ignored without a word. Definitions are upgraded by a Job, since Helm
    never upgrades what it installed from `crds/`. The node exporter needs the host's network and
    processes, which our restricted namespace refuses; nothing of ours reads its metrics.
    """
    selectors = {f"{kind}SelectorNilUsesHelmValues": False for kind in _SELECTORS}
    values: dict[str, Any] = {
        "crds": {"enabled": True, "upgradeJob": {"enabled": True}},
        "prometheus": {"prometheusSpec": {**selectors, "externalLabels": {"region": region.name}}},
        "nodeExporter": {"enabled": False},
        "cleanPrometheusOperatorObjectNames": False,
        **{component: {"enabled": False} for component in _NOT_OURS},
    }
    if plan.mirror.registry is not None:
        values["global"] = {"imageRegistry": plan.mirror.registry}
    return values


def keda(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values for KEDA: its definitions, and monitors of its own metrics."""
    monitor = {
        "enabled": True,
        "serviceMonitor": {
            "enabled": True,
            "additionalLabels": dict(plan.observability.monitor_labels),
        },
    }
    values: dict[str, Any] = {
        "crds": {"install": True},
        "prometheus": {"operator": monitor, "metricServer": monitor},
    }
    if plan.mirror.registry is not None:
        values["global"] = {"image": {"registry": plan.mirror.registry}}
    return values
