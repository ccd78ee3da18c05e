"""The region's entrance: who may ask, how much, how failures are met, who takes over."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from models.core.base import DnsLabel, Model

ENGINE_KEEP_ALIVE_SEC: Final = 5
"""After so long without a request an engine closes a connection (vLLM 0.33.0 `envs.py`,
`VLLM_HTTP_TIMEOUT_KEEP_ALIVE`). A proxy that sends on a connection just then gets a 502."""


class RateLimit(Model):
    """A client's limits at the gateway."""

    requests_per_second: PositiveInt | None = None
    """Requests of one client to one model within a second; above it clients get 429 with
    Retry-After. Each of the gateway's proxies counts by itself."""
    tokens_per_minute: PositiveInt | None = None
    """Tokens of one client within a minute."""


class Traffic(Model):
    """How the gateway meets replicas that fail, and how much it sends them."""

    connect_timeout_sec: Annotated[int, Field(ge=1, le=60)] = 5
    """How long a replica may take to accept a connection (seconds)."""
    retries: Annotated[int, Field(ge=0, le=5)] = 2
    """Further attempts after 502, 503, 504 or a failed connection, on another replica where there
    is one; never once an answer has begun."""
    retry_budget_percent: Annotated[int, Field(ge=1, le=100)] = 20
    """Share of the requests under way that may be retries."""
    health_interval_sec: Annotated[int, Field(ge=1, le=300)] = 10
    """How often each replica is asked for /health (seconds)."""
    ejection_sec: Annotated[int, Field(ge=1, le=3600)] = 30
    """How long a replica that fails requests gets none (seconds), longer each time."""


class Gateway(Model):
    """The region's OpenAI-compatible API."""

    hostname: str | None = None
    """The name that clients use; None serves by address."""
    tls_secret: DnsLabel | None = None
    """The Secret with the certificate, in the gateway's namespace."""
    max_body_mib: Annotated[int, Field(ge=1, le=256)] = 4
    """The largest request (MiB); above it clients get 413."""
    stream_idle_timeout_sec: PositiveInt = 300
    """Ends a stream on which nothing arrives for so long (seconds). A request as a whole has no
    limit, since a limit would cut streamed answers."""
    clients: tuple[DnsLabel, ...] = ()
    """Clients that have a key, by name; their keys are properties of the secret `gateway-clients`
    (docs/gateway.md)."""
    api_keys_secret: DnsLabel | None = None
    """A Secret in the gateway's namespace that exists and holds the clients' keys, instead of
    `clients`: a key for each client, called like the client."""
    rate_limit: RateLimit | None = None
    """Limits of each client."""
    traffic: Traffic = Traffic()
    """How replicas that fail are found and passed over (docs/gateway.md)."""
    prefix_affinity: bool = False
    """Sends prompts that begin alike to one replica."""

    @model_validator(mode="after")
    def clients_are_known_by_their_keys(self) -> Self:
        """A limit for each client needs to know who asks."""
        if self.clients and self.api_keys_secret is not None:
            message = (
                "clients and api_keys_secret are both given; name the clients whose keys the stack "
                "is to fetch, or the Secret that has them already"
            )
            raise ValueError(message)
        twice = sorted({name for name in self.clients if self.clients.count(name) > 1})
        if twice:
            message = f"clients are named twice: {', '.join(twice)}"
            raise ValueError(message)
        limit = self.rate_limit
        if limit is not None and limit.requests_per_second is not None and not self.has_keys:
            message = (
                "rate_limit.requests_per_second counts by client, and without keys nobody knows "
                "who asks; give clients or api_keys_secret"
            )
            raise ValueError(message)
        return self

    @property
    def has_keys(self) -> bool:
        """Whether clients must show a key."""
        return bool(self.clients) or self.api_keys_secret is not None


class FallbackProviderSettings(Model):
    """A provider that answers when none of a model's replicas in the region can.

    Requests, prompts included, leave the platform then.
    """

    name: DnsLabel
    """What objects of the provider are called."""
    schema_name: Literal["OpenAI", "Anthropic", "AWSBedrock", "AzureOpenAI", "Cohere"]
    """The API that the provider speaks."""
    hostname: Annotated[
        str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$")
    ]
    """The provider's host, asked at port 443 with a certificate that public authorities signed."""
    model: Annotated[str, Field(min_length=1)]
    """The model as the provider calls it."""
    models: tuple[str, ...] | None = None
    """Models of the catalog that it stands in for; None for every model of the region."""
    api_key_secret: DnsLabel
    """The secret of the region's source that has the key (docs/gateway.md)."""
    api_version: str | None = None
    """Azure: the version of its API, such as 2025-01-01-preview."""
    path_prefix: str | None = None
    """OpenAI, Anthropic: what the API's paths begin with, where it is not upstream's own."""
    aws_region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")] | None = None
    """Bedrock: the region that requests are signed for."""

    @model_validator(mode="after")
    def fields_fit_the_schema(self) -> Self:
        """What a provider does not read would be believed to do something."""
        wanted = {"AzureOpenAI": {"api_version"}, "AWSBedrock": {"aws_region"}}
        allowed = {"OpenAI": {"path_prefix"}, "Anthropic": {"path_prefix"}}
        needed = wanted.get(self.schema_name, set())
        given = {
            name
            for name in ("api_version", "path_prefix", "aws_region")
            if getattr(self, name) is not None
        }
        if missing := sorted(needed - given):
            message = f"schema_name {self.schema_name} needs {', '.join(missing)}"
            raise ValueError(message)
        if foreign := sorted(given - needed - allowed.get(self.schema_name, set())):
            message = (
                f"schema_name {self.schema_name} has no use for {', '.join(foreign)}; remove it"
            )
            raise ValueError(message)
        return self

    def serves(self, model: str) -> bool:
        """Whether it stands in for a model of the catalog."""
        return self.models is None or model in self.models
