"""`ExternalOperators`: what somebody else installed is looked at, not assumed.

Each definition that our objects need is read from the cluster, in a preview as well where the
cluster can be reached. A definition that is not there ends the update with its name; one that
serves other versions with what it serves. Only the region's namespaces may exist by then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions

from models.plan.definitions import ServedDefinition, missing_version


@dataclass(frozen=True, kw_only=True, slots=True)
class ExternalOperatorsArgs:
    """The definitions that a region's objects are made of."""

    region: str
    definitions: Sequence[ServedDefinition]


class ExternalOperators(pulumi.ComponentResource):
    """Definitions that exist and serve what we write. `served` is known once all were seen."""

    definitions: Mapping[str, pulumi.CustomResource]

    def __init__(
        self, name: str, args: ExternalOperatorsArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Read every definition. Raises `pulumi.RunError` where one serves other versions."""
        super().__init__("triplane:operators:ExternalOperators", name, None, opts)
        child = ResourceOptions(parent=self)
        reads = {
            wanted.name: _DefinitionRead(
                f"{name}-needs-{wanted.kind}-{wanted.version}", wanted.name, child
            )
            for wanted in args.definitions
        }
        self.definitions = reads
        seen = [
            reads[wanted.name].spec.apply(partial(_hold, args, wanted))
            for wanted in args.definitions
        ]
        self.register_outputs({"served": Output.all(*seen)})


class _DefinitionRead(pulumi.CustomResource):
    """A definition that exists, read.

    `CustomResourceDefinition.get` gives the provider no inputs, and every refresh would then find
    the object's name as a change; it would also make typed objects of whole schemas.
    """

    spec: Output[Any]

    def __init__(self, name: str, definition: str, opts: ResourceOptions) -> None:
        props = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": definition},
            "spec": None,
        }
        super().__init__(
            "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
            name,
            props,
            ResourceOptions.merge(opts, ResourceOptions(id=definition)),
        )


def _hold(
    args: ExternalOperatorsArgs, wanted: ServedDefinition, spec: Mapping[str, Any] | None
) -> str:
    versions: list[Mapping[str, Any]] = [
        {"name": each["name"], "served": each["served"]}
        for each in (() if spec is None else spec["versions"])
    ]
    problem = missing_version(wanted, versions, f"the cluster of region {args.region!r}")
    if problem is not None:
        raise pulumi.RunError(problem)
    return wanted.api
