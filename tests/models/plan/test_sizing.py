"""Shares of a node, start-up times, volume sizes and packing."""

from typing import Any

import pytest

from models.plan.proofs import Demand, Supply, capacity_problems, unplaced
from models.plan.sizing import (
    MachineShape,
    pod_resources,
    pods_per_node,
    startup_seconds,
    volume_gib,
)
from tests.helpers.plans.dev import catalog, dev_plan

pytestmark = pytest.mark.pure


def test_a_replica_gets_its_gpus_share_after_the_reserve() -> None:
    shape = MachineShape(vcpus=192, memory_gib=2048, gpus=8)
    resources = pod_resources(shape, 2)
    assert (resources.cpu, resources.memory_gib, resources.gpus) == (47, 460, 2)
    assert resources.shm_gib == 4


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_replicas_by_gpu_share_fill_a_node_by_gpus(gpus: int) -> None:
    """CPU or memory must never be what keeps the last GPU of a node idle."""
    shape = MachineShape(vcpus=96, memory_gib=1152, gpus=8)
    assert pods_per_node(shape, pod_resources(shape, gpus)) == 8 // gpus


def test_more_gpus_than_a_node_has_are_refused() -> None:
    with pytest.raises(ValueError, match="takes 4 GPUs, a node has 1"):
        pod_resources(MachineShape(vcpus=8, memory_gib=32, gpus=1), 4)


def test_the_volume_holds_two_revisions() -> None:
    assert volume_gib((100 * 2**30,)) >= 200
    assert volume_gib(()) == 10


def test_replicas_that_find_no_node_are_counted() -> None:
    supply = Supply(pool="p", nodes=2, gpus=4)
    whole = Demand(model="big", pool="p", gpus=4, replicas=2)
    assert unplaced([whole], supply) == {}
    small = Demand(model="small", pool="p", gpus=1, replicas=1)
    assert unplaced([small, whole], supply) == {"small": 1}


def test_gpus_on_different_nodes_do_not_add_up() -> None:
    """Six GPUs are free, but no node has four of them."""
    supply = Supply(pool="p", nodes=2, gpus=3)
    assert unplaced([Demand(model="m", pool="p", gpus=4, replicas=1)], supply) == {"m": 1}


def test_the_capacity_problem_names_pool_figures_and_mend() -> None:
    demand = Demand(model="m", pool="p", gpus=1, replicas=5)
    (problem,) = capacity_problems("eu", [demand], [Supply(pool="p", nodes=2, gpus=2)], "here")
    text = problem.ruled
    assert "[plan-capacity] eu/p" in text
    assert "1 of m" in text
    assert "5 GPUs asked" in text
    assert "2 nodes of 2 GPUs" in text
    assert "raise the pool's max" in text


@pytest.mark.parametrize(
    ("weights_gib", "per_second", "seconds"),
    [
        # 2 x 16 / 0.5 + 120 = 184, in whole periods of 10.
        (16.0, 0.5, 190),
        # 2 x 15 / 0.5 + 120 = 180, which is whole already.
        (15.0, 0.5, 180),
        (15.0, 1.0, 150),
        (0.0, 0.5, 120),
        (0.001, 0.5, 130),
    ],
)
def test_a_replica_may_read_at_half_the_bandwidth_before_it_answers(
    weights_gib: float, per_second: float, seconds: int
) -> None:
    """Replicas that start together share the volume; a probe that kills them starts a loop."""
    contract = (
        catalog()
        .engines["0.33.0"]
        .model_copy(update={"load_gib_per_sec": per_second, "startup_overhead_sec": 120})
    )
    assert startup_seconds(round(weights_gib * 2**30), contract) == seconds


def waits(replicas: int, most: int | None) -> tuple[int, int, int]:
    """Return weight bytes, start-up and rollout of a model with so many replicas."""

    def change(settings: dict[str, Any]) -> None:
        settings["models"] = [{"model": "qwen3-8b", "pool": "gpu-l4-pool", "replicas": replicas}]
        if most is not None:
            settings["rollout"] = {"wait_max_sec": most}

    (model,) = dev_plan(change).regions[0].models
    return model.weight_bytes, model.startup_sec, model.rollout_sec


def test_a_rollout_waits_for_one_replica_after_the_other() -> None:
    """A StatefulSet starts the next pod when the one before is ready; five minutes go before."""
    contract = catalog().engines["0.33.0"]
    weights, startup, rollout = waits(3, None)
    plain = 2 * weights / 2**30 / contract.load_gib_per_sec + contract.startup_overhead_sec
    assert startup - 10 < plain <= startup
    assert startup % 10 == 0
    assert rollout == 3 * startup + 300
    assert waits(1, None)[2] == startup + 300


def test_a_rollout_waits_no_longer_than_the_settings_say() -> None:
    whole = waits(2, None)[2]
    assert waits(2, whole - 1)[2] == whole - 1
    assert waits(2, whole + 1)[2] == whole
