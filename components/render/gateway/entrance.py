"""The region's entrance: class, Gateway, limits towards clients, and the clients' keys."""

from components.render.gateway.kinds import (
    GATEWAY_GROUP,
    ClientTrafficPolicySpec,
    GatewayClassSpec,
    GatewaySpec,
    Listener,
    SecurityPolicySpec,
)
from models.core.names import (
    CLIENT_HEADER,
    GATEWAY,
    GATEWAY_CLASS,
    GATEWAY_CLIENTS_SECRET,
    GATEWAY_CONTROLLER,
)
from models.settings.gateway import Gateway


def gateway_class() -> GatewayClassSpec:
    """Return the class by which Envoy Gateway takes our Gateway."""
    return {"controllerName": GATEWAY_CONTROLLER}


def gateway(options: Gateway) -> GatewaySpec:
    """Return the Gateway: HTTPS with the named certificate, plain HTTP where none is named."""
    listener: Listener = {
        "name": "http",
        "protocol": "HTTP",
        "port": 80,
        "allowedRoutes": {"namespaces": {"from": "Same"}},
    }
    if options.tls_secret is not None:
        listener = {
            **listener,
            "name": "https",
            "protocol": "HTTPS",
            "port": 443,
            "tls": {
                "mode": "Terminate",
                "certificateRefs": [{"kind": "Secret", "name": options.tls_secret}],
            },
        }
    if options.hostname is not None:
        listener["hostname"] = options.hostname
    return {"gatewayClassName": GATEWAY_CLASS, "listeners": [listener]}


def client_policy(options: Gateway) -> ClientTrafficPolicySpec:
    """Return limits towards clients.

    Envoy Gateway buffers 32 KiB a connection unless told otherwise, and longer prompts would get
    413. Reading a request is bounded; answering is bounded by idleness only, since a stream lasts
    as long as the model talks.
    """
    policy: ClientTrafficPolicySpec = {
        "targetRefs": [{"group": GATEWAY_GROUP, "kind": "Gateway", "name": GATEWAY}],
        "connection": {"bufferLimit": f"{options.max_body_mib}Mi"},
        "timeout": {
            "http": {
                "requestReceivedTimeout": "60s",
                "streamIdleTimeout": f"{options.stream_idle_timeout_sec}s",
            }
        },
    }
    if options.tls_secret is not None:
        policy["tls"] = {"minVersion": "1.2"}
    return policy


def client_keys(options: Gateway) -> SecurityPolicySpec:
    """Return who may ask: whoever has one of the keys in the Secret.

    A key comes as OpenAI clients send it (`Authorization: Bearer ...`; Envoy's filter takes the
    word off) and goes no further; the client's name does, in a header that the filter overwrites.
    """
    secret = options.api_keys_secret or GATEWAY_CLIENTS_SECRET
    return {
        "targetRefs": [{"group": GATEWAY_GROUP, "kind": "Gateway", "name": GATEWAY}],
        "apiKeyAuth": {
            "credentialRefs": [{"kind": "Secret", "name": secret}],
            "extractFrom": [{"headers": ["authorization"]}],
            "forwardClientIDHeader": CLIENT_HEADER,
            "sanitize": True,
        },
    }
