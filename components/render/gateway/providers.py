"""A provider that answers when no replica of a model can."""

from components.render.gateway.kinds import (
    AI_GROUP,
    ENVOY_GROUP,
    ApiSchema,
    BackendSecuritySpec,
    BackendSpec,
    KeyReference,
    ServiceBackendSpec,
)
from models.core.names import provider_object
from models.settings.gateway import FallbackProviderSettings


def backend(provider: FallbackProviderSettings) -> BackendSpec:
    """Return the provider's host, whose certificate a public authority must have signed."""
    return {
        "endpoints": [{"fqdn": {"hostname": provider.hostname, "port": 443}}],
        "tls": {"wellKnownCACertificates": "System", "sni": provider.hostname},
    }


def service_backend(provider: FallbackProviderSettings) -> ServiceBackendSpec:
    """Return the API that the provider speaks; the AI gateway translates to it."""
    schema: ApiSchema = {"name": provider.schema_name}
    if provider.api_version is not None:
        schema["version"] = provider.api_version
    if provider.path_prefix is not None:
        schema["prefix"] = provider.path_prefix
    name = provider_object(provider.name)
    return {
        "schema": schema,
        "backendRef": {"group": ENVOY_GROUP, "kind": "Backend", "name": name},
    }


def security(provider: FallbackProviderSettings) -> BackendSecuritySpec:
    """Return how the gateway proves to the provider who asks."""
    name = provider_object(provider.name)
    key: KeyReference = {"secretRef": {"kind": "Secret", "name": name}}
    spec: BackendSecuritySpec = {
        "type": "APIKey",
        "targetRefs": [{"group": AI_GROUP, "kind": "AIServiceBackend", "name": name}],
    }
    if provider.schema_name == "AWSBedrock":
        return {
            **spec,
            "type": "AWSCredentials",
            "awsCredentials": {"region": provider.aws_region or "", "credentialsFile": key},
        }
    if provider.schema_name == "AzureOpenAI":
        return {**spec, "type": "AzureAPIKey", "azureAPIKey": key}
    if provider.schema_name == "Anthropic":
        return {**spec, "type": "AnthropicAPIKey", "anthropicAPIKey": key}
    return {**spec, "apiKey": key}
