"""The GPU operator suits the machines, reaches them, and names what pods ask for."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.rule import RuleWeight, rule
from policies.views.aws.resource import AwsPlaced, region_of
from policies.views.engine.cards import ACCELERATOR_ANNOTATION
from policies.views.engine.container import invocation_of
from policies.views.engine.replica import replica_of
from policies.views.kubernetes.gpu_operator import (
    GpuOperator,
    gpu_operator,
    gpu_operators,
    tolerates,
    toleration,
)
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.kubernetes.workload import Container, Pod

_BROUGHT: Final = {
    "AL2023": ("driver", "toolkit"),
    "AL2": ("driver", "toolkit"),
    "BOTTLEROCKET": ("driver", "toolkit", "devicePlugin"),
}
"""What the NVIDIA images of EKS bring, by the beginning of their amiType (Amazon EKS user guide,
"Use EKS-optimized accelerated AMIs")."""

_DEPLOY: Final = {
    "driver": "nvidia.com/gpu.deploy.driver",
    "toolkit": "nvidia.com/gpu.deploy.container-toolkit",
    "devicePlugin": "nvidia.com/gpu.deploy.device-plugin",
}
"""Node labels by which a node that brings an operand keeps the operator's off."""

_NODE_KEYS: Final = ("node.kubernetes.io/", "node-role.kubernetes.io/")
_SLICE: Final = re.compile(r"-mig-\d+g", re.IGNORECASE)
_SHARED: Final = re.compile(r"-SHARED$")
_MIG_RESOURCE: Final = re.compile(r"^nvidia\.com/mig-")
_PRODUCT: Final = "nvidia.com/gpu.product"


