"""The exposure plane's custom resources, one TypedDict each.

A misspelt key is a type error here and a rejected object there.
"""

from typing import Final, NotRequired, TypedDict

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


class BackendTls(TypedDict):
    """How a backend's certificate is checked."""

    wellKnownCACertificates: str
    sni: str


class BackendSpec(TypedDict):
    """gateway.envoyproxy.io/v1alpha1 Backend."""

    endpoints: list[BackendEndpoint]
    tls: NotRequired[BackendTls]


class ApiSchema(TypedDict):
    """The API that a backend speaks."""

    name: str
    version: NotRequired[str]
    prefix: NotRequired[str]


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


class KeyReference(TypedDict):
    """A Secret with a key."""

    secretRef: SecretReference


class CredentialsFile(TypedDict):
    """Credentials of AWS as its tools write them down, and the region that is signed for."""

    region: str
    credentialsFile: KeyReference


class BackendSecuritySpec(TypedDict):
    """aigateway.envoyproxy.io/v1beta1 BackendSecurityPolicy; one of the blocks, by its type."""

    type: str
    targetRefs: list[ObjectReference]
    apiKey: NotRequired[KeyReference]
    azureAPIKey: NotRequired[KeyReference]
    anthropicAPIKey: NotRequired[KeyReference]
    awsCredentials: NotRequired[CredentialsFile]


class KeySource(TypedDict):
    """Where a request carries its key."""

    headers: list[str]


class KeyAuth(TypedDict):
    """Keys of clients: a Secret's keys are their names."""

    credentialRefs: list[SecretReference]
    extractFrom: list[KeySource]
    forwardClientIDHeader: str
    sanitize: bool


class SecurityPolicySpec(TypedDict):
    """gateway.envoyproxy.io/v1alpha1 SecurityPolicy."""

    targetRefs: list[ObjectReference]
    apiKeyAuth: KeyAuth


class RetryOn(TypedDict):
    """What is tried again."""

    triggers: list[str]
    httpStatusCodes: list[int]


class Retry(TypedDict):
    """How often, and after what."""

    numRetries: int
    numAttemptsPerPriority: NotRequired[int]
    retryOn: RetryOn


class Percent(TypedDict):
    """A share of a hundred."""

    numerator: int


class RetryBudget(TypedDict):
    """The share of requests that may be retries."""

    percent: Percent


class CircuitBreaker(TypedDict):
    """Bounds of what is under way; above them the gateway answers 503 at once."""

    maxConnections: int
    maxParallelRequests: int
    maxPendingRequests: int
    retryBudget: RetryBudget


class HealthPath(TypedDict):
    """What a health check asks for."""

    path: str


class ActiveHealth(TypedDict):
    """Asking each replica."""

    type: str
    http: NotRequired[HealthPath]
    tcp: NotRequired[dict[str, str]]
    interval: str
    timeout: str
    unhealthyThreshold: int
    healthyThreshold: int


class PassiveHealth(TypedDict):
    """Watching each replica's answers."""

    interval: str
    baseEjectionTime: str
    maxEjectionPercent: int
    consecutive5XxErrors: int
    consecutiveGatewayErrors: int


class HealthCheck(TypedDict):
    """Both ways of finding a replica that does not answer."""

    active: ActiveHealth
    passive: PassiveHealth


class TcpTimeout(TypedDict):
    """Timeouts of connections."""

    connectTimeout: str


class BackendHttpTimeout(TypedDict):
    """Timeouts towards replicas; 0s means none."""

    requestTimeout: str
    connectionIdleTimeout: str
    streamIdleTimeout: str


class BackendTimeout(TypedDict):
    """Timeouts of a BackendTrafficPolicy."""

    tcp: TcpTimeout
    http: BackendHttpTimeout


class DistinctHeader(TypedDict):
    """Each value of a header is counted by itself."""

    name: str
    type: str


class ClientSelector(TypedDict):
    """Whose requests a rule counts."""

    headers: list[DistinctHeader]


class Limit(TypedDict):
    """How many requests in a unit of time."""

    requests: int
    unit: str


class LimitRule(TypedDict):
    """One limit."""

    clientSelectors: list[ClientSelector]
    limit: Limit


class LocalLimit(TypedDict):
    """Limits that each proxy counts by itself."""

    rules: list[LimitRule]


class RateLimitSpec(TypedDict):
    """Limits of a BackendTrafficPolicy."""

    type: str
    local: LocalLimit


class StatusMatch(TypedDict):
    """One status code."""

    type: str
    value: int


class ResponseMatch(TypedDict):
    """Which answers are changed."""

    statusCodes: list[StatusMatch]


class HeaderValue(TypedDict):
    """A header and what it is set to."""

    name: str
    value: str


class HeaderChange(TypedDict):
    """Headers that an answer gets."""

    set: list[HeaderValue]


class ChangedResponse(TypedDict):
    """What is changed in an answer."""

    header: HeaderChange


class ResponseOverride(TypedDict):
    """A change to answers of the gateway's own."""

    source: str
    match: ResponseMatch
    response: ChangedResponse


class BackendTrafficPolicySpec(TypedDict):
    """gateway.envoyproxy.io/v1alpha1 BackendTrafficPolicy."""

    targetRefs: list[ObjectReference]
    retry: NotRequired[Retry]
    circuitBreaker: CircuitBreaker
    healthCheck: HealthCheck
    timeout: BackendTimeout
    rateLimit: NotRequired[RateLimitSpec]
    responseOverride: NotRequired[list[ResponseOverride]]
