"""Manifests of the exposure plane: class, Gateway, client policy, and a model's route.

One TypedDict per custom resource: a misspelt key is a type error here and a rejected object there.
"""

from typing import Final, NotRequired, TypedDict

from models.core.names import (
    GATEWAY,
    GATEWAY_CLASS,
    GATEWAY_CONTROLLER,
    MODEL_HEADER,
    engine_host,
)
from models.plan.plan import PlannedModel
from models.settings.options import Gateway

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
ENVOY_GROUP: Final = "gateway.envoyproxy.io"
AI_GROUP: Final = "aigateway.envoyproxy.io"
GATEWAY_API: Final = f"{GATEWAY_GROUP}/v1"
ENVOY_API: Final = f"{ENVOY_GROUP}/v1alpha1"
AI_API: Final = f"{AI_GROUP}/v1beta1"


class GatewayClassSpec(TypedDict):
    """gateway.networking.k8s.io/v1 GatewayClass."""

    controllerName: str


class ObjectReference(TypedDict):
    """A reference by group, kind and name within the namespace."""

    group: str
    kind: str
    name: str


class SecretReference(TypedDict):
    """A certificate's Secret."""

    kind: str
    name: str


class ListenerTls(TypedDict):
    """TLS of a listener."""

    mode: str
    certificateRefs: list[SecretReference]


AllowedFrom = TypedDict("AllowedFrom", {"from": str})
"""Namespaces whose routes a listener takes; the key is a reserved word in a class body."""


class AllowedRoutes(TypedDict):
    """Which routes a listener takes."""

    namespaces: AllowedFrom


class Listener(TypedDict):
    """One port of a Gateway."""

    name: str
    protocol: str
    port: int
    allowedRoutes: AllowedRoutes
    hostname: NotRequired[str]
    tls: NotRequired[ListenerTls]


class GatewaySpec(TypedDict):
    """gateway.networking.k8s.io/v1 Gateway."""

    gatewayClassName: str
    listeners: list[Listener]


class Connection(TypedDict):
    """Per-connection limits of a ClientTrafficPolicy."""

    bufferLimit: str


class HttpTimeout(TypedDict):
    """HTTP timeouts towards clients."""

    requestReceivedTimeout: str
    streamIdleTimeout: str


class ClientTimeout(TypedDict):
    """Timeouts of a ClientTrafficPolicy."""

    http: HttpTimeout


class ClientTls(TypedDict):
    """TLS settings towards clients."""

    minVersion: str


class ClientTrafficPolicySpec(TypedDict):
    """gateway.envoyproxy.io/v1alpha1 ClientTrafficPolicy."""

    targetRefs: list[ObjectReference]
    connection: Connection
    timeout: ClientTimeout
    tls: NotRequired[ClientTls]


class Fqdn(TypedDict):
    """A DNS name and port."""

    hostname: str
    port: int


class BackendEndpoint(TypedDict):
    """One endpoint of a Backend."""

    fqdn: Fqdn


class BackendSpec(TypedDict):
    """gateway.envoyproxy.io/v1alpha1 Backend."""

    endpoints: list[BackendEndpoint]


class ApiSchema(TypedDict):
    """The API that a backend speaks."""

    name: str


class ServiceBackendSpec(TypedDict):
    """aigateway.envoyproxy.io/v1beta1 AIServiceBackend."""

    schema: ApiSchema
    backendRef: ObjectReference


class HeaderMatch(TypedDict):
    """One header that a request must carry."""

    type: str
    name: str
    value: str


class RouteMatch(TypedDict):
    """What a rule matches."""

    headers: list[HeaderMatch]


class RouteBackend(TypedDict):
    """Where a rule sends requests, and the model name that the backend knows."""

    name: str
    weight: int
    priority: int
    modelNameOverride: str


class RouteTimeouts(TypedDict):
    """Limits of a whole exchange; 0s means none."""

    request: str


class RouteRule(TypedDict):
    """One rule of a route."""

    matches: list[RouteMatch]
    backendRefs: list[RouteBackend]
    timeouts: RouteTimeouts
    streamIdleTimeout: str
    modelsOwnedBy: str


class RequestCost(TypedDict):
    """A token count that limits can refer to."""

    metadataKey: str
    type: str


class RouteSpec(TypedDict):
    """aigateway.envoyproxy.io/v1beta1 AIGatewayRoute."""

    parentRefs: list[ObjectReference]
    rules: list[RouteRule]
    llmRequestCosts: list[RequestCost]


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


def backend(model: PlannedModel) -> BackendSpec:
    """Return the Backend: the DNS name of the model's Service."""
    return {
        "endpoints": [
            {"fqdn": {"hostname": engine_host(model.name), "port": model.contract.port}},
        ]
    }


def service_backend(model: PlannedModel) -> ServiceBackendSpec:
    """Return the AIServiceBackend: the Backend speaks OpenAI's API."""
    return {
        "schema": {"name": "OpenAI"},
        "backendRef": {"group": ENVOY_GROUP, "kind": "Backend", "name": model.name},
    }


def route(model: PlannedModel, options: Gateway) -> RouteSpec:
    """Return the AIGatewayRoute: requests for the model's id go to its backend.

    No limit on the whole exchange (the default of 60 s would cut streams), but on idleness.
    """
    return {
        "parentRefs": [{"group": GATEWAY_GROUP, "kind": "Gateway", "name": GATEWAY}],
        "rules": [
            {
                "matches": [
                    {"headers": [{"type": "Exact", "name": MODEL_HEADER, "value": model.name}]}
                ],
                "backendRefs": [
                    {
                        "name": model.name,
                        "weight": 1,
                        "priority": 0,
                        "modelNameOverride": model.arguments.served_model_name,
                    }
                ],
                "timeouts": {"request": "0s"},
                "streamIdleTimeout": f"{options.stream_idle_timeout_sec}s",
                "modelsOwnedBy": "triplane",
            }
        ],
        "llmRequestCosts": [
            {"metadataKey": "llm_input_token", "type": "InputToken"},
            {"metadataKey": "llm_output_token", "type": "OutputToken"},
            {"metadataKey": "llm_total_token", "type": "TotalToken"},
        ],
    }
