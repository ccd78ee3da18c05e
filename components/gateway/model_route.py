"""`ModelRoute`: how requests for a model's id reach its engine."""

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from components.core.custom import CustomObject, waiting_for
from components.render import gateway as render
from components.render.common import metadata
from models.core.names import GATEWAY_NAMESPACE
from models.plan.plan import PlannedModel
from models.settings.options import Gateway


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRouteArgs:
    """The model and the gateway's options."""

    model: PlannedModel
    options: Gateway


class ModelRoute(pulumi.ComponentResource):
    """Backend, AIServiceBackend and AIGatewayRoute, all named like the model."""

    def __init__(
        self, name: str, args: ModelRouteArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the chain from the inside out, each waiting to be accepted."""
        super().__init__("triplane:gateway:ModelRoute", name, None, opts)
        meta = waiting_for(metadata(args.model.name, GATEWAY_NAMESPACE), "Accepted")
        backend = CustomObject(
            f"{name}-backend",
            api_version=render.ENVOY_API,
            kind="Backend",
            metadata=metadata(args.model.name, GATEWAY_NAMESPACE),
            spec=render.backend(args.model),
            opts=ResourceOptions(parent=self),
        )
        # Accepted only once what it refers to exists, hence the order.
        service = CustomObject(
            f"{name}-service-backend",
            api_version=render.AI_API,
            kind="AIServiceBackend",
            metadata=meta,
            spec=render.service_backend(args.model),
            opts=ResourceOptions(parent=self, depends_on=[backend]),
        )
        CustomObject(
            f"{name}-route",
            api_version=render.AI_API,
            kind="AIGatewayRoute",
            metadata=meta,
            spec=render.route(args.model, args.options),
            opts=ResourceOptions(parent=self, depends_on=[service]),
        )
        self.register_outputs({})
