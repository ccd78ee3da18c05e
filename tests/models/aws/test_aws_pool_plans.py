"""Pools on AWS as plain values: images, groups per zone, tags for the autoscaler, refusals."""

import base64
import gzip
import importlib.util
import json
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any, Final, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.aws.ami import MachineArchitecture, Maker, ami_type, architecture, maker, suits
from models.core.problems import ProblemsError
from models.facts.accelerators import InstanceType
from models.plan.aws import node_groups
from models.plan.aws.pools import pool_problems
from models.plan.plan import PlannedPool, PlannedRegion
from models.settings.regions import AmiFamily
from tests.helpers.plans.aws_pools import ZONES, Change, eks_plan
from tests.helpers.plans.dev import dev_plan

pytestmark = pytest.mark.pure

RESERVATION: Final = "cr-0123456789abcdef0"
TAG: Final = "k8s.io/cluster-autoscaler/node-template"


def pool_of(name: str, **values: Any) -> tuple[PlannedRegion, PlannedPool]:
    """Return the region and one of its pools, with other values for that pool."""

    def change(stack: dict[str, Any]) -> None:
        for pool in stack["regions"][0]["pools"]:
            if pool["name"] == name:
                pool.update(values)

    [region] = eks_plan(change).regions
    return region, next(each for each in region.pools if each.name == name)


def groups_of(name: str, **values: Any) -> dict[str, tuple[str, int, int]]:
    """Return zone to name, min and max of a pool's groups."""
    region, planned = pool_of(name, **values)
    assert region.eks is not None
    return {
        each.zone: (each.name, each.min, each.max)
        for each in node_groups.groups(region.eks, planned)
    }


