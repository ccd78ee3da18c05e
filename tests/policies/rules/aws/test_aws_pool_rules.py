"""Rules about node groups: a compliant group, broken one field at a time; our own groups pass."""

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from models.aws import iam
from models.core.findings import Finding, Severity
from models.plan.aws import node_groups
from models.plan.aws.pod_roles import RoleRequest, pod_roles
from policies.core.unknowns import SENTINELS
from policies.frame.evaluate import aws_findings
from policies.views.aws.resource import AwsResource
from tests.helpers.plans.aws_pools import eks_plan
from tests.helpers.policies import aws_program

pytestmark = pytest.mark.pure

TAG: Final = "k8s.io/cluster-autoscaler/node-template"
LINKS: Final = {
    ("nodes", "launchTemplate"): ("template",),
    **{(f"tag-{name}", "autoscalingGroupName"): ("nodes",) for name in ("label", "taint", "gpu")},
}
UNKNOWN: Final = SENTINELS[0]
Json = dict[str, Any]


def _tag(fact: str, value: str) -> Json:
    tag = {"key": f"{TAG}/{fact}", "value": value, "propagateAtLaunch": False}
    return {"kind": "autoscaling.Tag", "autoscalingGroupName": UNKNOWN, "tag": tag}


def compliant() -> dict[str, Json]:
    """Return a GPU group that may be empty, with everything that it needs."""
    return copy.deepcopy(
        {
            "template": {
                "kind": "ec2.LaunchTemplate",
                "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
                "blockDeviceMappings": [
                    {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "volumeSize": 200}}
                ],
            },
            "nodes": {
                "kind": "eks.NodeGroup",
                "amiType": "AL2023_x86_64_NVIDIA",
                "instanceTypes": ["g6.2xlarge"],
                "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
                "labels": {"team": "serving"},
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
                "launchTemplate": {"id": UNKNOWN, "version": UNKNOWN},
            },
            "tag-label": _tag("label/team", "serving"),
            "tag-taint": _tag("taint/nvidia.com/gpu", "present:NoSchedule"),
            "tag-gpu": _tag("resources/nvidia.com/gpu", "1"),
        }
    )


def found(
    stack: Mapping[str, Json], ignored: tuple[str, ...] = ("scalingConfig.desiredSize",)
) -> tuple[Finding, ...]:
    """Return what all AWS rules find at a group and what belongs to it."""
    shown: list[AwsResource] = [
        replace(each, ignore_changes=ignored) if each.name == "nodes" else each
        for each in aws_program.resources(stack)
    ]
    return aws_findings(shown, aws_program.CONTEXT, LINKS)


def broken(path: str, value: Any) -> dict[str, Json]:
    """Return the compliant group with one field changed, or removed (None)."""
    stack = compliant()
    *keys, last = path.split("/")
    node: Any = stack
    for key in keys:
        node = node[int(key) if isinstance(node, list) else key]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return stack


def test_the_compliant_group_is_clean() -> None:
    assert found(compliant()) == ()


SUIT: Final = "aws-nodegroup-suit-its-machines"
ONE: Final = "aws-nodegroup-have-one-image"
EMPTY: Final = "aws-nodegroup-be-found-when-empty"
SIZE: Final = "aws-nodegroup-leave-size-to-autoscaler"

