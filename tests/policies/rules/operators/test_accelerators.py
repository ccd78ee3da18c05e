"""The GPU operator's rules, and those of Helm releases: a compliant stack, broken in one place."""

import copy
from dataclasses import replace
from typing import Any, Final

import pytest

from models.core.findings import Finding, Severity
from policies.core.nodes import Node
from policies.core.unknowns import Unknown, plain
from policies.frame.evaluate import aws_findings, findings
from policies.views.aws.resource import AwsResource
from policies.views.kubernetes.chart_values import faults
from policies.views.kubernetes.gpu_operator import tolerates
from policies.views.kubernetes.manifest import Manifest, ResourceOptions
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTEXT, Json

pytestmark = pytest.mark.pure

REACH: Final = "k8s-gpuoperator-reach-gpu-nodes"
SLICES: Final = "k8s-gpuoperator-name-slices"
SHARE: Final = "k8s-container-take-one-share"
BROUGHT: Final = "aws-gpuoperator-leave-what-image-brings"
DRIVER: Final = "k8s-clusterpolicy-leave-what-image-brings"
GPU: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TEAM: Final = {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
RELEASE: Final[Json] = {
    "name": "gpu-operator",
    "chart": "gpu-operator",
    "version": "v26.7.0",
    "namespace": "gpu-operator",
    "values": {"driver": {"enabled": False}, "toolkit": {"enabled": False}},
}


def release(body: Json, urn: str = "") -> Manifest:
    """Return a Helm release as the engine shows it."""
    options = ResourceOptions(type="kubernetes:helm.sh/v3:Release", urn=urn)
    return Manifest(body=Node(plain(body)), options=options, implied_kind="Release")


def with_values(**values: Any) -> Json:
    """Return the compliant release with other values."""
    return {**RELEASE, "values": {**RELEASE["values"], **values}}


def engine(tolerations: list[Json] | None = None, **changes: Any) -> Json:
    """Return the lab's engine with other tolerations, resources or node labels."""
    body = copy.deepcopy(compliant_stack.compliant()["engine"])
    spec = body["spec"]["template"]["spec"]
    if tolerations is not None:
        spec["tolerations"] = tolerations
    if "resource" in changes:
        for side in spec["containers"][0]["resources"].values():
            amount = side.pop("nvidia.com/gpu")
            side[changes["resource"]] = changes.get("amount", amount)
    spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **changes.get("labels", {})}
    return body


def found(*manifests: Manifest) -> list[Finding]:
    """Return what all rules find at these objects."""
    return list(findings(list(manifests), replace(CONTEXT, whole=False)))


def of(rule: str, *manifests: Manifest) -> list[Finding]:
    """Return what one rule finds."""
    return [each for each in found(*manifests) if each.rule == rule]


def test_the_compliant_release_is_let_through() -> None:
    made = found(release(RELEASE), compliant_stack.manifest(engine()))
    rules = {REACH, SLICES, SHARE, DRIVER}
    assert [each for each in made if each.rule in rules or "-release-" in each.rule] == []


def test_every_taint_that_engines_tolerate_is_tolerated_by_the_operator() -> None:
    """GPUO-02: else nodes never get the label that engines select."""
    made = of(REACH, release(RELEASE), compliant_stack.manifest(engine([GPU, TEAM])))
    assert sorted(each.path for each in made) == [
        "daemonsets.tolerations",
        "node-feature-discovery.worker.tolerations",
    ]
    assert "team=ml:NoSchedule" in made[0].message


def test_a_taint_is_written_with_the_effect_that_is_tolerated() -> None:
    """An operator that tolerates NoSchedule only is evicted by NoExecute."""
    evicting = {**TEAM, "effect": "NoExecute"}
    made = of(REACH, release(with_values()), compliant_stack.manifest(engine([GPU, evicting])))
    assert made
    assert all("team=ml:NoExecute" in each.message for each in made)


def test_the_operator_may_tolerate_a_taint_in_any_way_that_kubernetes_takes() -> None:
    for given in (TEAM, {"key": "team", "operator": "Exists"}, {"operator": "Exists"}):
        worker = {"worker": {"tolerations": [GPU, given]}}
        values = {"daemonsets": {"tolerations": [GPU, given]}, "node-feature-discovery": worker}
        body = with_values(**values)
        assert of(REACH, release(body), compliant_stack.manifest(engine([GPU, TEAM]))) == [], given


def test_one_of_the_places_is_not_enough() -> None:
    body = with_values(daemonsets={"tolerations": [GPU, TEAM]})
    made = of(REACH, release(body), compliant_stack.manifest(engine([GPU, TEAM])))
    assert [each.path for each in made] == ["node-feature-discovery.worker.tolerations"]


