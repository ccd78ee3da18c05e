"""The ServiceMonitor by which Prometheus finds an engine's metrics."""

from typing import TypedDict

from components.render.engine.workload import PORT_NAME
from models.core.names import MODELS_NAMESPACE, engine_labels
from models.plan.plan import PlannedModel


class MonitorEndpoint(TypedDict):
    """One scrape target of a ServiceMonitor; `port` is the name of a Service port."""

    port: str
    path: str
    interval: str
    scrapeTimeout: str
    honorLabels: bool


class MonitorSelector(TypedDict):
    """Labels of the Services (not pods) that a ServiceMonitor selects."""

    matchLabels: dict[str, str]


class NamespaceSelector(TypedDict):
    """Namespaces in which a ServiceMonitor looks for Services."""

    matchNames: list[str]


class ServiceMonitorSpec(TypedDict):
    """monitoring.coreos.com/v1 ServiceMonitor."""

    selector: MonitorSelector
    namespaceSelector: NamespaceSelector
    endpoints: list[MonitorEndpoint]


def service_monitor(model: PlannedModel, scrape_interval_sec: int) -> ServiceMonitorSpec:
    """Return the monitor of the model's Service. The engine's own labels lose to the target's."""
    return {
        "selector": {"matchLabels": engine_labels(model.name)},
        "namespaceSelector": {"matchNames": [MODELS_NAMESPACE]},
        "endpoints": [
            {
                "port": PORT_NAME,
                "path": model.contract.endpoints.metrics,
                "interval": f"{scrape_interval_sec}s",
                "scrapeTimeout": f"{min(scrape_interval_sec, 10)}s",
                "honorLabels": False,
            }
        ],
    }
