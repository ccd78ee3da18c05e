"""What is behind the entrance for one model: its replicas, its route, and how both are treated."""

from collections.abc import Sequence
from typing import Final

from components.render.gateway.kinds import (
    ENVOY_GROUP,
    GATEWAY_GROUP,
    ActiveHealth,
    BackendSpec,
    BackendTrafficPolicySpec,
    HealthCheck,
    RouteBackend,
    RouteSpec,
    ServiceBackendSpec,
)
from models.core.names import (
    CLIENT_HEADER,
    GATEWAY,
    MODEL_HEADER,
    engine_host,
    provider_object,
)
from models.plan.plan import PlannedModel
from models.settings.gateway import (
    ENGINE_KEEP_ALIVE_SEC,
    FallbackProviderSettings,
    Gateway,
    Traffic,
)

_RETRIED: Final = (502, 503, 504)
_TRIGGERS: Final = ("connect-failure", "refused-stream", "retriable-status-codes")
"""All of them before a byte of an answer. `reset` is not among them: it would send a request again
that an engine is at work on."""

_WAITING: Final = 2
"""Requests that may be under way for each sequence that a replica runs: one runs, one waits in the
engine's queue. Envoy's own bound of 1024 would be less than two replicas of 512 sequences."""


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


def route(
    model: PlannedModel, options: Gateway, providers: Sequence[FallbackProviderSettings] = ()
) -> RouteSpec:
    """Return the AIGatewayRoute: requests for the model's id go to its replicas.

    Providers come after them, each with a priority of its own: Envoy sends a share to the next
    priority once fewer than 72 % of the replicas before are healthy, and everything when none is.
    No limit on the whole exchange (the default of 60 s would cut streams), but on idleness.
    """
    after: list[RouteBackend] = [
        {
            "name": provider_object(provider.name),
            "weight": 1,
            "priority": number,
            "modelNameOverride": provider.model,
        }
        for number, provider in enumerate(providers, start=1)
    ]
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
                    },
                    *after,
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


def traffic(
    model: PlannedModel, options: Gateway, *, reserve: bool = False
) -> BackendTrafficPolicySpec:
    """Return how requests to the model's replicas are bounded, retried and kept from dead ones.

    One policy for everything, attached to the HTTPRoute that the AI gateway makes (it is called
    like its route): a policy on a route replaces one on the Gateway, it is not added to it. With
    providers in `reserve` the last attempt is theirs, the ones before are the replicas'.
    """
    settings = options.traffic
    sequences = model.arguments.max_num_seqs
    assert sequences is not None, "every profile has it, so a plan's arguments do"
    most = _WAITING * model.replicas_max * sequences
    policy: BackendTrafficPolicySpec = {
        "targetRefs": [{"group": GATEWAY_GROUP, "kind": "HTTPRoute", "name": model.name}],
        "circuitBreaker": {
            "maxConnections": most,
            "maxParallelRequests": most,
            "maxPendingRequests": most,
            "retryBudget": {"percent": {"numerator": settings.retry_budget_percent}},
        },
        "healthCheck": _health(options.traffic, reserve=reserve),
        "timeout": {
            "tcp": {"connectTimeout": f"{settings.connect_timeout_sec}s"},
            "http": {
                "requestTimeout": "0s",
                # The side that closes an idle connection first must be the one that sends on it.
                "connectionIdleTimeout": f"{ENGINE_KEEP_ALIVE_SEC - 1}s",
                "streamIdleTimeout": f"{options.stream_idle_timeout_sec}s",
            },
        },
    }
    if settings.retries:
        policy["retry"] = {
            "numRetries": settings.retries,
            "retryOn": {"triggers": list(_TRIGGERS), "httpStatusCodes": list(_RETRIED)},
        }
        if reserve:
            policy["retry"]["numAttemptsPerPriority"] = settings.retries
    return _limited(policy, options)


def _health(settings: Traffic, *, reserve: bool) -> HealthCheck:
    """Return how a replica that does not answer is found.

    A check asks every backend of the route, and providers have no /health: with some in reserve it
    opens a connection and no more. And then all replicas may be taken out, since somebody answers;
    without, half of them stay, since a fault that all have is not theirs.
    """
    active: ActiveHealth = {
        "type": "TCP" if reserve else "HTTP",
        "interval": f"{settings.health_interval_sec}s",
        "timeout": f"{min(5, settings.health_interval_sec)}s",
        "unhealthyThreshold": 3,
        "healthyThreshold": 1,
    }
    return {
        "active": {**active, "tcp": {}} if reserve else {**active, "http": {"path": "/health"}},
        "passive": {
            "interval": "10s",
            "baseEjectionTime": f"{settings.ejection_sec}s",
            "maxEjectionPercent": 100 if reserve else 50,
            "consecutive5XxErrors": 5,
            "consecutiveGatewayErrors": 3,
        },
    }


def _limited(policy: BackendTrafficPolicySpec, options: Gateway) -> BackendTrafficPolicySpec:
    """Return the policy with a client's limit, where there is one, and what 429 says."""
    limit = options.rate_limit
    if limit is None or limit.requests_per_second is None:
        return policy
    return {
        **policy,
        "rateLimit": {
            "type": "Local",
            "local": {
                "rules": [
                    {
                        "clientSelectors": [
                            {"headers": [{"name": CLIENT_HEADER, "type": "Distinct"}]}
                        ],
                        "limit": {"requests": limit.requests_per_second, "unit": "Second"},
                    }
                ]
            },
        },
        "responseOverride": [
            {
                "source": "Local",
                "match": {"statusCodes": [{"type": "Value", "value": 429}]},
                "response": {"header": {"set": [{"name": "Retry-After", "value": "1"}]}},
            }
        ],
    }
