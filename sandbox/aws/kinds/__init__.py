"""The resource types that the stand-in plays, one module per AWS area."""

from collections.abc import Mapping
from typing import Final

from sandbox.aws.core.kind import AwsKind
from sandbox.aws.kinds import (
    buckets,
    dns,
    iam,
    keys,
    logs,
    routing,
    scaling,
    security,
    templates,
    vpc,
)
from sandbox.aws.kinds.eks import access as eks_access
from sandbox.aws.kinds.eks import cluster as eks_cluster
from sandbox.aws.kinds.eks import nodes as eks_nodes

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

KINDS: Final[Mapping[str, AwsKind]] = {kind.type: kind for area in _AREAS for kind in area.KINDS}
"""Every type by its Pulumi token."""

CLASSES: Final[Mapping[str, str]] = {token: kind.sdk for token, kind in KINDS.items()}
"""Every type's class in pulumi_aws."""
