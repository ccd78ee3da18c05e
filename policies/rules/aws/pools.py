"""Node groups: an image that suits the machine, found when empty, sized by their autoscaler."""

from collections.abc import Iterator
from typing import Final

from models.aws.ami import Maker, maker, suits
from models.aws.names import NODE_TEMPLATE
from models.core.findings import Finding
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.core.unknowns import joined
from policies.views.aws.resource import AwsPlaced, AwsResource

_GROUP: Final = "eks.NodeGroup"
_TEMPLATE: Final = "ec2.LaunchTemplate"
_TAG: Final = "autoscaling.Tag"
_CUSTOM: Final = "CUSTOM"
_EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_DESIRED: Final = "scalingConfig.desiredSize"


@rule(
    "aws-nodegroup-suit-its-machines",
    "Every node group's image suits its instance types.",
    remedy="set amiType to the variant for the machine: AL2023_x86_64_NVIDIA or "
    "BOTTLEROCKET_x86_64_NVIDIA for NVIDIA GPUs, ..._STANDARD without (ARM_64 for Graviton); g4ad "
    "has GPUs of AMD, trn and inf are not GPUs",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "eks", "machines"),
)
def suit_its_machines(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """EKS-01: the node starts, and no GPU of it can ever be allocated."""
    if not resource.is_kind(_GROUP):
        return
    image = resource.body["amiType"]
    types = resource.body["instanceTypes"]
    if image.present:
        yield from _unsuited(image, types)
    elif not resource.body["launchTemplate"].unknown and (
        not resource.body["launchTemplate"].present
    ):
        yield from _undecided(image, types)


def _unsuited(image: Node, types: Node) -> Iterator[Finding]:
    said = image.text() or ""
    for machine in () if said == _CUSTOM else types.items():
        try:
            fits = suits(said, machine.text() or "")
        except ValueError as error:
            yield Finding(machine.path, str(error), remedy="name an EC2 instance type")
            continue
        if not fits:
            yield Finding(image.path, f"{said} does not suit {machine.text()}")


def _undecided(image: Node, types: Node) -> Iterator[Finding]:
    for machine in types.items():
        if _maker(machine) is not None:
            yield Finding(image.path, f"{machine.text()} has accelerators, and no image is chosen")


def _maker(machine: Node) -> Maker | None:
    try:
        return maker(machine.text() or "")
    except ValueError:
        return None


@rule(
    "aws-nodegroup-have-one-image",
    "Every node group has one source of its image and of its instance type.",
    remedy="give either amiType on the group or imageId in its launch template (then amiType "
    "CUSTOM or none, and user data that joins the cluster); the instance type in one place",
    tags=("aws", "eks", "machines"),
)
def have_one_image(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """EKS-01: EKS refuses the group, or starts another image than the one that was meant."""
    group = placed.resource
    if not group.is_kind(_GROUP):
        return
    image, types = group.body["amiType"], group.body["instanceTypes"]
    for template in placed.stack.sources(group, "launchTemplate"):
        if not template.is_kind(_TEMPLATE):
            continue
        own, machine = template.body["imageId"], template.body["instanceType"]
        if own.present and image.present and image.text() != _CUSTOM:
            yield Finding(image.path, f"{template.label} has an imageId as well")
        if not machine.present:
            continue
        if any(True for _ in types.items()):
            yield Finding(types.path, f"{template.label} has an instanceType as well")
        if not own.present and not image.present and _maker(machine) is not None:
            yield Finding(image.path, f"{machine.text()} has accelerators, and no image is chosen")
        if image.present and not own.present:
            yield from _unsuited(image, Node([machine.value], template.label))


@rule(
    "aws-nodegroup-be-found-when-empty",
    "Every node group that may be empty tells the cluster autoscaler what its nodes are.",
    remedy=f"register autoscaling.Tag resources on the group's Auto Scaling group "
    f"(resources[0].autoscalingGroups[0].name) with the keys {NODE_TEMPLATE}/label/<key>, "
    f"{NODE_TEMPLATE}/taint/<key> (value <value>:<effect>) and "
    f"{NODE_TEMPLATE}/resources/nvidia.com/gpu, or set minSize to 1",
    tags=("aws", "eks", "autoscaling"),
)
def be_found_when_empty(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """EKS-04: tags of a node group do not reach its Auto Scaling group, so no pod is ever seen
    to fit, and the pool stays empty.
    """
    group = placed.resource
    scaling = group.body["scalingConfig"]
    if not group.is_kind(_GROUP) or scaling["minSize"].integer() > 0:
        return
    given = dict(_tags(placed))
    for key, value in _facts(placed).items():
        if key not in given:
            yield Finding("scalingConfig.minSize", f"it may be empty, and no tag {key} is there")
        elif value is not None and given[key] != value:
            message = f"its Auto Scaling group is tagged {given[key]!r}, not {value!r}"
            yield Finding(joined("tags", key), message)


def _facts(placed: AwsPlaced) -> dict[str, str | None]:
    """Return the tags that a group needs; None where any value will do."""
    group = placed.resource
    found: dict[str, str | None] = {
        f"{NODE_TEMPLATE}/label/{key}": value
        for key, value in group.body["labels"].strings().items()
    }
    for taint in group.body["taints"].items():
        effect = _EFFECTS.get(taint["effect"].text() or "", "?")
        value = taint["value"].text() or ""
        found[f"{NODE_TEMPLATE}/taint/{taint['key'].text()}"] = f"{value}:{effect}"
    templates = placed.stack.sources(group, "launchTemplate")
    machines = [
        *group.body["instanceTypes"].items(),
        *(each.body["instanceType"] for each in templates if each.is_kind(_TEMPLATE)),
    ]
    if any(_maker(machine) is Maker.NVIDIA for machine in machines):
        found[f"{NODE_TEMPLATE}/resources/nvidia.com/gpu"] = None
    return found


def _tags(placed: AwsPlaced) -> Iterator[tuple[str, str]]:
    """Yield key and value of every tag on the group's Auto Scaling group."""
    for each in placed.stack.of_kind(_TAG):
        if placed.resource in placed.stack.sources(each, "autoscalingGroupName"):
            tag = each.body["tag"]
            yield tag["key"].text() or "", tag["value"].text() or ""


@rule(
    "aws-nodegroup-leave-size-to-autoscaler",
    "No node group that an autoscaler sizes is set back by an update.",
    remedy=f'set ignore_changes=["{_DESIRED}"] in its resource options',
    weight=RuleWeight.CRITICAL,
    tags=("aws", "eks", "autoscaling"),
)
def leave_size_to_autoscaler(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """EKS-05: the next update ends the nodes, and engines on them, that the autoscaler added."""
    scaling = resource.body["scalingConfig"]
    if not resource.is_kind(_GROUP):
        return
    if scaling["minSize"].integer() == scaling["maxSize"].integer():
        return
    ignored = {path.replace('["', ".").replace('"]', "") for path in resource.ignore_changes}
    if not ignored & {_DESIRED, "scalingConfig", "*"}:
        yield Finding(f"{_DESIRED}", "an update sets it back to what the program says")