def data_of(package: str, *parts: str) -> dict[str, Any]:
    """Return a packed JSON file of a package (importing moto or botocore takes seconds)."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    packed = Path(spec.origin).parent.joinpath(*parts).read_bytes()
    return cast("dict[str, Any]", json.loads(gzip.decompress(packed)))


@pytest.fixture(scope="module")
def machines() -> dict[str, Any]:
    """Return moto's copy of EC2's describe-instance-types, Macs left out."""
    every = data_of("moto", "ec2", "resources", "instance_types.json.gz")
    return {name: each for name, each in every.items() if not name.startswith("mac")}


def test_processors_are_as_ec2_describes_them(machines: dict[str, Any]) -> None:
    """An image of the other architecture does not start."""
    assert len(machines) > 500
    wrong = {
        name: each["ProcessorInfo"]["SupportedArchitectures"]
        for name, each in machines.items()
        if architecture(name).value not in each["ProcessorInfo"]["SupportedArchitectures"]
    }
    assert not wrong


def test_makers_are_as_ec2_describes_them(machines: dict[str, Any]) -> None:
    """EKS-01: g4ad has GPUs, and CUDA does not run on them."""
    makers = {"NVIDIA": Maker.NVIDIA, "AMD": Maker.AMD}
    seen: set[Maker | None] = set()
    for name, each in machines.items():
        cards = each.get("GpuInfo", {}).get("Gpus", [])
        if cards:
            assert maker(name) is makers.get(cards[0]["Manufacturer"], Maker.OTHER), name
        elif "NeuronInfo" in each:
            assert maker(name) is Maker.AWS, name
        elif not {"FpgaInfo", "MediaAcceleratorInfo", "InferenceAcceleratorInfo"} & set(each):
            assert maker(name) in (None, Maker.AWS), name
        seen.add(maker(name))
    assert {None, Maker.NVIDIA, Maker.AWS, Maker.OTHER} <= seen


def test_every_image_is_one_that_eks_knows() -> None:
    """A misspelt type is refused by EKS, after the network and the cluster were made."""
    service = data_of("botocore", "data", "eks", "2017-11-01", "service-2.json.gz")
    known = set(service["shapes"]["AMITypes"]["enum"])
    types = ("m7i.xlarge", "m7g.xlarge", "p5.48xlarge", "g5g.xlarge")
    chosen = {ami_type(family, each) for family in AmiFamily for each in types}
    assert len(chosen) == 8
    assert chosen <= known


@pytest.mark.parametrize(
    ("family", "machine", "image"),
    [
        (AmiFamily.AL2023, "p5.48xlarge", "AL2023_x86_64_NVIDIA"),
        (AmiFamily.AL2023, "g6e.2xlarge", "AL2023_x86_64_NVIDIA"),
        (AmiFamily.AL2023, "m7i.2xlarge", "AL2023_x86_64_STANDARD"),
        (AmiFamily.BOTTLEROCKET, "g6.xlarge", "BOTTLEROCKET_x86_64_NVIDIA"),
        (AmiFamily.BOTTLEROCKET, "c7g.xlarge", "BOTTLEROCKET_ARM_64"),
        (AmiFamily.AL2023, "p6e-gb200.36xlarge", "AL2023_ARM_64_NVIDIA"),
        (AmiFamily.AL2023, "p6-b200.48xlarge", "AL2023_x86_64_NVIDIA"),
    ],
)
def test_the_image_follows_card_processor_and_system(
    family: AmiFamily, machine: str, image: str
) -> None:
    assert ami_type(family, machine) == image
    assert suits(image, machine)


@pytest.mark.parametrize("machine", ["g4ad.xlarge", "trn2.48xlarge", "inf2.xlarge", "dl1.24xlarge"])
def test_accelerators_without_cuda_are_refused(machine: str) -> None:
    with pytest.raises(ValueError, match="CUDA"):
        ami_type(AmiFamily.AL2023, machine)


def test_a_text_that_is_no_type_is_refused() -> None:
    with pytest.raises(ValueError, match="not an EC2 instance type"):
        architecture("gpu")


@pytest.mark.parametrize(
    ("image", "machine"),
    [
        ("AL2023_x86_64_STANDARD", "g6.xlarge"),
        ("AL2023_x86_64_NVIDIA", "m7i.xlarge"),
        ("AL2023_x86_64_NVIDIA", "g4ad.xlarge"),
        ("AL2023_x86_64_NVIDIA", "g5g.xlarge"),
        ("AL2023_x86_64_NVIDIA", "trn1.2xlarge"),
        ("BOTTLEROCKET_x86_64", "p5.48xlarge"),
    ],
)
def test_images_that_do_not_suit(image: str, machine: str) -> None:
    assert not suits(image, machine)


def test_images_of_other_makers_suit_their_own() -> None:
    """The policy looks at programs that are not ours as well."""
    assert suits("AL2023_x86_64_NEURON", "trn1.2xlarge")
    assert suits("AL2_x86_64_GPU", "g5.xlarge")
    assert suits("BOTTLEROCKET_x86_64_NVIDIA_FIPS", "g6.xlarge")
    assert suits("AL2023_x86_64_STANDARD", "f2.6xlarge")
    assert architecture("g5g.xlarge") is MachineArchitecture.ARM


@settings(deadline=None)
@given(
    low=st.integers(0, 40),
    more=st.integers(0, 60),
    zones=st.lists(st.sampled_from(ZONES), min_size=1, max_size=3, unique=True).map(tuple),
)
def test_a_pool_is_split_exactly(low: int, more: int, zones: tuple[str, ...]) -> None:
    """Capacity and bill are proved for the pool's bounds; groups must not add up to others."""
    region, planned = pool_of("gpu-h100-pool")
    assert region.eks is not None
    high = max(1, low + more)
    pool = planned.settings.model_copy(update={"min": low, "max": high, "zones": zones})
    made = node_groups.groups(region.eks, planned.model_copy(update={"settings": pool}))
    assert sum(each.min for each in made) == low
    assert sum(each.max for each in made) == high
    assert all(0 <= each.min <= each.max and each.max >= 1 for each in made)
    assert max(each.max for each in made) - min(each.max for each in made) <= 1
    assert [each.zone for each in made] == sorted(zones)[: len(made)]
    assert len({each.name for each in made}) == len(made)


def test_the_order_of_zones_means_nothing() -> None:
    """Zones are a set; a reordered list must not replace a group."""
    assert groups_of("gpu-l4-pool", zones=list(reversed(ZONES))) == groups_of("gpu-l4-pool")


def test_a_further_zone_replaces_nothing() -> None:
    before = groups_of("gpu-l4-pool", zones=list(ZONES[:2]))
    after = groups_of("gpu-l4-pool")
    assert {zone: name for zone, (name, *_) in before.items()} == {
        zone: after[zone][0] for zone in before
    }


@pytest.mark.parametrize(
    ("values", "replaced"),
    [
        ({"instance_type": "g6.12xlarge"}, True),
        ({"capacity_type": "spot"}, True),
        ({"ami": "bottlerocket"}, True),
        ({"min": 0, "max": 6}, False),
        ({"disk_gib": 500}, False),
        ({"taints": [{"key": "team", "value": "x"}]}, False),
    ],
)
def test_what_replaces_a_group_changes_its_name(values: dict[str, Any], *, replaced: bool) -> None:
    """The new group is made before the old one goes; with the same name EKS would refuse it."""
    before, after = groups_of("gpu-l4-pool"), groups_of("gpu-l4-pool", **values)
    for zone, (name, *_) in before.items():
        assert (after[zone][0] != name) is replaced
        assert len(after[zone][0]) <= 63