BROKEN: Final[dict[str, tuple[str, str, Any]]] = {
    "an image without a driver": (SUIT, "nodes/amiType", "AL2023_x86_64_STANDARD"),
    "an image for the other processor": (SUIT, "nodes/amiType", "AL2023_ARM_64_NVIDIA"),
    "a GPU of AMD": (SUIT, "nodes/instanceTypes", ["g4ad.xlarge"]),
    "Trainium": (SUIT, "nodes/instanceTypes", ["trn1.2xlarge"]),
    "Graviton with a GPU": (SUIT, "nodes/instanceTypes", ["g5g.xlarge"]),
    "one that does not fit among several": (
        SUIT,
        "nodes/instanceTypes",
        ["g6.2xlarge", "m7i.2xlarge"],
    ),
    "no instance type": (SUIT, "nodes/instanceTypes", ["large"]),
    "two images": (ONE, "template/imageId", "ami-0123456789abcdef0"),
    "two types": (ONE, "template/instanceType", "g6.2xlarge"),
    "no image chosen": (ONE, "nodes/amiType", None),
    "no tag for a label": (EMPTY, "tag-label", None),
    "no tag for a taint": (EMPTY, "tag-taint", None),
    "no tag for the GPUs": (EMPTY, "tag-gpu", None),
    "a tag with EKS's spelling of the effect": (
        EMPTY,
        "tag-taint/tag/value",
        "present:NO_SCHEDULE",
    ),
    "a tag with another value": (EMPTY, "tag-label/tag/value", "training"),
    "a label more than tags": (EMPTY, "nodes/labels", {"team": "serving", "tier": "gold"}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_one_broken_field_is_found(case: str) -> None:
    rule, path, value = BROKEN[case]
    stack = broken(path, value)
    if case == "no image chosen":
        # EKS decides by the group's types; they stand in the template here.
        del stack["nodes"]["instanceTypes"]
        stack["template"]["instanceType"] = "g6.2xlarge"
    findings = [each for each in found(stack) if each.rule == rule]
    assert findings, case
    assert all(each.severity is Severity.ERROR for each in findings)
    assert all(each.remedy and each.subject.startswith("NodeGroup/") for each in findings)


def test_no_template_and_no_image_is_found() -> None:
    stack = broken("nodes/amiType", None)
    del stack["nodes"]["launchTemplate"]
    assert SUIT in {each.rule for each in found(stack)}


def test_an_update_that_sets_the_size_back_is_found() -> None:
    assert {each.rule for each in found(compliant(), ignored=())} == {SIZE}
    assert SIZE in {each.rule for each in found(compliant(), ignored=("labels",))}


@pytest.mark.parametrize("path", ["scalingConfig", 'scalingConfig["desiredSize"]'])
def test_other_ways_of_leaving_the_size_are_accepted(path: str) -> None:
    assert found(compliant(), ignored=(path,)) == ()


def test_a_group_of_fixed_size_has_no_autoscaler() -> None:
    stack = broken("nodes/scalingConfig", {"minSize": 2, "maxSize": 2, "desiredSize": 2})
    assert found(stack, ignored=()) == ()


def test_a_group_that_is_never_empty_needs_no_tags() -> None:
    stack = broken("nodes/scalingConfig/minSize", 1)
    assert found({name: each for name, each in stack.items() if not name.startswith("tag")}) == ()


def test_tags_of_another_group_do_not_count() -> None:
    stack = aws_program.resources(compliant())
    links = {key: urns for key, urns in LINKS.items() if key[0] != "tag-taint"}
    findings = aws_findings(stack, aws_program.CONTEXT, links)
    assert EMPTY in {each.rule for each in findings}


def test_an_image_of_ones_own_is_accepted() -> None:
    stack = broken("template/imageId", "ami-0123456789abcdef0")
    del stack["nodes"]["amiType"]
    assert found(stack) == ()
    stack["nodes"]["amiType"] = "CUSTOM"
    assert found(stack) == ()


def test_a_capacity_block_has_its_type_in_the_template() -> None:
    stack = broken("template/instanceType", "p5.48xlarge")
    del stack["nodes"]["instanceTypes"]
    stack["nodes"]["capacityType"] = "CAPACITY_BLOCK"
    assert found(stack) == ()
    stack["nodes"]["amiType"] = "AL2023_x86_64_STANDARD"
    assert ONE in {each.rule for each in found(stack)}


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("nodes/amiType", SUIT),
        ("nodes/instanceTypes", SUIT),
        ("nodes/scalingConfig", EMPTY),
        ("nodes/labels", EMPTY),
        ("tag-label/tag", EMPTY),
    ],
)
def test_what_is_unknown_cannot_be_verified(path: str, rule: str) -> None:
    """An unknown value must not pass for a good one."""
    findings = [each for each in found(broken(path, UNKNOWN)) if each.rule == rule]
    assert {each.severity for each in findings} == {Severity.UNKNOWN}


def test_neuron_machines_with_their_image_are_accepted() -> None:
    """The pack looks at programs that are not ours."""
    stack = broken("nodes/instanceTypes", ["trn1.2xlarge"])
    stack["nodes"]["amiType"] = "AL2023_x86_64_NEURON"
    assert found(stack) == ()


def test_our_own_groups_are_clean() -> None:
    """What the program plans is what the rules want, for every pool of the region."""
    [region] = eks_plan().regions
    assert region.eks is not None
    for planned in region.pools:
        stack = {"template": compliant()["template"]}
        links: dict[tuple[str, str], tuple[str, ...]] = {("nodes", "launchTemplate"): ("template",)}
        group = node_groups.groups(region.eks, planned)[-1]
        stack["nodes"] = {
            "kind": "eks.NodeGroup",
            "amiType": node_groups.image(planned.settings),
            "instanceTypes": [planned.settings.instance_type],
            "scalingConfig": {"minSize": group.min, "maxSize": group.max},
            "labels": node_groups.labels(region, planned),
            "taints": node_groups.taints(planned.settings),
            "launchTemplate": {"id": UNKNOWN},
        }
        for key, value in node_groups.template_tags(region, planned).items():
            stack[key] = _tag(key.removeprefix(f"{TAG}/"), value)
            links[key, "autoscalingGroupName"] = ("nodes",)
        shown = [
            replace(each, ignore_changes=("scalingConfig.desiredSize",))
            for each in aws_program.resources(stack)
        ]
        assert aws_findings(shown, aws_program.CONTEXT, links) == (), planned.name


def test_our_own_roles_are_clean() -> None:
    """Every document of ours, under every rule of the pack on IAM."""

    def change(settings: dict[str, Any]) -> None:
        settings["operators"] = "managed"

    plan = eks_plan(change)
    [region] = plan.regions
    assert region.eks is not None
    asked = RoleRequest(
        plan=plan, region=region, cluster=region.eks, cluster_name="triplane-dev-virginia"
    )
    stack: dict[str, Json] = {}
    for row in pod_roles(asked):
        trust = iam.pod_trust(asked.cluster_name, row.namespace, row.service_account)
        stack[f"{row.purpose}-role"] = {"kind": "iam.Role", "assumeRolePolicy": iam.text(trust)}
        policy = iam.text(row.policy(asked))
        stack[f"{row.purpose}-policy"] = {"kind": "iam.RolePolicy", "policy": policy}
        assert json.loads(policy)["Statement"]
    stack["nodes-role"] = {
        "kind": "iam.Role",
        "assumeRolePolicy": iam.text(iam.machine_trust()),
    }
    assert len(stack) > 6
    findings = aws_findings(aws_program.resources(stack), aws_program.CONTEXT)
    assert findings == (), "\n".join(map(str, findings))
