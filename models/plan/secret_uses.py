"""The Secrets that a region needs, one row each.

A new user of a secret is a row here: what it is called, which properties it has, which Secret is
made of them, and when a region needs it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from models.core.findings import Finding
from models.core.names import (
    AUTHORITY,
    GATEWAY_CLIENTS_SECRET,
    GATEWAY_NAMESPACE,
    GATEWAY_TLS_SECRET,
    MODELS_NAMESPACE,
    OBJECT_STORE_SECRET,
    OBJECTS_NAMESPACE,
    TENANT_CONFIG_SECRET,
    provider_object,
)
from models.settings.certificates import Issuer
from models.settings.eks import EksClusterSettings
from models.settings.gateway import FallbackProviderSettings, Gateway
from models.settings.regions import RegionSettings
from models.settings.secrets import SecretKey, SecretsKind, SecretUse, remote_name
from models.settings.storage import Credentials, ObjectStoreKind

_KEY_PAIR: Final = (
    SecretKey(key="tls.crt", property="tls.crt"),
    SecretKey(key="tls.key", property="tls.key"),
)
_ACCESS: Final = ("access_key_id", "secret_access_key")
_TLS: Final = "kubernetes.io/tls"


@dataclass(frozen=True, kw_only=True, slots=True)
class RowContext:
    """What a row is asked for: one region of a stack."""

    region: RegionSettings
    gateway: Gateway
    environment: str

    def remote(self, name: str) -> str:
        """Return where the region's source keeps a secret."""
        return remote_name(self.region.secrets, name, self.environment, self.region.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class _SecretRow:
    needed: Callable[[RowContext], bool]
    use: Callable[[RowContext], SecretUse]


def _object_store(request: RowContext) -> SecretUse:
    """Keys by which seeding Jobs read the object store."""
    return SecretUse(
        name="object-store",
        remote=request.remote("object-store"),
        properties=_ACCESS,
        namespace=MODELS_NAMESPACE,
        secret=OBJECT_STORE_SECRET,
        keys=(
            SecretKey(key="AWS_ACCESS_KEY_ID", property="access_key_id"),
            SecretKey(key="AWS_SECRET_ACCESS_KEY", property="secret_access_key"),
        ),
    )


def _tenant(request: RowContext) -> SecretUse:
    """The file that a MinIO tenant reads its root keys from: those of the object store."""
    return SecretUse(
        name="object-store",
        remote=request.remote("object-store"),
        properties=_ACCESS,
        namespace=OBJECTS_NAMESPACE,
        secret=TENANT_CONFIG_SECRET,
        keys=(
            SecretKey(
                key="config.env",
                text='export MINIO_ROOT_USER="{access_key_id}"\n'
                'export MINIO_ROOT_PASSWORD="{secret_access_key}"\n',
            ),
        ),
    )


def _gateway_certificate(request: RowContext) -> SecretUse:
    """Certificate chain and key of the gateway's listener."""
    return SecretUse(
        name="gateway-tls",
        remote=request.remote("gateway-tls"),
        properties=("tls.crt", "tls.key"),
        namespace=GATEWAY_NAMESPACE,
        secret=request.gateway.tls_secret or GATEWAY_TLS_SECRET,
        keys=_KEY_PAIR,
        type=_TLS,
    )


def _clients(request: RowContext) -> SecretUse:
    """The gateway's clients and their keys."""
    return SecretUse(
        name=GATEWAY_CLIENTS_SECRET,
        remote=request.remote(GATEWAY_CLIENTS_SECRET),
        properties=request.gateway.clients,
        namespace=GATEWAY_NAMESPACE,
        secret=GATEWAY_CLIENTS_SECRET,
        keys=tuple(SecretKey(key=name, property=name) for name in request.gateway.clients),
    )


_PROVIDER_KEYS: Final = {"AWSBedrock": "credentials"}
"""What Envoy AI Gateway 1.1 calls the key in a provider's Secret; else apiKey."""


def _provider(request: RowContext, provider: FallbackProviderSettings) -> SecretUse:
    """The key by which the gateway asks a provider."""
    key = _PROVIDER_KEYS.get(provider.schema_name, "apiKey")
    return SecretUse(
        name=provider.api_key_secret,
        remote=request.remote(provider.api_key_secret),
        properties=(key,),
        namespace=GATEWAY_NAMESPACE,
        secret=provider_object(provider.name),
        keys=(SecretKey(key=key, property=key),),
    )


def _authority(request: RowContext) -> SecretUse:
    """Certificate and key of the private authority, where cert-manager looks for them."""
    return SecretUse(
        name="certificate-authority",
        remote=request.remote("certificate-authority"),
        properties=("tls.crt", "tls.key"),
        namespace=request.region.certificates.namespace,
        secret=AUTHORITY,
        keys=_KEY_PAIR,
        type=_TLS,
    )


_ROWS: Final[tuple[_SecretRow, ...]] = (
    _SecretRow(
        needed=lambda asked: asked.region.storage.objects.credentials is Credentials.SECRET_STORE,
        use=_object_store,
    ),
    _SecretRow(
        needed=lambda asked: (
            asked.region.storage.objects.kind is ObjectStoreKind.MINIO
            and asked.region.storage.objects.credentials is Credentials.SECRET_STORE
        ),
        use=_tenant,
    ),
    _SecretRow(
        needed=lambda asked: asked.region.certificates.issuer is Issuer.SECRET_STORE,
        use=_gateway_certificate,
    ),
    _SecretRow(
        needed=lambda asked: asked.region.certificates.issuer is Issuer.PRIVATE_CA,
        use=_authority,
    ),
    _SecretRow(needed=lambda asked: bool(asked.gateway.clients), use=_clients),
)


def secret_uses(
    region: RegionSettings, gateway: Gateway, environment: str
) -> tuple[SecretUse, ...]:
    """Return the Secrets that the region takes from its source, whatever the source is."""
    asked = RowContext(region=region, gateway=gateway, environment=environment)
    rows = [row.use(asked) for row in _ROWS if row.needed(asked)]
    return (*rows, *(_provider(asked, each) for each in region.fallback_providers))


def region_gateway(region: RegionSettings, gateway: Gateway) -> Gateway:
    """Return the gateway's options for a region: with the Secret of the certificate it gets."""
    if region.certificates.issuer is Issuer.NONE or gateway.tls_secret is not None:
        return gateway
    return gateway.model_copy(update={"tls_secret": GATEWAY_TLS_SECRET})


def secret_problems(region: RegionSettings, path: str, gateway: Gateway) -> list[Finding]:
    """Return what does not fit between a region's cluster, its secrets and its certificate."""
    eks = region.cluster if isinstance(region.cluster, EksClusterSettings) else None
    return [
        *_source_problems(region, path, eks),
        *_name_problems(region, path, gateway),
        *_acme_problems(region, path, eks),
    ]


def _source_problems(
    region: RegionSettings, path: str, eks: EksClusterSettings | None
) -> Iterator[Finding]:
    source = region.secrets
    if source.kind is SecretsKind.AWS and eks is None and source.aws_region is None:
        yield Finding(
            path=f"{path}.secrets.aws_region",
            message="a cluster outside AWS does not say in which AWS region its secrets are",
            remedy="add aws_region, such as us-east-1, and give the External Secrets controller "
            "credentials for it (docs/secrets.md)",
        )
    if region.storage.objects.credentials is Credentials.SECRET_STORE and not source.is_store:
        yield Finding(
            path=f"{path}.storage.objects.credentials",
            message="the region has no store of secrets to take the object store's keys from",
            value=repr(Credentials.SECRET_STORE.value),
            allowed=f"{Credentials.CONFIG.value}, {Credentials.POD_IDENTITY.value}",
            remedy=f"set {path}.secrets.kind to aws-secrets-manager or kubernetes",
        )


def _name_problems(region: RegionSettings, path: str, gateway: Gateway) -> Iterator[Finding]:
    issuer = region.certificates.issuer
    if issuer is not Issuer.NONE and gateway.hostname is None:
        yield Finding(
            path="gateway.hostname",
            message=f"a certificate is for a name, and {path}.certificates asks for one (issuer "
            f"{issuer.value!r})",
            remedy="set gateway.hostname to the name that clients use",
        )


def _acme_problems(
    region: RegionSettings, path: str, eks: EksClusterSettings | None
) -> Iterator[Finding]:
    if region.certificates.issuer is not Issuer.ACME:
        return
    if eks is None:
        yield Finding(
            path=f"{path}.certificates.issuer",
            message="ACME proves a name in Route 53, for which only EKS regions get rights",
            value=repr(Issuer.ACME.value),
            allowed="ca, private-ca, secret-store, none",
            remedy="use private-ca, or secret-store with a certificate made elsewhere",
        )
    elif region.certificates.hosted_zone_id is None and eks.zone_id is None:
        yield Finding(
            path=f"{path}.certificates.hosted_zone_id",
            message="ACME proves a name by a record in its Route 53 zone, which is not given",
            remedy="add hosted_zone_id here, or zone_id to the cluster",
        )
