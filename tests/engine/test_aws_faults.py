"""What befalls a stack on AWS: throttling, no machines, a dead region, a lost zone, a kill.

Each is seen to be told in AWS's words, to leave the state right, and to be over with the next
update.
"""

import signal
import subprocess
from collections.abc import Iterator

import pytest

from sandbox.aws.clusters import drills
from sandbox.aws.core import faults
from sandbox.aws.core.faults import GroupFails, NoCapacity, RegionUnreachable, Throttle
from sandbox.aws.lifecycle import inventory
from sandbox.engine.recovery import recover
from tests.helpers.engine.aws_program import AwsLab, lab, until

pytestmark = pytest.mark.engine

KILLS = True
"""An update is killed here: its state is written after each step."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsLab]:
    """A stack without a cluster, for what needs none; its tests run in order."""
    with lab(tmp_path_factory.mktemp("small")) as made:
        made.asked = {"small": True}
        yield made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsLab]:
    """A stack with a cluster; its tests run in order."""
    with lab(tmp_path_factory.mktemp("whole")) as made:
        yield made


def inject(stack: AwsLab, *asked: faults.Fault) -> None:
    faults.write(stack.stand_in.home.faults, *asked)


def remedy(stack: AwsLab) -> None:
    """Do what the refusal of a failed node group says."""
    drills.delete_node_group(stack.stand_in.home, "lab", str(stack.asked["group"]))
    stack.run("refresh", "--yes", "--skip-preview")
    stack.up()


def test_throttling_is_waited_out(small: AwsLab) -> None:
    inject(small, Throttle(kind="throttle", service="ec2", operation="CreateVpc", times=2))
    small.up()
    inject(small)
    small.unchanged()


def test_throttling_without_end_fails_in_awss_words(small: AwsLab) -> None:
    small.asked["name"] = "other"
    inject(small, Throttle(kind="throttle", service="ec2", times=10_000))
    text = small.up(code=1)
    assert "RequestLimitExceeded" in text
    assert "Request limit exceeded." in text
    inject(small)
    small.up()
    small.unchanged()


def test_a_region_out_of_reach_fails_and_changes_nothing(small: AwsLab) -> None:
    before = small.resources()
    inject(small, RegionUnreachable(kind="region-unreachable", region="us-east-1"))
    small.asked["name"] = "third"
    text = small.up(code=1)
    assert "Could not connect to the endpoint URL" in text
    assert "us-east-1.amazonaws.com" in text
    assert {name: each.get("id") for name, each in small.resources().items()} == {
        name: each.get("id") for name, each in before.items()
    }
    text = small.run("refresh", "--yes", "--skip-preview", code=1)
    assert "deleted" not in text, "what cannot be asked is not gone"
    inject(small)
    small.up()
    small.unchanged()


def test_a_kill_in_the_middle_makes_nothing_twice(small: AwsLab) -> None:
    """The engine dies while a VPC exists that it was never told of."""
    small.run("destroy", "--yes", "--skip-preview")
    # For good: however fast the machine is, the VPC is not done before the engine is killed.
    throttled = Throttle(
        kind="throttle", service="ec2", operation="ModifyVpcAttribute", times=10_000
    )
    inject(small, throttled)

    def kill(process: subprocess.Popen[str]) -> None:
        until(lambda: [line for line in inventory.left(small.aws()) if "VPC " in line], "a VPC")
        process.send_signal(signal.SIGKILL)

    small.workspace.attempt(["up", "--yes", "--skip-preview"], quiet=True, on_start=kill)
    inject(small)
    assert "vpc" not in small.resources()
    recover(small.workspace, small.stand_in.home.repeated)
    small.up()
    small.unchanged()
    made = inventory.left(small.aws())
    assert len([line for line in made if line.startswith("VPC ")]) == 1, made
    assert not small.stand_in.home.repeated.exists(), "nothing is open any more"
    small.run("destroy", "--yes", "--skip-preview")
    assert inventory.left(small.aws()) == []


def test_a_node_group_that_cannot_be_created(whole: AwsLab) -> None:
    whole.asked = {"group": "lab-nodes"}
    inject(whole, GroupFails(kind="node-group-fails", node_group="lab-*", reason="no way in"))
    text = whole.up(code=1)
    assert "CREATE_FAILED" in text
    assert "no way in" in text
    assert whole.resources()["nodes"]["initErrors"], "it exists, so the state must have it"
    assert whole.nodes() == []
    inject(whole)
    again = whole.up(code=1)
    assert "delete the group in AWS" in again
    remedy(whole)
    assert len(whole.nodes()) == 2
    whole.unchanged()


def test_there_are_no_machines_of_a_type(whole: AwsLab) -> None:
    whole.asked = {"group": "other-nodes", "desired": 1}
    inject(whole, NoCapacity(kind="insufficient-capacity", instance_type="g6.2xlarge"))
    text = whole.up(code=1)
    assert "InsufficientInstanceCapacity" in text
    assert "us-east-1a, us-east-1b" in text
    inject(whole)
    remedy(whole)
    whole.unchanged()


def test_a_lost_zones_pods_move(whole: AwsLab) -> None:
    (before,) = whole.pods().values()
    zone = {
        str(each["metadata"]["name"]): str(
            each["metadata"]["labels"]["topology.kubernetes.io/zone"]
        )
        for each in whole.nodes()
    }[before]
    lost = drills.lose_zone(whole.stand_in.home, zone)
    assert lost == [before]
    until(lambda: len(whole.pods()) == 1 and before not in whole.pods().values(), "it moved")
    whole.unchanged()
    inject(whole)
    whole.run("destroy", "--yes", "--skip-preview")
    assert inventory.left(whole.aws()) == []
