"""Keys, certificates and tokens of one sandbox, made once and kept with mode 0600.

One authority signs everything that listens (API server, etcd, controllers); a second, the front
proxy's, is separate because whoever it signs may speak for any user.
"""

import base64
import ipaddress
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME: Final = timedelta(days=3650)

USERS: Final[Mapping[str, tuple[str, ...]]] = {
    "admin": ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    # Both act for parts that have many identities in a real cluster (kubelets, controllers).
    "triplane:kwok": ("system:masters",),
    "triplane:standins": ("system:masters",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pki:
    """The directory with a sandbox's credentials."""

    root: Path

    def path(self, name: str) -> Path:
        """Return the file called `name`, for a command line."""
        return self.root / name

    def tokens(self) -> dict[str, str]:
        """Return each user's bearer token: never print it."""
        return json.loads((self.root / "tokens.json").read_text())

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig file of `user`."""
        return self.root / f"{user.replace(':', '-')}.kubeconfig"


def ensure(root: Path, *, server: str, service_ip: str) -> Pki:
    """Return the credentials under `root`, making those that are missing."""
    pki = Pki(root=root)
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not pki.path("complete").exists():
        _make_certificates(root, service_ip)
        tokens = {user: secrets.token_urlsafe(32) for user in USERS}
        _write(root / "tokens.json", json.dumps(tokens).encode())
        rows = [f'{tokens[user]},{user},{user},"{",".join(USERS[user])}"\n' for user in USERS]
        _write(root / "tokens.csv", "".join(rows).encode())
        _write(root / "complete", b"")
    for user, token in pki.tokens().items():
        _write(pki.kubeconfig(user), _kubeconfig(pki, server, user, token).encode())
    return pki


def _kubeconfig(pki: Pki, server: str, user: str, token: str) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sandbox",
        "clusters": [
            {
                "name": "sandbox",
                "cluster": {
                    "server": server,
                    # Inline, so that the file can be handed on as one string (stack outputs).
                    "certificate-authority-data": _base64(pki.path("ca.crt").read_bytes()),
                },
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user}}],
    }
    # JSON is YAML; every reader of kubeconfigs takes it.
    return json.dumps(document, indent=2)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _make_certificates(root: Path, service_ip: str) -> None:
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    addresses = ["127.0.0.1", service_ip]
    ca = _authority(root, "ca", "triplane-sandbox-ca")
    _signed(root, ca, "serving", "triplane-sandbox", names, addresses)
    _signed(root, ca, "etcd-client", "kube-apiserver-etcd-client")
    front = _authority(root, "front-proxy-ca", "triplane-sandbox-front-proxy-ca")
    _signed(root, front, "front-proxy-client", "front-proxy-client")
    service_accounts = ec.generate_private_key(ec.SECP256R1())
    _write(root / "sa.key", _private_pem(service_accounts))
    public = service_accounts.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _write(root / "sa.pub", public)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Authority:
    key: ec.EllipticCurvePrivateKey
    name: x509.Name


def _builder(subject: x509.Name, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        # A clock that is set back by a little must not invalidate what was just made.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
    )


def _authority(root: Path, stem: str, common_name: str) -> _Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    certificate = (
        _builder(name, name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    _write(root / f"{stem}.key", _private_pem(key))
    _write(root / f"{stem}.crt", certificate.public_bytes(serialization.Encoding.PEM))
    return _Authority(key=key, name=name)


def _signed(
    root: Path,
    authority: _Authority,
    stem: str,
    common_name: str,
    names: Sequence[str] = (),
    addresses: Sequence[str] = (),
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        _builder(subject, authority.name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    )
    if names or addresses:
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    certificate = builder.sign(authority.key, hashes.SHA256())
    _write(root / f"{stem}.key", _private_pem(key))
    _write(root / f"{stem}.crt", certificate.public_bytes(serialization.Encoding.PEM))


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(path: Path, data: bytes) -> None:
    """Write `path` whole and readable only by its owner from the first byte on."""
    partial = path.with_name(f"{path.name}.partial")
    with open(partial, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.write(data)
    partial.replace(path)