def test_another_regions_taints_are_not_this_operators() -> None:
    """One stack has an operator per region, and engines of all of them."""
    context = replace(CONTEXT, whole=False, regions=("east", "edge"))
    operator = release(RELEASE, urn="urn:pulumi:prod::p::t::triplane-east-operators-1")
    for region, count in (("edge", 0), ("east", 2)):
        options = ResourceOptions(
            type="kubernetes:apps/v1:StatefulSet", urn=f"u::triplane-{region}-m-engine"
        )
        engine_there = replace(compliant_stack.manifest(engine([GPU, TEAM])), options=options)
        made = findings([operator, engine_there], context)
        assert len([each for each in made if each.rule == REACH]) == count, region


def test_a_node_shows_its_taints_in_an_export() -> None:
    """GPUO-02, as `triplane check` reads a cluster: ClusterPolicy and nodes."""
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-0", "labels": {"nvidia.com/gpu.present": "true"}},
        "spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]},
        "status": {"nodeInfo": {"osImage": "Ubuntu 24.04"}},
    }
    policy: Json = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {"daemonsets": {"tolerations": [GPU]}, "driver": {"enabled": True}},
    }
    made = of(REACH, compliant_stack.manifest(node), compliant_stack.manifest(policy))
    assert ["dedicated=gpu:NoSchedule" in each.message for each in made] == [True]
    assert of(DRIVER, compliant_stack.manifest(node), compliant_stack.manifest(policy)) == []
    other: Json = {**node, "metadata": {"name": "cpu-0", "labels": {"gpu": "none"}}}
    assert of(REACH, compliant_stack.manifest(other), compliant_stack.manifest(policy)) == []
    other["status"] = {"nodeInfo": {"osImage": "Amazon Linux 2023.9"}}
    assert of(DRIVER, compliant_stack.manifest(other), compliant_stack.manifest(policy)) == []
    node["status"] = {"nodeInfo": {"osImage": "Amazon Linux 2023.9"}}
    assert len(of(DRIVER, compliant_stack.manifest(node), compliant_stack.manifest(policy))) == 1
    policy["spec"]["driver"]["enabled"] = False
    assert of(DRIVER, compliant_stack.manifest(node), compliant_stack.manifest(policy)) == []


def group(image: str, labels: Json | None = None, name: str = "gpu") -> AwsResource:
    """Return a node group."""
    body = {"amiType": image, "labels": labels or {}, "instanceTypes": ["p5.48xlarge"]}
    return AwsResource(kind="eks.NodeGroup", name=name, body=Node(plain(body)))


def brought(resource: AwsResource, *releases: Manifest) -> list[str]:
    """Return what the rule on images says."""
    made = aws_findings([resource], CONTEXT, releases=releases)
    return [each.message for each in made if each.rule == BROUGHT]


@pytest.mark.parametrize("image", ["AL2023_x86_64_NVIDIA", "AL2_x86_64_GPU"])
def test_no_driver_is_installed_on_an_image_that_brings_it(image: str) -> None:
    """GPUO-01: there is no driver container for Amazon Linux."""
    assert brought(group(image), release(RELEASE)) == []
    bare = release({**RELEASE, "values": {}})
    assert ["driver" in each or "toolkit" in each for each in brought(group(image), bare)] == [
        True,
        True,
    ]


def test_bottlerocket_brings_the_device_plugin_as_well() -> None:
    said = brought(group("BOTTLEROCKET_x86_64_NVIDIA"), release(RELEASE))
    assert len(said) == 1
    assert "devicePlugin" in said[0]
    off = release(with_values(devicePlugin={"enabled": False}))
    assert brought(group("BOTTLEROCKET_x86_64_NVIDIA"), off) == []


def test_a_label_keeps_an_operand_off_one_group() -> None:
    labels = {"nvidia.com/gpu.deploy.device-plugin": "false"}
    assert brought(group("BOTTLEROCKET_x86_64_NVIDIA", labels), release(RELEASE)) == []


def test_an_image_without_gpus_asks_nothing_of_the_operator() -> None:
    assert brought(group("AL2023_x86_64_STANDARD"), release({**RELEASE, "values": {}})) == []


def test_a_switch_that_is_not_known_is_not_waved_through() -> None:
    body = {**RELEASE, "values": {"driver": {"enabled": Unknown("values.driver.enabled")}}}
    made = aws_findings([group("AL2023_x86_64_NVIDIA")], CONTEXT, releases=[_raw_release(body)])
    assert Severity.UNKNOWN in {each.severity for each in made if each.rule == BROUGHT}


