"""Where the certificate of a region's gateway comes from."""

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from models.core.base import DnsLabel, Model

LETS_ENCRYPT: Final = "https://acme-v02.api.letsencrypt.org/directory"


class Issuer(StrEnum):
    """Who signs the gateway's certificate.

    `none`: nobody of ours; `gateway.tls_secret`, where it is given, names a Secret that exists.
    `secret-store`: certificate and key are kept among the region's secrets. `ca`: an authority that
    cert-manager makes in the cluster (development). `private-ca`: your own authority, whose key is
    kept among the region's secrets. `acme`: a public authority, asked by DNS (Route 53), since a
    private gateway cannot be reached for a challenge by HTTP.
    """

    NONE = "none"
    SECRET_STORE = "secret-store"  # noqa: S105 - a kind, not a secret
    CA = "ca"
    PRIVATE_CA = "private-ca"
    ACME = "acme"


ISSUED: Final = frozenset({Issuer.CA, Issuer.PRIVATE_CA, Issuer.ACME})
"""The issuers that cert-manager works for."""

OURS: Final = frozenset({Issuer.CA, Issuer.PRIVATE_CA})
"""The issuers whose authority clients do not know: they are told its certificate."""


class CertificateSettings(Model):
    """How a region's gateway gets its certificate (docs/secrets.md)."""

    issuer: Issuer = Issuer.NONE
    """Who signs it; all but `none` need `gateway.hostname`."""
    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")] | None = None
    """`acme`: the account's address."""
    server: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    """`acme`: the authority's directory URL; without it Let's Encrypt's."""
    hosted_zone_id: Annotated[str, Field(pattern=r"^Z[A-Z0-9]{1,31}$")] | None = None
    """`acme`: the Route 53 zone in which it is proved that the name is ours; without it the
    cluster's `zone_id`."""
    namespace: DnsLabel = "cert-manager"
    """Where cert-manager looks for the Secrets of a ClusterIssuer: its own unless it was told
    otherwise."""
    duration_days: Annotated[int, Field(ge=1, le=397)] = 90
    """`ca` and `private-ca`: how long a certificate is valid (days); it is renewed at two thirds.
    Clients refuse server certificates of more than 398 days (CA/Browser Forum)."""

    @model_validator(mode="after")
    def acme_knows_whom_to_ask(self) -> Self:
        """ACME needs an account; nothing else has a use for it."""
        account = {"email": self.email, "hosted_zone_id": self.hosted_zone_id}
        if self.issuer is Issuer.ACME:
            if self.email is None:
                message = "issuer 'acme' needs email, to which the authority writes before expiry"
                raise ValueError(message)
            return self
        foreign = [
            name for name, value in {**account, "server": self.server}.items() if value is not None
        ]
        if foreign:
            message = (
                f"issuer {self.issuer.value!r} has no use for {', '.join(foreign)}; remove them, "
                "or set issuer to 'acme'"
            )
            raise ValueError(message)
        return self

    @property
    def directory(self) -> str:
        """The ACME server's directory URL."""
        return self.server or LETS_ENCRYPT
