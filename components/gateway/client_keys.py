"""`ClientKeys`: who may ask the gateway."""

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from components.core.custom import CustomObject, waiting_for_target
from components.render.common import metadata
from components.render.gateway import entrance as render
from components.render.gateway.kinds import ENVOY_API
from models.core.names import GATEWAY, GATEWAY_NAMESPACE
from models.settings.gateway import Gateway


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientKeysArgs:
    """The gateway's options; the Secret with the keys is there."""

    options: Gateway


class ClientKeys(pulumi.ComponentResource):
    """A SecurityPolicy on the Gateway: without a key 401, with one the client's name goes on."""

    def __init__(
        self, name: str, args: ClientKeysArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the policy; it is done when the Gateway takes it."""
        super().__init__("triplane:gateway:ClientKeys", name, None, opts)
        CustomObject(
            f"{name}-policy",
            api_version=ENVOY_API,
            kind="SecurityPolicy",
            metadata=waiting_for_target(metadata(GATEWAY, GATEWAY_NAMESPACE)),
            spec=render.client_keys(args.options),
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({"gateway": GATEWAY})
