"""Where a region's secrets come from, and how a Secret is filled from one of them.

A remote secret is one object with named properties (JSON in AWS Secrets Manager, a Secret's keys in
Kubernetes, JSON in a secret stack setting). Which Secrets a region needs is in
`models/plan/secret_uses.py`, one row each.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from models.core.base import DnsLabel, Model

SOURCE_NAMESPACE: Final = "triplane-secrets"
"""The namespace that a Kubernetes store reads, unless the settings name another."""

SHORTEST_REFRESH_SEC: Final = 60
"""Each refresh is a call per secret; AWS bills 10,000 calls and limits their rate."""


class SecretsKind(StrEnum):
    """What keeps a region's secrets.

    `aws-secrets-manager` and `kubernetes` are read by External Secrets, so that no value passes
    through Pulumi; `config` takes them from secret stack settings, encrypted in the stack's file
    and state.
    """

    AWS = "aws-secrets-manager"
    KUBERNETES = "kubernetes"
    CONFIG = "config"


class SecretSource(Model):
    """A region's source of secrets (docs/secrets.md)."""

    kind: SecretsKind = SecretsKind.CONFIG
    """Secret stack settings, Secrets of another namespace, or AWS Secrets Manager."""
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9_+=.@-]+/)+$", max_length=256)] | None = None
    """AWS: what names begin with; without it `triplane/<environment>/<region>/`."""
    aws_region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")] | None = None
    """AWS: where the secrets are; without it the EKS cluster's region."""
    kms_key: (
        Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/\S+$")] | None
    ) = None
    """AWS: the key that they are encrypted with, where it is not AWS's own."""
    namespace: DnsLabel | None = None
    """Kubernetes: the namespace that holds them as Secrets; it exists and is yours. Without it
    `triplane-secrets`."""
    refresh_interval_sec: Annotated[int, Field(ge=SHORTEST_REFRESH_SEC, le=86400)] = 3600
    """How long a changed secret may take to arrive (seconds)."""

    @model_validator(mode="after")
    def keys_fit_the_kind(self) -> Self:
        """A key that its kind does not read would be believed to do something."""
        aws = {"prefix": self.prefix, "aws_region": self.aws_region, "kms_key": self.kms_key}
        foreign = [name for name, value in aws.items() if value is not None]
        if self.kind is SecretsKind.AWS:
            foreign = []
        if self.kind is not SecretsKind.KUBERNETES and self.namespace is not None:
            foreign.append("namespace")
        if foreign:
            message = (
                f"kind {self.kind.value!r} has no use for {', '.join(foreign)}; remove them "
                "(prefix, aws_region and kms_key belong to 'aws-secrets-manager', namespace to "
                "'kubernetes')"
            )
            raise ValueError(message)
        return self

    @property
    def is_store(self) -> bool:
        """Whether External Secrets reads it."""
        return self.kind is not SecretsKind.CONFIG

    @property
    def source_namespace(self) -> str:
        """The namespace that a Kubernetes store reads."""
        return self.namespace or SOURCE_NAMESPACE


class SecretKey(Model):
    """One key of a Secret: a property as it is, or a text around properties.

    `text` is a template with `{property}` in it, for keys that hold a whole file.
    """

    key: Annotated[str, Field(pattern=r"^[-._a-zA-Z0-9]+$")]
    property: str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def value_is_given_once(self) -> Self:
        """A value has one source."""
        if (self.property is None) == (self.text is None):
            message = f"key {self.key!r} needs exactly one of property and text"
            raise ValueError(message)
        return self


class SecretUse(Model):
    """A Secret that something of a region needs.

    `name` is what the secret is called in settings and messages, `remote` where the source keeps
    it; `properties` are what it must have; `secret` the Secret in `namespace` that is made of them,
    of `type`.
    """

    name: DnsLabel
    remote: Annotated[str, Field(min_length=1)]
    properties: Annotated[tuple[str, ...], Field(min_length=1)]
    namespace: DnsLabel
    secret: DnsLabel
    keys: Annotated[tuple[SecretKey, ...], Field(min_length=1)]
    type: str = "Opaque"

    @property
    def label(self) -> str:
        """How messages name the Secret."""
        return f"Secret/{self.namespace}/{self.secret}"


def remote_name(source: SecretSource, name: str, environment: str, region: str) -> str:
    """Return where the source keeps a secret.

    A path in AWS, a Secret's name in Kubernetes, a secret stack setting otherwise (JSON text with
    the secret's properties).
    """
    if source.kind is SecretsKind.AWS:
        return f"{prefix_of(source, environment, region)}{name}"
    return name if source.kind is SecretsKind.KUBERNETES else f"{region}-{name}"


def prefix_of(source: SecretSource, environment: str, region: str) -> str:
    """Return what AWS names begin with: nothing of another environment or region lies below it."""
    return source.prefix or f"triplane/{environment}/{region}/"


def filled(use: SecretUse, found: Mapping[str, str]) -> dict[str, str]:
    """Return a Secret's keys and values from the properties of its remote secret.

    Raises `ValueError` naming the properties that are missing, never a value.
    """
    missing = sorted(set(use.properties) - set(found))
    if missing:
        message = (
            f"the secret {use.name!r} lacks {', '.join(missing)}; it needs "
            f"{', '.join(use.properties)}"
        )
        raise ValueError(message)
    return {key.key: _value(key, found) for key in use.keys}


def _value(key: SecretKey, found: Mapping[str, str]) -> str:
    if key.property is not None:
        return str(found[key.property])
    assert key.text is not None, "checked by the model"
    return key.text.format_map(found)
