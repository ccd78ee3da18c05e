"""Manifests of a region's certificates: issuers, our own authority, the gateway's certificate."""

from typing import Final, NotRequired, TypedDict

from components.render.secrets.secrets import duration
from models.core.names import AUTHORITY, GATEWAY_CA_SECRET, ISSUER
from models.settings.certificates import CertificateSettings

CERTIFICATE_API: Final = "cert-manager.io/v1"
_GROUP: Final = "cert-manager.io"
SELF_SIGNED: Final = "triplane-self-signed"
ACME_ACCOUNT: Final = "triplane-acme-account"

_DAY_SEC: Final = 24 * 3600
_AUTHORITY_DAYS: Final = 3650
"""Clients hold a copy of the authority's certificate: it lasts, and keeps its key when renewed."""

_BUNDLE_NAME: Final = "authority.invalid"
"""No name that anything answers to (RFC 2606): the certificate exists for its `ca.crt` only."""


class IssuerRef(TypedDict):
    """Who signs."""

    group: str
    kind: str
    name: str


class PrivateKey(TypedDict):
    """How a key is made and whether a renewal makes a new one."""

    algorithm: str
    size: int
    encoding: str
    rotationPolicy: str


class CertificateSpec(TypedDict):
    """cert-manager.io/v1 Certificate."""

    secretName: str
    issuerRef: IssuerRef
    privateKey: PrivateKey
    usages: list[str]
    duration: NotRequired[str]
    renewBefore: NotRequired[str]
    isCA: NotRequired[bool]
    commonName: NotRequired[str]
    dnsNames: NotRequired[list[str]]
    revisionHistoryLimit: int


class SelfSigned(TypedDict):
    """An issuer by which a key signs itself; it has no options."""


class CaIssuer(TypedDict):
    """An issuer that signs with a Secret's key pair."""

    secretName: str


class SecretName(TypedDict):
    """A Secret's name."""

    name: str


class Route53(TypedDict):
    """DNS challenges in one hosted zone, with the controller's own identity."""

    region: str
    hostedZoneID: str


class Dns01(TypedDict):
    """Challenges by DNS."""

    route53: Route53


class Solver(TypedDict):
    """How challenges are answered."""

    dns01: Dns01


class Acme(TypedDict):
    """A public authority."""

    server: str
    email: str
    privateKeySecretRef: SecretName
    solvers: list[Solver]


class IssuerSpec(TypedDict):
    """cert-manager.io/v1 Issuer and ClusterIssuer: exactly one of them."""

    selfSigned: NotRequired[SelfSigned]
    ca: NotRequired[CaIssuer]
    acme: NotRequired[Acme]


def self_signed_issuer() -> IssuerSpec:
    """Return the issuer that our authority's own certificate comes from."""
    return {"selfSigned": {}}


def authority(environment: str, region: str) -> CertificateSpec:
    """Return the certificate of the authority that the cluster makes for itself."""
    return {
        "secretName": AUTHORITY,
        "issuerRef": {"group": _GROUP, "kind": "Issuer", "name": SELF_SIGNED},
        "isCA": True,
        "commonName": f"Triplane {environment} {region} authority",
        "duration": duration(_AUTHORITY_DAYS * _DAY_SEC),
        "renewBefore": duration(_AUTHORITY_DAYS // 3 * _DAY_SEC),
        # Renewed with another key it would no longer vouch for what it signed.
        "privateKey": _key("Never"),
        "usages": ["digital signature", "cert sign", "crl sign"],
        "revisionHistoryLimit": 1,
    }


def ca_issuer() -> IssuerSpec:
    """Return the ClusterIssuer that signs with the authority's key."""
    return {"ca": {"secretName": AUTHORITY}}


def acme_issuer(certificates: CertificateSettings, aws_region: str, zone: str) -> IssuerSpec:
    """Return the ClusterIssuer that asks a public authority and proves names in Route 53."""
    assert certificates.email is not None, "checked by the settings"
    return {
        "acme": {
            "server": certificates.directory,
            "email": certificates.email,
            "privateKeySecretRef": {"name": ACME_ACCOUNT},
            "solvers": [
                {
                    "dns01": {
                        "route53": {
                            "region": aws_region,
                            "hostedZoneID": zone,
                        }
                    }
                }
            ],
        }
    }


def gateway_certificate(hostname: str, secret: str, days: int | None) -> CertificateSpec:
    """Return the certificate of the gateway's listener; `days` None leaves its life to the issuer.

    Its key is ECDSA: handshakes cost a tenth of RSA's, and every client of the last ten years knows
    it. Each renewal makes a new key.
    """
    spec: CertificateSpec = {
        "secretName": secret,
        "issuerRef": _issuer(),
        "dnsNames": [hostname],
        "privateKey": _key("Always"),
        "usages": ["digital signature", "server auth"],
        "revisionHistoryLimit": 1,
    }
    if days is not None:
        spec["duration"] = duration(days * _DAY_SEC)
        spec["renewBefore"] = duration(days * _DAY_SEC // 3)
    return spec


def authority_bundle(days: int) -> CertificateSpec:
    """Return a certificate for no server, whose Secret tells clients the authority.

    The authority's own Secret holds its key, and the gateway's Secret holds the server's: reading
    either for its `ca.crt` would carry a key of worth into the stack's state.
    """
    return {
        **gateway_certificate(_BUNDLE_NAME, GATEWAY_CA_SECRET, days),
        "usages": ["digital signature"],
    }


def _issuer() -> IssuerRef:
    return {"group": _GROUP, "kind": "ClusterIssuer", "name": ISSUER}


def _key(rotation: str) -> PrivateKey:
    return {"algorithm": "ECDSA", "size": 256, "encoding": "PKCS8", "rotationPolicy": rotation}
