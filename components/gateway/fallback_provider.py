"""`FallbackProvider`: who answers when none of a model's replicas can."""

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from components.core.custom import CustomObject, waiting_for
from components.render.common import metadata
from components.render.gateway import providers as render
from components.render.gateway.kinds import AI_API, ENVOY_API
from models.core.names import GATEWAY_NAMESPACE, provider_object
from models.settings.gateway import FallbackProviderSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class FallbackProviderArgs:
    """The provider; the Secret with its key is there."""

    provider: FallbackProviderSettings


class FallbackProvider(pulumi.ComponentResource):
    """Backend, AIServiceBackend and BackendSecurityPolicy, which the models' routes name."""

    def __init__(
        self, name: str, args: FallbackProviderArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the chain from the inside out, each waiting to be accepted."""
        super().__init__("triplane:gateway:FallbackProvider", name, None, opts)
        plain = metadata(provider_object(args.provider.name), GATEWAY_NAMESPACE)
        meta = waiting_for(plain, "Accepted")
        backend = CustomObject(
            f"{name}-backend",
            api_version=ENVOY_API,
            kind="Backend",
            metadata=plain,
            spec=render.backend(args.provider),
            opts=ResourceOptions(parent=self),
        )
        service = CustomObject(
            f"{name}-service-backend",
            api_version=AI_API,
            kind="AIServiceBackend",
            metadata=meta,
            spec=render.service_backend(args.provider),
            opts=ResourceOptions(parent=self, depends_on=[backend]),
        )
        CustomObject(
            f"{name}-security",
            api_version=AI_API,
            kind="BackendSecurityPolicy",
            metadata=meta,
            spec=render.security(args.provider),
            opts=ResourceOptions(parent=self, depends_on=[service]),
        )
        self.register_outputs({"backend": provider_object(args.provider.name)})