def test_a_pool_smaller_than_its_zones_says_where_it_is() -> None:
    notices = [notice.message for notice in eks_plan().notices]
    [said] = [text for text in notices if "gpu-h100-pool" in text and "zones" in text]
    assert "us-east-1a, us-east-1b" in said
    assert list(groups_of("gpu-h100-pool")) == ["us-east-1a", "us-east-1b"]


def test_labels_taints_and_their_tags_agree() -> None:
    """EKS-04: what the autoscaler is told must be what the node will be."""
    region, planned = pool_of("gpu-h100-pool")
    labels = node_groups.labels(region, planned)
    assert labels["triplane.dev/pool"] == "gpu-h100-pool"
    assert labels["k8s.amazonaws.com/accelerator"] == "h100-80gb"
    assert node_groups.taints(planned.settings) == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "team", "value": "research", "effect": "NO_EXECUTE"},
    ]
    assert node_groups.template_tags(region, planned) == {
        **{f"{TAG}/label/{key}": value for key, value in labels.items()},
        f"{TAG}/taint/nvidia.com/gpu": "present:NoSchedule",
        f"{TAG}/taint/team": "research:NoExecute",
        f"{TAG}/resources/nvidia.com/gpu": "8",
        f"{TAG}/resources/ephemeral-storage": "200Gi",
    }


def test_a_cpu_pool_has_no_accelerator_and_no_gpu() -> None:
    region, planned = pool_of("cpu-pool")
    assert node_groups.labels(region, planned) == {"triplane.dev/pool": "cpu-pool"}
    assert node_groups.taints(planned.settings) == []
    assert f"{TAG}/resources/nvidia.com/gpu" not in node_groups.template_tags(region, planned)
    assert node_groups.update_strategy(planned) == "DEFAULT"


def test_shared_cards_are_counted_as_they_are_offered() -> None:
    sharing = {"kind": "time-slicing", "replicas": 4}
    region, planned = pool_of("gpu-h100-pool", sharing=sharing)
    tags = node_groups.template_tags(region, planned)
    assert tags[f"{TAG}/resources/nvidia.com/gpu"] == "32"


def test_slices_by_profile_leave_no_node_waiting_for_a_gpu() -> None:
    """A labeled node without nvidia.com/gpu is never ready for the autoscaler."""
    sharing = {"kind": "mig", "profile": "3g.40gb", "strategy": "mixed"}
    region, planned = pool_of("gpu-h100-pool", sharing=sharing)
    tags = node_groups.template_tags(region, planned)
    assert tags[f"{TAG}/resources/nvidia.com/gpu"] == "0"
    assert tags[f"{TAG}/resources/nvidia.com/mig-3g.40gb"] == "16"
    assert "k8s.amazonaws.com/accelerator" not in node_groups.labels(region, planned)


def test_fast_network_is_counted_from_the_catalog() -> None:
    region, planned = pool_of("gpu-h100-pool", efa=True, zones=["us-east-1b"])
    tags = node_groups.template_tags(region, planned)
    assert planned.efa_interfaces == 32
    assert tags[f"{TAG}/resources/vpc.amazonaws.com/efa"] == "32"


def test_gpu_nodes_are_renewed_without_spare_ones() -> None:
    """The bill is proved for the pool's maximum; a surge would go beyond it."""
    _, planned = pool_of("gpu-l4-pool")
    assert node_groups.update_strategy(planned) == "MINIMAL"


def test_longhorn_nodes_get_their_storage_clients() -> None:
    """LH-02: without them Longhorn attaches nothing."""

    def change(stack: dict[str, Any]) -> None:
        storage = stack["regions"][0]["storage"]
        storage["volumes"] = "longhorn"
        del storage["storage_class"]

    [region] = eks_plan(change).regions
    packed = node_groups.user_data(region, region.pools[0].settings)
    assert packed is not None
    message = message_from_bytes(base64.b64decode(packed))
    assert message.is_multipart()
    [part] = cast("list[Message]", message.get_payload())
    script = str(part.get_payload())
    assert part.get_content_type() == "text/x-shellscript"
    assert script.startswith("#!/bin/bash\n")
    assert "iscsi-initiator-utils" in script
    assert "nfs-utils" in script


def test_other_nodes_get_no_user_data() -> None:
    region, planned = pool_of("gpu-l4-pool")
    assert node_groups.user_data(region, planned.settings) is None


def test_bottlerocket_keeps_images_on_its_second_volume() -> None:
    _, planned = pool_of("gpu-l4-pool", ami="bottlerocket", disk_gib=300)
    assert node_groups.root_devices(planned.settings) == {"/dev/xvda": None, "/dev/xvdb": 300}


def pool_change(index: int, **values: Any) -> Change:
    """Return a change of one pool's values; None removes the key."""

    def change(stack: dict[str, Any]) -> None:
        pool = stack["regions"][0]["pools"][index]
        for key, value in values.items():
            if value is None:
                del pool[key]
            else:
                pool[key] = value

    return change


