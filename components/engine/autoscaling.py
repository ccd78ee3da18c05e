"""`Autoscaling`: the ScaledObject of one model."""

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from components.core.custom import CustomObject, waiting_for
from components.render.common import metadata
from components.render.engine.autoscaling import KEDA_API, scaled_object
from models.core.names import MODELS_NAMESPACE, engine_labels
from models.plan.plan import PlannedModel
from models.settings.options import AutoscalingOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoscalingArgs:
    """The model, whose `autoscaled` is true, and the platform's thresholds."""

    model: PlannedModel
    options: AutoscalingOptions


class Autoscaling(pulumi.ComponentResource):
    """Exactly one autoscaler for one StatefulSet."""

    def __init__(
        self, name: str, args: AutoscalingArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the ScaledObject and wait until KEDA took it."""
        super().__init__("triplane:autoscaling:Autoscaling", name, None, opts)
        model = args.model
        meta = metadata(model.name, MODELS_NAMESPACE, engine_labels(model.name))
        CustomObject(
            f"{name}-scaled-object",
            api_version=KEDA_API,
            kind="ScaledObject",
            metadata=waiting_for(meta, "Ready"),
            spec=scaled_object(model, args.options),
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({"scaledObject": model.name})
