"""`AiGateway`: the region's entrance."""

from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions

from components.core.custom import CustomObject, Status, waiting_for, waiting_for_target
from components.gateway.client_keys import ClientKeys, ClientKeysArgs
from components.render.common import metadata
from components.render.gateway import entrance as render
from components.render.gateway.kinds import ENVOY_API, GATEWAY_API
from models.core.names import GATEWAY, GATEWAY_CLASS, GATEWAY_NAMESPACE
from models.settings.gateway import Gateway


@dataclass(frozen=True, kw_only=True, slots=True)
class AiGatewayArgs:
    """The gateway's options; `rendering` is true where no cluster will give an address."""

    options: Gateway
    rendering: bool = False


class AiGateway(pulumi.ComponentResource):
    """Class, Gateway, the limits towards clients and who they are.

    `url` is for clients, without a trailing slash; `address` is where the gateway itself answers.
    """

    url: Output[str]
    address: Output[str]

    def __init__(self, name: str, args: AiGatewayArgs, opts: ResourceOptions | None = None) -> None:
        """Register the gateway; it is done when it is programmed."""
        super().__init__("triplane:gateway:AiGateway", name, None, opts)
        child = ResourceOptions(parent=self)
        gateway_class = CustomObject(
            f"{name}-class",
            api_version=GATEWAY_API,
            kind="GatewayClass",
            metadata=waiting_for(metadata(GATEWAY_CLASS), "Accepted"),
            spec=render.gateway_class(),
            opts=child,
        )
        gateway = CustomObject(
            f"{name}-gateway",
            api_version=GATEWAY_API,
            kind="Gateway",
            metadata=waiting_for(metadata(GATEWAY, GATEWAY_NAMESPACE), "Programmed"),
            spec=render.gateway(args.options),
            # Nothing takes a Gateway whose class does not exist.
            opts=ResourceOptions(parent=self, depends_on=[gateway_class]),
        )
        CustomObject(
            f"{name}-client-policy",
            api_version=ENVOY_API,
            kind="ClientTrafficPolicy",
            metadata=waiting_for_target(metadata(GATEWAY, GATEWAY_NAMESPACE)),
            spec=render.client_policy(args.options),
            opts=ResourceOptions(parent=self, depends_on=[gateway]),
        )
        if args.options.has_keys:
            ClientKeys(
                f"{name}-keys",
                ClientKeysArgs(options=args.options),
                ResourceOptions(parent=self, depends_on=[gateway]),
            )
        scheme = "https" if args.options.tls_secret is not None else "http"
        self.address = _address(args, gateway.status)
        self.url = Output.concat(scheme, "://", args.options.hostname or self.address)
        self.register_outputs({"url": self.url})


def _address(args: AiGatewayArgs, status: Output[Status]) -> Output[str]:
    if args.rendering:
        return Output.from_input("gateway.invalid")
    return status.apply(lambda found: str(found["addresses"][0]["value"]))
