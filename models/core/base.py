"""The base of every model, and the few value types that several of them share.

Models are frozen, refuse unknown keys and do not coerce ("3" is not 3). Parse text with
`Model.model_validate_json`: strict mode accepts enums and tuples from JSON text only.
"""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

GIB: Final = 1024**3
"""Bytes in one GiB. Kubernetes writes it `Gi`; a GB is 10**9 bytes and is not used here."""


class Model(BaseModel):
    """A frozen, strict model that forbids unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


DnsLabel = Annotated[
    str, Field(min_length=1, max_length=63, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
]
"""A Kubernetes Service name (RFC 1035 label)."""

UNRESOLVED: Final = "unresolved"
"""Stands where a value needs a source (digest, revision, price) and has none. Never made up."""
