"""Made-up secrets where a region's source would have real ones.

A sandbox has no secrets of yours. What the stack asks its source for is put there once, random or
signed by nobody, and kept: values that you put there yourself stay.
"""

import base64
import json
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from models.plan.secret_uses import secret_uses
from models.settings.gateway import Gateway
from models.settings.regions import RegionSettings
from models.settings.secrets import SecretsKind, SecretUse
from sandbox.core.kube import Api, Object

_LIFE: Final = timedelta(days=365)
_PAIR: Final = {"tls.crt", "tls.key"}


def uses(region: RegionSettings, gateway: Gateway, environment: str) -> dict[str, SecretUse]:
    """Return what a region takes from its source, by the name that the source knows it by."""
    return {use.remote: use for use in secret_uses(region, gateway, environment)}


def provide_in_kubernetes(
    api: Api, region: RegionSettings, gateway: Gateway, environment: str
) -> tuple[str, ...]:
    """Put what is missing into the namespace of a Kubernetes store; return what was made."""
    wanted = uses(region, gateway, environment)
    if region.secrets.kind is not SecretsKind.KUBERNETES or not wanted:
        return ()
    namespace = region.secrets.source_namespace
    space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    api.apply(f"/api/v1/namespaces/{namespace}", space)
    collection = f"/api/v1/namespaces/{namespace}/secrets"
    missing = [name for name in wanted if api.get(f"{collection}/{name}") is None]
    for name in missing:
        values = invented(wanted[name].properties, gateway.hostname)
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in values.items()}
        body: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "data": encoded,
        }
        api.create(collection, body)
    return tuple(missing)


def provide_in_aws(
    client: Any, region: RegionSettings, gateway: Gateway, environment: str
) -> tuple[str, ...]:
    """Put what is missing into Secrets Manager (a boto3 client); return what was made."""
    wanted = uses(region, gateway, environment)
    if region.secrets.kind is not SecretsKind.AWS:
        return ()
    made: list[str] = []
    for name, use in wanted.items():
        try:
            client.create_secret(
                Name=name, SecretString=json.dumps(invented(use.properties, gateway.hostname))
            )
        except client.exceptions.ResourceExistsException:
            continue
        made.append(name)
    return tuple(made)


def invented(properties: Iterable[str], hostname: str | None) -> dict[str, str]:
    """Return values for a secret's properties: a key pair where it is one, else random text."""
    wanted = set(properties)
    if wanted == _PAIR:
        return key_pair(hostname or "sandbox.invalid")
    return {name: secrets.token_hex(20) for name in sorted(wanted)}


def key_pair(name: str) -> dict[str, str]:
    """Return a certificate that signed itself, and its key: authority and server at once."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"sandbox {name}"[:64])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return {"tls.crt": pem.decode(), "tls.key": private.decode()}
