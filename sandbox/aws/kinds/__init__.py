"""The resource types that the stand-in plays, one module per AWS area."""

from collections.abc import Mapping
from typing import Final

from sandbox.aws.kind import Kind
from sandbox.aws.kinds import (
    buckets,
    dns,
    eks_access,
    eks_cluster,
    eks_nodes,
    iam,
    keys,
    logs,
    routing,
    scaling,
    security,
    templates,
    vpc,
)

_AREAS: Final = (
    vpc,
    routing,
    security,
    templates,
    scaling,
    eks_cluster,
    eks_nodes,
    eks_access,
    iam,
    keys,
    logs,
    buckets,
    dns,
)

KINDS: Final[Mapping[str, Kind]] = {kind.type: kind for area in _AREAS for kind in area.KINDS}
"""Every type by its Pulumi token."""

CLASSES: Final[Mapping[str, str]] = {token: kind.sdk for token, kind in KINDS.items()}
"""Every type's class in pulumi_aws."""
