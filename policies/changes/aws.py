"""What a change would replace or delete on AWS: over the states in a preview's JSON.

As `policies/changes/preview.py`, which calls this: a cluster, a key, a bucket or whatever else
holds data needs an approval, and so does a node group whose disks hold volumes; another node
group's machines are told with what runs on them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from models.core.findings import Finding, Severity
from models.core.rule_ids import GateRule
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.rules.aws.data import HOLDING
from policies.views.aws.resource import AwsResource, approved, is_aws, kind_of

STORAGE_LABEL: Final = "node.longhorn.io/create-default-disk"
"""Longhorn keeps replicas on nodes with this label (its setting createDefaultDiskLabeledNodes)."""

_PROVIDER: Final = "pulumi:providers:aws"


def aws_change_findings(
    operation: str, state: Mapping[str, Any], context: Context
) -> Iterator[Finding]:
    """Yield what stands against replacing or deleting a resource, given its old state."""
    kind = str(state.get("type", ""))
    resource = AwsResource(
        kind=kind_of(kind) if is_aws(kind) else kind,
        name=str(state.get("urn", "")).rsplit("::", 1)[-1],
        body=Node(plain(state.get("inputs") or {})),
        protect=bool(state.get("protect")),
    )
    what = "deletes" if operation == "delete" else "replaces"
    if kind == _PROVIDER and operation != "delete":
        yield from _refused(
            resource,
            f"Provider/{resource.name}",
            "the change replaces the AWS provider, and with it everything that it made",
            context,
        )
    elif resource.is_kind(*HOLDING):
        message = f"the change {what} it, and its data is lost"
        yield from _refused(resource, resource.label, message, context)
    elif resource.is_kind("eks.NodeGroup"):
        yield from _node_group(resource, what, context)


def _node_group(resource: AwsResource, what: str, context: Context) -> Iterator[Finding]:
    if resource.body["labels"][STORAGE_LABEL].value == "true":
        message = f"the change {what} machines whose disks hold volumes"
        yield from _refused(resource, resource.label, message, context)
        return
    most = resource.body["scalingConfig"]["maxSize"].value
    yield Finding(
        rule=GateRule.DATA_SURVIVES,
        severity=Severity.WARNING,
        subject=resource.label,
        path="",
        message=f"the change {what} the machines of this group (at most {most}): their pods move",
        remedy="see that the other groups of the pool have room, or do it when nobody needs them",
    )


def _refused(
    resource: AwsResource, label: str, message: str, context: Context
) -> Iterator[Finding]:
    if approved(resource, context) or label in context.accept_data_loss:
        return
    yield Finding(
        rule=GateRule.DATA_SURVIVES,
        severity=Severity.ERROR,
        subject=label,
        path="",
        message=message,
        remedy=f'take the change back, or approve it: "accept_data_loss": ["{label}"]',
    )
