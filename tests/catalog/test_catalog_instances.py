"""Machines with and without GPUs agree with moto's copy of EC2's describe-instance-types."""

import gzip
import importlib.util
import json
from pathlib import Path
from typing import Any, Final, cast

import pytest

from catalog.loader import load

pytestmark = pytest.mark.pure

CATALOG: Final = load()
MIB_PER_GIB: Final = 1024


def described() -> dict[str, Any]:
    """Return moto's instance types, read from its file (importing moto takes seconds)."""
    spec = importlib.util.find_spec("moto")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "ec2" / "resources" / "instance_types.json.gz"
    return cast("dict[str, Any]", json.loads(gzip.decompress(path.read_bytes())))


@pytest.fixture(scope="module")
def ec2() -> dict[str, Any]:
    """Return moto's instance types by name."""
    return described()


@pytest.mark.parametrize("name", CATALOG.instance_types)
def test_a_machine_is_as_ec2_describes_it(ec2: dict[str, Any], name: str) -> None:
    """A wrong vCPU or memory figure makes the scheduler's answer wrong."""
    ours, theirs = CATALOG.instance_types[name], ec2[name]
    assert ours.vcpus == theirs["VCpuInfo"]["DefaultVCpus"]
    assert ours.memory_gib == theirs["MemoryInfo"]["SizeInMiB"] / MIB_PER_GIB
    assert [ours.architecture] == theirs["ProcessorInfo"]["SupportedArchitectures"]
    gpus = theirs.get("GpuInfo", {}).get("Gpus", [])
    assert ours.gpus == sum(gpu["Count"] for gpu in gpus)
    network = theirs["NetworkInfo"]
    assert ours.efa == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    # A launch template has one interface a card.
    assert ours.efa in (0, network["MaximumNetworkCards"])


def test_a_machine_stands_beside_the_card_that_it_carries(ec2: dict[str, Any]) -> None:
    for card in CATALOG.accelerators.values():
        for machine in card.instance_types:
            (gpu,) = ec2[machine.name]["GpuInfo"]["Gpus"]
            assert gpu["Name"].lower() == card.name.split("-")[0], machine.name


def test_the_machines_of_the_design_are_there() -> None:
    wanted = {
        "g4dn.12xlarge",
        "g5.xlarge",
        "g6.2xlarge",
        "g6e.48xlarge",
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.4xlarge",
        "p5.48xlarge",
        "p5en.48xlarge",
        "p6-b200.48xlarge",
        "m7i.2xlarge",
    }
    assert wanted <= set(CATALOG.instance_types)
