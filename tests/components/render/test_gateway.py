"""The gateway's policies: what is refused, retried, passed over, and who takes over."""

from typing import Any

import pytest

from components.render.gateway import entrance, providers, routes
from models.plan.plan import PlannedModel
from models.settings.gateway import FallbackProviderSettings, Gateway, RateLimit, Traffic
from tests.helpers.plans.dev import dev_plan

pytestmark = pytest.mark.pure

OPENAI = FallbackProviderSettings(
    name="saas",
    schema_name="OpenAI",
    hostname="api.example.com",
    model="big",
    api_key_secret="saas-key",
)


def qwen() -> PlannedModel:
    """Return a planned model that scales to three replicas."""
    return next(each for each in dev_plan().regions[0].models if each.name == "qwen3-8b")


def other(**fields: Any) -> FallbackProviderSettings:
    """Return another provider."""
    return FallbackProviderSettings.model_validate({**OPENAI.model_dump(), **fields})


def test_a_key_is_read_where_openai_clients_put_it_and_goes_no_further() -> None:
    auth = entrance.client_keys(Gateway(clients=("a",)))["apiKeyAuth"]
    assert auth["extractFrom"] == [{"headers": ["authorization"]}]
    assert auth["sanitize"] is True
    assert auth["forwardClientIDHeader"] == "x-client-id"
    assert auth["credentialRefs"] == [{"kind": "Secret", "name": "gateway-clients"}]
    given = entrance.client_keys(Gateway(api_keys_secret="mine"))
    assert given["apiKeyAuth"]["credentialRefs"] == [{"kind": "Secret", "name": "mine"}]


def test_each_client_has_a_limit_of_its_own_and_is_told_when_to_come_back() -> None:
    options = Gateway(clients=("a",), rate_limit=RateLimit(requests_per_second=50))
    policy = routes.traffic(qwen(), options)
    limit = policy.get("rateLimit")
    assert limit is not None
    [rule] = limit["local"]["rules"]
    assert rule["limit"] == {"requests": 50, "unit": "Second"}
    assert rule["clientSelectors"] == [{"headers": [{"name": "x-client-id", "type": "Distinct"}]}]
    [override] = policy.get("responseOverride", [])
    assert override["match"]["statusCodes"] == [{"type": "Value", "value": 429}]
    assert override["response"]["header"]["set"] == [{"name": "Retry-After", "value": "1"}]
    assert override["source"] == "Local", "what an engine answers is its own affair"
    for unlimited in (Gateway(), Gateway(clients=("a",), rate_limit=RateLimit())):
        assert "rateLimit" not in routes.traffic(qwen(), unlimited)


def test_no_answer_is_cut_and_no_idle_connection_is_closed_by_the_engine_first() -> None:
    """VLLM closes after 5 s; EAIG-02 and EAIG-03 are about limits on a whole answer."""
    policy = routes.traffic(qwen(), Gateway(stream_idle_timeout_sec=120))
    assert policy["timeout"]["http"] == {
        "requestTimeout": "0s",
        "connectionIdleTimeout": "4s",
        "streamIdleTimeout": "120s",
    }
    retry = policy.get("retry")
    assert retry is not None
    assert "perRetry" not in retry


def test_what_is_retried_has_not_begun_to_answer() -> None:
    retry = routes.traffic(qwen(), Gateway()).get("retry")
    assert retry is not None
    assert retry["numRetries"] == 2
    assert retry["retryOn"]["httpStatusCodes"] == [502, 503, 504]
    assert set(retry["retryOn"]["triggers"]) == {
        "connect-failure",
        "refused-stream",
        "retriable-status-codes",
    }
    assert "retry" not in routes.traffic(qwen(), Gateway(traffic=Traffic(retries=0)))


def test_as_many_requests_wait_as_run() -> None:
    """Dev runs 64 sequences a replica, and this model has three replicas at most: 64 x 3 x 2."""
    model = qwen()
    assert (model.arguments.max_num_seqs, model.replicas_max) == (64, 3)
    breaker = routes.traffic(model, Gateway())["circuitBreaker"]
    assert breaker["maxParallelRequests"] == breaker["maxPendingRequests"] == 384
    assert breaker["maxConnections"] == 384
    assert breaker["retryBudget"] == {"percent": {"numerator": 20}}