def _raw_release(body: Json) -> Manifest:
    options = ResourceOptions(type="kubernetes:helm.sh/v3:Release")
    return Manifest(body=Node(body), options=options, implied_kind="Release")


def test_a_slice_is_asked_for_by_the_name_it_has() -> None:
    """GPUO-04: a resource that no node has is never scheduled."""
    asking = compliant_stack.manifest(engine(resource="nvidia.com/mig-3g.40gb"))
    assert len(of(SLICES, release(RELEASE), asking)) == 1
    mixed = release(with_values(mig={"strategy": "mixed"}))
    assert of(SLICES, mixed, asking) == []
    whole = compliant_stack.manifest(engine(labels={"nvidia.com/mig.config": "all-3g.40gb"}))
    assert len(of(SLICES, mixed, whole)) == 1
    assert of(SLICES, release(RELEASE), whole) == []


def test_shares_of_a_card_are_no_ranks() -> None:
    """GPUO-04: the lab's engine has two ranks; on slices or turns it may have one."""
    for product in ("NVIDIA-H100-80GB-HBM3-MIG-3g.40gb", "NVIDIA-L4-SHARED"):
        shared = compliant_stack.manifest(engine(labels={"nvidia.com/gpu.product": product}))
        assert len(of(SHARE, shared)) == 1, product
    whole = compliant_stack.manifest(
        engine(labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    )
    assert of(SHARE, whole) == []


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("k8s-release-have-fixed-name", {"name": None}),
        ("k8s-release-pin-version", {"version": None}),
        ("k8s-release-pin-version", {"version": ">=26.0.0"}),
        ("k8s-release-be-waited-for", {"skipAwait": True}),
        ("k8s-release-set-known-values", {"values": {"driver": {"enable": False}}}),
        ("k8s-release-set-known-values", {"values": {"driver": {"enabled": "false"}}}),
    ],
)
def test_a_release_is_named_pinned_waited_for_and_understood(rule: str, change: Json) -> None:
    """PULK-07, PULK-04: each of these is silent until something else breaks."""
    body = {key: value for key, value in {**RELEASE, **change}.items() if value is not None}
    if rule.endswith("known-values"):
        from catalog.readers.chart_values import VALUES_DIR, shared_values

        if "gpu-operator" not in shared_values():
            pytest.skip(f"{VALUES_DIR} has no default values of gpu-operator")
    assert of(rule, release(RELEASE)) == []
    assert len(of(rule, release(body))) == 1


def test_tolerations_match_as_kubernetes_matches_them() -> None:
    taint = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    assert tolerates([{"key": "team", "value": "ml"}], taint), "no effect: all effects"
    assert tolerates([{"operator": "Exists"}], taint), "no key: all keys"
    assert not tolerates([{"key": "team", "value": "x"}], taint)
    assert not tolerates([{"key": "team", "operator": "Exists", "effect": "NoExecute"}], taint)
    assert not tolerates([{"operator": "Equal", "value": "ml"}], taint)


def test_an_empty_map_takes_what_strictness_does_not() -> None:
    given = {"resources": {"limits": {"cpu": "1"}}}
    assert list(faults(given, {"resources": {}}, {})) == []
    assert list(faults(given, {"resources": {}}, {}, strict=True))
    assert list(faults(given, {"resources": {}}, {"resources": "a pod's resources"})) == []


def test_the_pack_measures_a_slice_by_its_own_memory() -> None:
    """The annotation names the slice; the whole card's 79 GiB would wave everything through."""
    body = compliant_stack.compliant()["engine"]
    template = body["spec"]["template"]
    template["spec"]["nodeSelector"] = {"nvidia.com/gpu.present": "true", "triplane.dev/pool": "p"}
    for side in template["spec"]["containers"][0]["resources"].values():
        side["nvidia.com/gpu"] = "1"
    args = template["spec"]["containers"][0]["args"]
    args[1] = "--tensor-parallel-size=1"
    told: dict[str, bool] = {}
    for card in ("a100-80gb", "a100-80gb-mig-1g-10gb"):
        body["metadata"]["annotations"] = template["metadata"]["annotations"] = {
            **template["metadata"].get("annotations", {}),
            "triplane.dev/accelerator": card,
            "triplane.dev/model": "llama31-8b-instruct",
        }
        found = findings([compliant_stack.manifest(body)], compliant_stack.CONTEXT)
        told[card] = any(each.rule == "k8s-container-fit-memory" for each in found)
    assert told == {"a100-80gb": False, "a100-80gb-mig-1g-10gb": True}
