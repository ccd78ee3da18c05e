"""Suspending a region: what exists of it stays as it is, while the other regions go on.

Everything is registered as ever, so nothing is deleted; every property of every resource keeps the
value that it has in the state, and the Kubernetes provider takes an unreachable cluster for one
that has not changed. docs/environments.md says when to use it and what it does not do.
"""

from typing import Final

from pulumi import ResourceOptions, ResourceTransformationArgs, ResourceTransformationResult

_KUBERNETES: Final = "pulumi:providers:kubernetes"
_PROVIDERS: Final = "pulumi:providers:"
_COMPONENTS: Final = "triplane:"


def suspend(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
    """Keep a resource of a suspended region as it is: a transformation for the region."""
    if args.type_ == _KUBERNETES:
        # Given to providers as JSON text; a provider's own settings must not be frozen, or the
        # switch itself would be.
        props = {**args.props, "skip_update_unreachable": "true"}
        return ResourceTransformationResult(props=props, opts=args.opts)
    if args.type_.startswith((_PROVIDERS, _COMPONENTS)):
        return None
    frozen = ResourceOptions(ignore_changes=["*"])
    return ResourceTransformationResult(
        props=args.props, opts=ResourceOptions.merge(args.opts, frozen)
    )
