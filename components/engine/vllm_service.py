"""`VllmService`: one model's engine in a region."""

from dataclasses import dataclass

import pulumi
from pulumi import CustomTimeouts, ResourceOptions
from pulumi_kubernetes.apps.v1 import StatefulSet
from pulumi_kubernetes.core.v1 import Service
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget

from components.core.custom import CustomObject
from components.render.common import metadata
from components.render.engine import workload as render
from components.render.engine.monitor import service_monitor
from models.core.names import MODELS_NAMESPACE, engine_labels
from models.plan.plan import PlannedModel
from models.settings.options import Observability

_SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
"""A headless Service has no endpoints until a replica is ready, which may take half an hour; the
StatefulSet is what we wait for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VllmServiceArgs:
    """The resolved model and how it is scraped. `rollout_sec` bounds the wait for all replicas."""

    model: PlannedModel
    observability: Observability


class VllmService(pulumi.ComponentResource):
    """StatefulSet, headless Service, disruption budget and monitor of one model."""

    stateful_set: StatefulSet

    def __init__(
        self, name: str, args: VllmServiceArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the engine; it is done when every replica answers."""
        super().__init__("triplane:engine:VllmService", name, None, opts)
        child = ResourceOptions(parent=self)
        model = args.model
        labels = engine_labels(model.name)
        service = Service(
            f"{name}-service",
            metadata=metadata(model.name, MODELS_NAMESPACE, labels, _SKIP_AWAIT),
            spec=render.service(model),
            opts=child,
        )
        wait = f"{model.rollout_sec}s"
        self.stateful_set = StatefulSet(
            f"{name}-engine",
            metadata=metadata(model.name, MODELS_NAMESPACE, labels, render.annotations(model)),
            spec=render.stateful_set(model),
            # Pods get their DNS names from the Service, so it comes first.
            opts=ResourceOptions(
                parent=self,
                depends_on=[service],
                custom_timeouts=CustomTimeouts(create=wait, update=wait),
            ),
        )
        PodDisruptionBudget(
            f"{name}-disruption-budget",
            metadata=metadata(model.name, MODELS_NAMESPACE, labels),
            spec=render.disruption_budget(model),
            opts=child,
        )
        CustomObject(
            f"{name}-monitor",
            api_version="monitoring.coreos.com/v1",
            kind="ServiceMonitor",
            metadata=metadata(
                model.name, MODELS_NAMESPACE, {**labels, **args.observability.monitor_labels}
            ),
            spec=service_monitor(model, args.observability.scrape_interval_sec),
            opts=child,
        )
        self.register_outputs({"service": model.name, "namespace": MODELS_NAMESPACE})
