"""One AWS resource as the engine shows it, and the resources of a stack together.

By type token, whatever program registered it; nothing here imports an AWS SDK. Inputs are in the
provider's own spelling (camelCase), with an `Unknown` wherever a preview does not know a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import Unknown, plain
from policies.views.kubernetes.manifest import Manifest

_AWS: Final = "aws:"
_OLD_NAMES: Final = ("V2",)
"""Endings of types that pulumi-aws keeps beside the type that replaced them."""


def is_aws(resource_type: str) -> bool:
    """Whether a resource is one of the package `aws`."""
    return resource_type.startswith(_AWS)


def kind_of(resource_type: str) -> str:
    """Return `service.Class` of a type token: `aws:ec2/launchTemplate:LaunchTemplate` is
    `ec2.LaunchTemplate`, `aws:s3/bucketV2:BucketV2` is `s3.Bucket`.
    """
    parts = resource_type.split(":")
    if len(parts) < 3:
        return resource_type
    name = parts[2]
    for ending in _OLD_NAMES:
        name = name.removesuffix(ending)
    return f"{parts[1].split('/')[0]}.{name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsResource:
    """One resource: `kind` is `service.Class`, `name` its Pulumi name, `body` its inputs."""

    kind: str
    name: str
    body: Node
    urn: str = ""
    parent: str = ""
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`Class/name`: what messages and recorded exceptions call it."""
        return f"{self.kind.rsplit('.', 1)[-1]}/{self.name}"

    def is_kind(self, *kinds: str) -> bool:
        """Whether it is of one of these kinds."""
        return self.kind in kinds


class ShownOptions(Protocol):
    """What the engine shows of a resource's options (`pulumi_policy.PolicyResourceOptions`).

    By its shape: rules over files need no Pulumi, and importing it takes seconds.
    """

    @property
    def protect(self) -> bool | None:
        """Whether the engine refuses to delete it."""
        ...

    @property
    def ignore_changes(self) -> Sequence[str]:
        """Properties whose changes are ignored."""
        ...

    @property
    def parent(self) -> str | None:
        """The parent's URN."""
        ...


def aws_resource(
    *, resource_type: str, name: str, urn: str, props: object, opts: ShownOptions
) -> AwsResource:
    """Return the view of a resource; one whose inputs are not shown has an unknown body."""
    body = plain(props)
    return AwsResource(
        kind=kind_of(resource_type),
        name=name,
        body=Node(Unknown("inputs") if body is None else body),
        urn=urn,
        parent=opts.parent or "",
        protect=bool(opts.protect),
        ignore_changes=tuple(opts.ignore_changes),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsStack:
    """Every AWS resource of a stack. `links` are the URNs that a property's value comes from.

    `releases` are the stack's Helm releases: some of them act on the machines.
    """

    resources: tuple[AwsResource, ...]
    releases: tuple[Manifest, ...] = ()
    links: Mapping[tuple[str, str], tuple[str, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[str, ...]]
    )

    def of_kind(self, *kinds: str) -> Iterator[AwsResource]:
        """Yield the resources of these kinds."""
        return (each for each in self.resources if each.kind in kinds)

    def sources(self, resource: AwsResource, key: str) -> tuple[AwsResource, ...]:
        """Return the AWS resources that a property's value is made from."""
        urns = self.links.get((resource.urn, key), ())
        return tuple(each for each in self.resources if each.urn in urns)

    def refers(self, resource: AwsResource, key: str, target: AwsResource, name: str) -> bool:
        """Whether a property names the target: by a link, or by the plain name both have.

        `name` is the target's own property that holds the name.
        """
        if target in self.sources(resource, key):
            return True
        said, named = resource.body[key].value, target.body[name].value
        return isinstance(said, str) and said == named


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsPlaced:
    """One AWS resource among the others of its stack."""

    resource: AwsResource
    stack: AwsStack

    @property
    def label(self) -> str:
        """The resource's label."""
        return self.resource.label


_APPROVALS: Final = {"s3.Bucket": ("Bucket",), "kms.Key": ("Cluster", "Bucket")}
"""Which of a region's approvals give a resource up."""


def approved(resource: AwsResource, context: Context) -> bool:
    """Whether the settings accept that this resource's data is lost in this change.

    `Class/name` approves one resource. `Cluster/<region>` approves a region's cluster and the keys
    without which it is lost, `Bucket/<region>` its buckets and theirs; the region is the longest
    one whose name stands in the resource's Pulumi name between dashes.
    """
    accepted = context.accept_data_loss
    if resource.label in accepted:
        return True
    region = region_of(resource.name, context.regions)
    wanted = _APPROVALS.get(resource.kind, ("Cluster",))
    return region is not None and any(f"{each}/{region}" in accepted for each in wanted)


def region_of(name: str, regions: tuple[str, ...]) -> str | None:
    """Return the region of the settings that a Pulumi name carries, the longest that fits."""
    fitting = [region for region in regions if f"-{region}-" in f"-{name}-"]
    return max(fitting, key=len, default=None)