def test_replicas_are_asked_for_their_health_and_half_of_them_stay() -> None:
    settings = Traffic(health_interval_sec=3, ejection_sec=45, connect_timeout_sec=7)
    policy = routes.traffic(qwen(), Gateway(traffic=settings))
    active, passive = policy["healthCheck"]["active"], policy["healthCheck"]["passive"]
    assert active == {
        "type": "HTTP",
        "http": {"path": "/health"},
        "interval": "3s",
        "timeout": "3s",
        "unhealthyThreshold": 3,
        "healthyThreshold": 1,
    }
    assert (passive["baseEjectionTime"], passive["maxEjectionPercent"]) == ("45s", 50)
    assert policy["timeout"]["tcp"] == {"connectTimeout": "7s"}
    assert routes.traffic(qwen(), Gateway())["healthCheck"]["active"]["timeout"] == "5s"


def test_providers_come_after_the_replicas_one_after_the_other() -> None:
    reserve = (OPENAI, other(name="next", model="bigger"))
    [rule] = routes.route(qwen(), Gateway(), reserve)["rules"]
    assert [
        (each["name"], each["priority"], each["modelNameOverride"]) for each in rule["backendRefs"]
    ] == [("qwen3-8b", 0, "qwen3-8b"), ("fallback-saas", 1, "big"), ("fallback-next", 2, "bigger")]


def test_with_a_provider_nobody_is_asked_for_a_path_that_it_does_not_have() -> None:
    """A check asks every backend of a route: a provider without /health would never be healthy."""
    policy = routes.traffic(qwen(), Gateway(), reserve=True)
    active = policy["healthCheck"]["active"]
    assert active["type"] == "TCP"
    assert "http" not in active
    assert policy["healthCheck"]["passive"]["maxEjectionPercent"] == 100
    retry = policy.get("retry")
    assert retry is not None
    # Three attempts: two at replicas, the last at the provider.
    assert (retry["numRetries"], retry.get("numAttemptsPerPriority")) == (2, 2)


@pytest.mark.parametrize(
    ("fields", "kind", "block"),
    [
        ({}, "APIKey", "apiKey"),
        ({"schema_name": "Cohere"}, "APIKey", "apiKey"),
        ({"schema_name": "Anthropic"}, "AnthropicAPIKey", "anthropicAPIKey"),
        ({"schema_name": "AzureOpenAI", "api_version": "v9"}, "AzureAPIKey", "azureAPIKey"),
    ],
)
def test_a_provider_is_shown_the_key_in_the_form_that_it_knows(
    fields: dict[str, Any], kind: str, block: str
) -> None:
    made = dict(providers.security(other(**fields)))
    assert made.pop("type") == kind
    assert made.pop("targetRefs") == [
        {"group": "aigateway.envoyproxy.io", "kind": "AIServiceBackend", "name": "fallback-saas"}
    ]
    assert made == {block: {"secretRef": {"kind": "Secret", "name": "fallback-saas"}}}


def test_bedrock_is_signed_for_its_region() -> None:
    provider = other(schema_name="AWSBedrock", aws_region="eu-west-1")
    made = providers.security(provider)
    assert made["type"] == "AWSCredentials"
    assert made.get("awsCredentials") == {
        "region": "eu-west-1",
        "credentialsFile": {"secretRef": {"kind": "Secret", "name": "fallback-saas"}},
    }


def test_a_providers_certificate_is_checked_for_its_name() -> None:
    made = providers.backend(OPENAI)
    assert made["endpoints"] == [{"fqdn": {"hostname": "api.example.com", "port": 443}}]
    assert made.get("tls") == {"wellKnownCACertificates": "System", "sni": "api.example.com"}
    azure = other(schema_name="AzureOpenAI", api_version="v9")
    assert providers.service_backend(azure)["schema"] == {"name": "AzureOpenAI", "version": "v9"}
    compatible = other(path_prefix="/compatible")
    assert providers.service_backend(compatible)["schema"]["name"] == "OpenAI"
    assert providers.service_backend(compatible)["schema"].get("prefix") == "/compatible"


def test_a_provider_stands_in_for_the_models_that_it_names() -> None:
    assert OPENAI.serves("anything")
    only = other(models=("qwen3-8b",))
    assert only.serves("qwen3-8b")
    assert not only.serves("llama31-8b-instruct")