def objects_change(**values: Any) -> Change:
    def change(stack: dict[str, Any]) -> None:
        stack["regions"][0]["storage"]["objects"].update(values)

    return change


def second_region(stack: dict[str, Any]) -> None:
    """Add a region that makes the same bucket."""
    [region] = stack["regions"]
    stack["regions"].append({**region, "name": "ohio"})


def node_on_eks(stack: dict[str, Any]) -> None:
    pool = stack["regions"][0]["pools"][2]
    del pool["instance_type"]
    pool["node"] = {"vcpus": 8, "memory_gib": 32, "usd_per_hour": 1}


RESERVED: Final = {"capacity_type": "reserved", "capacity_reservation": RESERVATION}

REFUSED: dict[str, tuple[Change, str, str]] = {
    "a machine of one's own": (node_on_eks, "pools[2].node", "EC2"),
    "a zone without subnets": (
        pool_change(1, zones=["us-east-1a", "us-east-1d"]),
        "pools[1].zones",
        "us-east-1d",
    ),
    "a reservation over zones": (pool_change(1, **RESERVED), "pools[1].zones", RESERVATION),
    "a reservation without its type": (
        pool_change(1, capacity_reservation=RESERVATION),
        "pools[1]",
        "go together",
    ),
    "a block without its id": (
        pool_change(1, capacity_type="capacity-block"),
        "pools[1]",
        "go together",
    ),
    "another card than the machine's": (
        pool_change(1, instance_type="g5.2xlarge"),
        "pools[1].instance_type",
        "does not carry",
    ),
    "fast network on a machine without": (
        pool_change(1, efa=True, zones=["us-east-1a"]),
        "pools[1].efa",
        "no EFA",
    ),
    "fast network over zones": (pool_change(0, efa=True), "pools[0].zones", "one zone"),
    "two taints with one key": (
        pool_change(0, taints=[{"key": "a", "value": "x"}, {"key": "a", "effect": "NoExecute"}]),
        "pools[0].taints",
        "one per key",
    ),
    "a bucket in another region": (objects_change(region="us-west-2"), "objects.region", "cluster"),
    "a bucket that two regions make": (second_region, "regions[1].storage", "already"),
    "a key for a bucket that is made": (
        objects_change(key_arn="arn:aws:kms:us-east-1:111122223333:key/1"),
        "objects.key_arn",
        "exists already",
    ),
    "a bucket made at an endpoint": (
        objects_change(kind="endpoint", endpoint="http://s3:8333", create=True),
        "objects.create",
        "kind s3",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_on_aws_is_refused(case: str) -> None:
    """The same plan without the change is accepted: `eks_plan()` in the other tests."""
    change, path, words = REFUSED[case]
    with pytest.raises(ProblemsError) as caught:
        eks_plan(change)
    said = [str(each) for each in caught.value.problems if path in each.path]
    assert any(words in text for text in said), str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        {"zones": ["us-east-1a"]},
        {"capacity_type": "spot"},
        RESERVED,
    ],
)
def test_what_only_made_nodes_have_is_refused_elsewhere(values: dict[str, Any]) -> None:
    """A setting that nothing acts on would be believed."""

    def change(stack: dict[str, Any]) -> None:
        stack["regions"][0]["pools"][0].update(values)

    with pytest.raises(ProblemsError, match="does not make the nodes"):
        dev_plan(change)


def test_a_reservation_in_one_zone_is_taken() -> None:
    _, planned = pool_of("gpu-l4-pool", **RESERVED, zones=["us-east-1b"])
    assert node_groups.capacity(planned.settings) == "ON_DEMAND"
    block = {**RESERVED, "capacity_type": "capacity-block"}
    _, planned = pool_of("gpu-l4-pool", **block, zones=["us-east-1b"])
    assert node_groups.capacity(planned.settings) == "CAPACITY_BLOCK"


def test_gpu_machines_with_arm_processors_are_refused() -> None:
    """The engine images of the catalog are for x86_64; the pod would not start."""
    [region] = eks_plan().regions
    pool = region.pools[1].settings.model_copy(update={"instance_type": "g5g.2xlarge"})
    machine = InstanceType(name="g5g.2xlarge", gpus=1, vcpus=8, memory_gib=16)
    card = region.pools[1].accelerator
    assert card is not None
    card = card.model_copy(update={"instance_types": (machine,)})
    [problem] = pool_problems(region.settings, pool, "pools[1]", machine, card)
    assert "ARM" in problem.message
    intel = pool.model_copy(update={"instance_type": "g6.2xlarge"})
    assert not pool_problems(region.settings, intel, "pools[1]", None, card)