@rule(
    "aws-gpuoperator-leave-what-image-brings",
    "No GPU operator installs what the machine image of a node group brings.",
    remedy="set driver.enabled and toolkit.enabled to false (on Bottlerocket devicePlugin.enabled "
    "as well), or label the group's nodes nvidia.com/gpu.deploy.<driver|container-toolkit|"
    'device-plugin>: "false" where other nodes of the cluster need it',
    weight=RuleWeight.CRITICAL,
    tags=("aws", "gpu-operator"),
)
def leave_what_image_brings(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """GPUO-01: no driver container exists for Amazon Linux, so no GPU is ever allocatable."""
    group = placed.resource
    if not group.is_kind("eks.NodeGroup") or not group.body["amiType"].present:
        return
    image = group.body["amiType"].text() or ""
    if "NVIDIA" not in image and not image.endswith("_GPU"):
        return
    labels = group.body["labels"].strings()
    for part in _BROUGHT.get(image.split("_")[0], ()):
        if labels.get(_DEPLOY[part], "true") != "true":
            continue
        operators = _of_region(placed, context)
        if operators and all(each.enabled(part) for each in operators):
            yield Finding(
                group.body["amiType"].path,
                f"{image} brings its {part}, and {operators[0].manifest.label} installs one "
                f"({part}.enabled is not false)",
            )


def _of_region(placed: AwsPlaced, context: Context) -> list[GpuOperator]:
    """Return the operators that may be the node group's: of its region, where regions are known."""
    wanted = region_of(placed.resource.name, context.regions)
    found = (gpu_operator(each) for each in placed.stack.releases)
    return [
        each
        for each in found
        if each is not None and _may_meet(wanted, _region(each.manifest, context))
    ]


def _region(manifest: Manifest, context: Context) -> str | None:
    """Return the region of the settings that an object is of, as far as its Pulumi name says."""
    urn = manifest.options.urn if manifest.options is not None else ""
    return region_of(urn.rsplit("::", 1)[-1], context.regions)


def _may_meet(one: str | None, other: str | None) -> bool:
    """Whether two objects may be in one cluster: not where both are known to be elsewhere."""
    return one is None or other is None or one == other


@rule(
    "k8s-clusterpolicy-leave-what-image-brings",
    "No GPU operator installs a driver on Amazon's images.",
    remedy="set driver.enabled to false in the ClusterPolicy (in the chart's values)",
    weight=RuleWeight.CRITICAL,
    tags=("gpu-operator",),
)
def leave_driver(placed: Placed, context: Context) -> Iterator[Finding]:
    """GPUO-01, as an export of a cluster shows it: nodes say what they run."""
    operator = gpu_operator(placed.manifest)
    if operator is None or not operator.enabled("driver"):
        return
    for node in placed.stack.of_kind("Node"):
        image = node.body.at("status", "nodeInfo", "osImage").text() or ""
        gpus = node.body.at("status", "capacity", "nvidia.com/gpu").present
        off = node.labels().get(_DEPLOY["driver"], "true") != "true"
        has_gpus = gpus or "nvidia.com/gpu.present" in node.labels()
        if has_gpus and not off and image.startswith(("Amazon Linux", "Bottlerocket")):
            yield Finding(
                f"{operator.settings.path}.driver.enabled".lstrip("."),
                f"node {node.name} runs {image}, for which there is no driver container",
            )


@rule(
    "k8s-gpuoperator-reach-gpu-nodes",
    "Every taint of GPU nodes is tolerated by what the GPU operator runs there.",
    remedy="add the toleration to daemonsets.tolerations and to "
    "node-feature-discovery.worker.tolerations",
    weight=RuleWeight.CRITICAL,
    tags=("gpu-operator", "isolation"),
)
def reach_gpu_nodes(placed: Placed, context: Context) -> Iterator[Finding]:
    """GPUO-02: without them a node never gets nvidia.com/gpu.present, which engines select.

    Taints are known from nodes, and from what pods that take GPUs tolerate.
    """
    operator = gpu_operator(placed.manifest)
    if operator is None:
        return
    here = _region(placed.manifest, context)
    taints = placed.stack.once("taints of GPU nodes", lambda: list(_taints(placed)))
    for path, tolerations in operator.tolerations():
        for owner, said, taint in taints:
            meets = _may_meet(here, _region(owner, context))
            if meets and not tolerates(tolerations, taint):
                yield Finding(path, f"{said} has the taint {_written(taint)}, which stays out")


def _written(taint: Mapping[str, str]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _taints(placed: Placed) -> Iterator[tuple[Manifest, str, Mapping[str, str]]]:
    """Yield taints with what says so, and the object that it is said of."""
    for node in placed.stack.of_kind("Node"):
        if (
            "nvidia.com/gpu.present" in node.labels()
            or node.body.at("status", "capacity", "nvidia.com/gpu").present
        ):
            for each in node.spec["taints"].items():
                for taint in _taint(toleration(each), exists=False):
                    yield node, f"node {node.name}", taint
    for pod in placed.stack.pods():
        if pod.takes_accelerators:
            for each in pod.spec["tolerations"].items():
                given = toleration(each)
                exists = given.get("operator") == "Exists"
                for taint in _taint(given, exists=exists):
                    yield pod.manifest, f"a node of {pod.label}", taint


def _taint(given: Mapping[str, str], *, exists: bool) -> Iterator[Mapping[str, str]]:
    """Yield the taint that is meant; PreferNoSchedule keeps nothing out."""
    key, effect = given.get("key"), given.get("effect") or "NoSchedule"
    if not key or key.startswith(_NODE_KEYS) or effect == "PreferNoSchedule":
        return
    taint = {"key": key, "effect": effect}
    if not exists:
        taint["value"] = given.get("value", "")
    yield taint


@rule(
    "k8s-container-take-one-share",
    "No engine takes several shares of one card for ranks.",
    remedy="set the tensor parallel size and the GPUs in limits to 1, or take whole GPUs",
    weight=RuleWeight.CRITICAL,
    tags=("parallelism", "gpu-operator"),
)
def take_one_share(container: Container, context: Context) -> Iterator[Finding]:
    """GPUO-04, with MIG strategy single or time slicing: shares look like whole GPUs.

    A process sees one MIG slice only, and turns of one card are the same card.
    """
    invocation = invocation_of(container, context)
    share = _share(container.pod)
    if invocation is None or not invocation.words or share is None or container.pod.follows:
        return
    ranks = (replica_of(invocation, context).count("tensor_parallel_size") or 1) * (
        replica_of(invocation, context).count("pipeline_parallel_size") or 1
    )
    if ranks > 1 or container.gpus() > 1:
        yield Finding(
            container.node["args"].path,
            f"container {container.called} has {max(ranks, container.gpus())} ranks on {share}",
        )


def _share(pod: Pod) -> str | None:
    """Return what says that the pod's nodes offer shares of cards, or None."""
    card = {**pod.manifest.annotations(), **pod.annotations()}.get(ACCELERATOR_ANNOTATION, "")
    product = pod.spec.at("nodeSelector", _PRODUCT).text() or ""
    for text in (card, product):
        if _SLICE.search(text):
            return f"slices of a card ({text})"
        if _SHARED.search(text):
            return f"turns of a card ({text})"
    return None


@rule(
    "k8s-gpuoperator-name-slices",
    "Every MIG slice is asked for by the name that the GPU operator gives it.",
    remedy="ask for nvidia.com/gpu with mig.strategy single, nvidia.com/mig-<profile> with mixed",
    weight=RuleWeight.CRITICAL,
    tags=("gpu-operator",),
)
def name_slices(placed: Placed, context: Context) -> Iterator[Finding]:
    """GPUO-04: a resource that no node has is never scheduled."""
    here = _region(placed.manifest, context)
    operators = [
        each
        for each in gpu_operators(placed.stack)
        if _may_meet(here, _region(each.manifest, context))
    ]
    if not operators or any(_differs_by_node(each) for each in operators):
        return
    strategies = {each.strategy() for each in operators}
    for pod in placed.stack.pods():
        if pod.manifest is not placed.manifest:
            continue
        for container in pod.containers():
            asked = list(container.accelerators())
            slices = [name for name in asked if _MIG_RESOURCE.match(name)]
            path = container.node["resources"].path
            if slices and "mixed" not in strategies:
                yield Finding(path, f"{slices[0]} is asked for, and mig.strategy is not mixed")
            elif "nvidia.com/gpu" in asked and strategies == {"mixed"} and _sliced(pod):
                yield Finding(path, "nvidia.com/gpu is asked for on slices that have other names")


def _sliced(pod: Pod) -> bool:
    selected = {key for key, _ in pod.spec["nodeSelector"].pairs()}
    return "nvidia.com/mig.config" in selected or _share(pod) is not None


def _differs_by_node(operator: GpuOperator) -> bool:
    """Whether nodes choose the strategy by a label (device plugin configurations)."""
    return operator.settings.at("devicePlugin", "config", "name").present
