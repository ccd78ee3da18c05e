"""Whether a certificate chain and a private key in PEM belong together and can be served.

As Envoy Gateway checks them (internal/gatewayapi/tls.go of v1.8.3): every certificate of the chain
must be readable and of today, the key must be the first one's. Messages hold no part of a key.
"""

from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

_KEY_FORMATS: Final = (b"PRIVATE KEY", b"RSA PRIVATE KEY", b"EC PRIVATE KEY")
"""PKCS8, PKCS1 and EC: all that the controller reads, none of them encrypted."""


def problem(chain: bytes, key: bytes, now: datetime | None = None) -> str | None:
    """Return what is wrong with the pair; None where a server could use it."""
    try:
        certificates = x509.load_pem_x509_certificates(chain)
    except ValueError:
        return "holds no certificate in PEM in tls.crt"
    moment = now or datetime.now(UTC)
    for certificate in certificates:
        if certificate.not_valid_after_utc < moment:
            return f"holds a certificate in tls.crt that ended on {_day(certificate)}"
    if not any(b"-----BEGIN %b-----" % name in key for name in _KEY_FORMATS):
        return "holds no private key in PEM (PKCS1, PKCS8 or EC) in tls.key"
    try:
        public = serialization.load_pem_private_key(key, password=None).public_key()
    except (ValueError, TypeError):
        return "holds a private key in tls.key that cannot be read"
    if _encoded(public) != _encoded(certificates[0].public_key()):
        return "holds a private key in tls.key that is not the one of the certificate in tls.crt"
    return None


def _day(certificate: x509.Certificate) -> str:
    return certificate.not_valid_after_utc.date().isoformat()


def _encoded(key: PublicKeyTypes) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.DER, form)
