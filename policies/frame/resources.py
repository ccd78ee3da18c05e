"""From what the Pulumi engine shows of a resource to manifests."""

from collections.abc import Iterator
from typing import Final

from pulumi_policy import PolicyResourceOptions

from policies.core.nodes import Node
from policies.core.unknowns import Unknown, plain
from policies.views.kubernetes.manifest import Manifest, ResourceOptions, expanded

_KUBERNETES: Final = "kubernetes:"
_PATCH: Final = "Patch"
_COMPONENTS: Final = ("Chart", "ConfigGroup", "ConfigFile", "Directory", "Release")


def is_kubernetes(resource_type: str) -> bool:
    """Whether a resource is a Kubernetes object or reads some."""
    return resource_type.startswith(_KUBERNETES)


def manifests_of(
    *, resource_type: str, name: str, urn: str, props: object, opts: PolicyResourceOptions
) -> Iterator[Manifest]:
    """Yield the manifests of a resource; one whose inputs are not shown has an unknown body."""
    kind = resource_type.rsplit(":", 1)[-1]
    fragment = kind.endswith(_PATCH) and kind != _PATCH
    body = plain(props)
    if body == {} and kind not in _COMPONENTS:
        body = Unknown("inputs")
    timeouts = opts.custom_timeouts
    manifest = Manifest(
        body=Node(body),
        options=ResourceOptions(
            type=resource_type,
            urn=urn,
            parent=opts.parent or "",
            protect=bool(opts.protect),
            create_sec=timeouts.create_seconds,
            update_sec=timeouts.update_seconds,
            ignore_changes=tuple(opts.ignore_changes),
        ),
        fragment=fragment,
        implied_kind=kind.removesuffix(_PATCH) if fragment else kind,
        implied_name=f"({name})",
    )
    yield from expanded(manifest)
