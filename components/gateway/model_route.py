"""`ModelRoute`: how requests for a model's id reach its engine."""

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from components.core.custom import CustomObject, waiting_for, waiting_for_target
from components.render.common import metadata
from components.render.gateway import routes as render
from components.render.gateway.kinds import AI_API, ENVOY_API
from models.core.names import GATEWAY_NAMESPACE
from models.plan.plan import PlannedModel
from models.settings.gateway import FallbackProviderSettings, Gateway


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRouteArgs:
    """The model, the gateway's options, and providers in the order in which they take over."""

    model: PlannedModel
    options: Gateway
    providers: tuple[FallbackProviderSettings, ...] = ()


class ModelRoute(pulumi.ComponentResource):
    """Backend, AIServiceBackend, AIGatewayRoute and traffic policy, all named like the model."""

    def __init__(
        self, name: str, args: ModelRouteArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the chain from the inside out, each waiting to be accepted."""
        super().__init__("triplane:gateway:ModelRoute", name, None, opts)
        meta = waiting_for(metadata(args.model.name, GATEWAY_NAMESPACE), "Accepted")
        backend = CustomObject(
            f"{name}-backend",
            api_version=ENVOY_API,
            kind="Backend",
            metadata=metadata(args.model.name, GATEWAY_NAMESPACE),
            spec=render.backend(args.model),
            opts=ResourceOptions(parent=self),
        )
        # Accepted only once what it refers to exists, hence the order.
        service = CustomObject(
            f"{name}-service-backend",
            api_version=AI_API,
            kind="AIServiceBackend",
            metadata=meta,
            spec=render.service_backend(args.model),
            opts=ResourceOptions(parent=self, depends_on=[backend]),
        )
        route = CustomObject(
            f"{name}-route",
            api_version=AI_API,
            kind="AIGatewayRoute",
            metadata=meta,
            spec=render.route(args.model, args.options, args.providers),
            opts=ResourceOptions(parent=self, depends_on=[service]),
        )
        CustomObject(
            f"{name}-traffic",
            api_version=ENVOY_API,
            kind="BackendTrafficPolicy",
            metadata=waiting_for_target(metadata(args.model.name, GATEWAY_NAMESPACE)),
            spec=render.traffic(args.model, args.options, reserve=bool(args.providers)),
            # Its target is the HTTPRoute that the AI gateway makes of the route.
            opts=ResourceOptions(parent=self, depends_on=[route]),
        )
        self.register_outputs({"route": args.model.name})
