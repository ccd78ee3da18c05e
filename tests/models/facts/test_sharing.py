"""Sharing cards: what a slice is to the plan, and what is refused on shares (GPUO-04)."""

from collections.abc import Callable
from typing import Any

import pytest

from components.render.charts.gpu import gpu_operator
from components.render.engine import workload as engine
from models.core.problems import ProblemsError
from models.facts.sharing import (
    Mig,
    MigStrategy,
    TimeSlicing,
    gpu_resource,
    sharing_labels,
    slices_of,
)
from models.plan.accelerator_nodes import Operand, brought, node_labels, wanted
from models.plan.plan import PlannedRegion
from sandbox.cluster.pools import nodes_of
from tests.helpers.plans.dev import catalog, dev_plan

pytestmark = pytest.mark.pure

Change = Callable[[dict[str, Any]], None]


def pools(**changes: Any) -> Change:
    """Return a change that makes dev's L4 pool one of A100s, with these keys."""

    def change(settings: dict[str, Any]) -> None:
        pool = settings["regions"][0]["pools"][1]
        pool.update(accelerator="a100-80gb", instance_type="p4de.24xlarge", **changes)

    return change


def region(change: Change) -> PlannedRegion:
    """Return dev's region after a change."""
    return dev_plan(change).regions[0]


def refused(change: Change) -> str:
    """Return why a plan is refused."""
    with pytest.raises(ProblemsError) as error:
        dev_plan(change)
    return str(error.value)


SLICED = pools(sharing={"kind": "mig", "profile": "3g.40gb"})


def test_a_slice_is_a_card_of_its_own_to_the_plan() -> None:
    """The budget uses the slice's memory, and the scheduler counts slices."""
    planned = region(SLICED)
    pool, model = planned.pools[1], planned.models[1]
    assert pool.accelerator is not None
    assert (pool.accelerator.name, pool.accelerator.memory_gib) == ("a100-80gb-mig-3g-40gb", 39.25)
    assert pool.shape.gpus == 16, "eight cards of two slices"
    assert model.budget.requested_gib is not None
    assert model.budget.requested_gib < 39.25
    whole = region(pools()).models[1].budget.kv_cache_tokens
    assert whole is not None
    assert (model.budget.kv_cache_tokens or 0) < whole


def test_a_model_that_fits_the_card_and_not_its_slice_is_refused() -> None:
    """qwen3-8b takes 16 GiB of weights."""
    text = refused(pools(sharing={"kind": "mig", "profile": "1g.10gb"}))
    assert "local/qwen3-8b" in text
    assert "plan-memory" in text


def test_the_pods_resource_follows_the_strategy() -> None:
    mixed = pools(sharing={"kind": "mig", "profile": "3g.40gb", "strategy": "mixed"})
    for change, name in ((SLICED, "nvidia.com/gpu"), (mixed, "nvidia.com/mig-3g.40gb")):
        spec: Any = engine.stateful_set(region(change).models[1])
        limits = spec["template"]["spec"]["containers"][0]["resources"]["limits"]
        assert limits[name] == "1"
        assert len([key for key in limits if key.startswith("nvidia.com/")]) == 1


def test_ranks_over_slices_or_turns_are_refused() -> None:
    """GPUO-04: a process sees one slice only; turns of a card are the same card."""
    for sharing in ({"kind": "mig", "profile": "3g.40gb"}, {"kind": "time-slicing", "replicas": 2}):

        def change(settings: dict[str, Any], sharing: dict[str, Any] = sharing) -> None:
            pools(sharing=sharing)(settings)
            settings["models"][1]["parallelism"] = {"tensor": 2}
            settings["models"][1]["engine"] = {"gpu_memory_utilization": 0.47}

        text = refused(change)
        assert "cannot be parallel ranks" in text
        assert "place the model on a pool that does not share" in text


def test_turns_may_not_claim_more_than_the_card_together() -> None:
    """Without isolation the second engine finds the memory taken, and dies at its start."""
    half = pools(sharing={"kind": "time-slicing", "replicas": 2})
    text = refused(half)
    assert "at most 0.47" in text

    def fitting(settings: dict[str, Any]) -> None:
        half(settings)
        settings["models"][1]["engine"] = {"gpu_memory_utilization": 0.47}

    assert region(fitting).pools[1].shape.gpus == 16


@pytest.mark.parametrize(
    ("sharing", "said"),
    [
        ({"kind": "mig", "profile": "3g.20gb"}, "allowed: 1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb"),
        ({"kind": "mig", "profile": "huge"}, "profile"),
        ({"kind": "time-slicing", "replicas": 1}, "greater than or equal to 2"),
        ({"kind": "mps"}, "sharing"),
    ],
)
def test_what_has_no_source_is_not_offered(sharing: dict[str, Any], said: str) -> None:
    assert said in refused(pools(sharing=sharing))


def test_a_card_that_cannot_be_cut_is_refused() -> None:
    def change(settings: dict[str, Any]) -> None:
        sharing = {"kind": "mig", "profile": "1g.5gb"}
        settings["regions"][0]["pools"][1]["sharing"] = sharing

    assert "l4 cannot be cut into MIG slices" in refused(change)


def test_a_pool_without_gpus_has_nothing_to_share() -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["pools"][2]["sharing"] = {"kind": "time-slicing", "replicas": 2}

    assert "has no accelerator to share" in refused(change)


def test_every_slice_of_the_catalog_is_smaller_than_its_card() -> None:
    """A slip of a digit would let a model through that finds no memory."""
    cut = 0
    for card in catalog().accelerators.values():
        for profile, part in zip(card.mig_profiles, slices_of(card), strict=True):
            cut += 1
            assert card.mig
            assert card.mig_source
            assert profile.memory_gib * profile.instances <= card.memory_gib
            assert profile.sm_count * profile.instances <= card.sm_count
            assert profile.memory_gib <= float(profile.name.split(".")[1].removesuffix("gb"))
            assert catalog().accelerator_of(part.name) == part
            assert catalog().accelerator_of(part.product) == part
    assert cut >= 12


def test_node_labels_and_the_plugins_configuration_agree() -> None:
    """A label that names a configuration which is not there leaves the node without GPUs."""
    for sharing in (
        Mig(kind="mig", profile="3g.40gb"),
        Mig(kind="mig", profile="3g.40gb", strategy=MigStrategy.MIXED),
        TimeSlicing(kind="time-slicing", replicas=2),
    ):

        def change(settings: dict[str, Any], sharing: Mig | TimeSlicing = sharing) -> None:
            pools(sharing=sharing.model_dump(mode="json"))(settings)
            settings["models"] = settings["models"][:1]

        plan = dev_plan(change)
        values = gpu_operator(plan, plan.regions[0])
        config = values["devicePlugin"]["config"]
        label = sharing_labels(sharing)["nvidia.com/device-plugin.config"]
        assert label in config["data"]
        assert config["default"] in config["data"]
        assert values["migManager"]["enabled"] is isinstance(sharing, Mig)
        labels = node_labels(plan.regions[0], plan.regions[0].pools[1])
        assert sharing_labels(sharing).items() <= labels.items()


def test_the_sandbox_shows_slices_and_turns_as_the_operator_would() -> None:
    plan = dev_plan(SLICED)
    (node, *_) = [
        each for each in nodes_of(plan.regions[0].settings, catalog()) if "l4" in each.name
    ]
    assert node.gpu is not None
    assert (node.gpu.count, node.gpu.resource) == (16, gpu_resource(None))
    assert node.gpu.product == "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb"
    assert node.labels["nvidia.com/mig.config"] == "all-3g.40gb"


@pytest.mark.parametrize(
    ("software", "operands"),
    [
        ("host", {Operand.DRIVER, Operand.TOOLKIT}),
        ("driver", {Operand.DRIVER}),
        ("none", set[Operand]()),
    ],
)
def test_the_operator_adds_what_the_machines_lack(software: str, operands: set[Operand]) -> None:
    """GPUO-01 on an existing cluster: its owner says what the machines bring."""

    def change(settings: dict[str, Any]) -> None:
        for pool in settings["regions"][0]["pools"][:2]:
            pool["gpu_software"] = software

    plan = dev_plan(change)
    gpu_pools = plan.regions[0].pools[:2]
    assert brought(gpu_pools[0]) == operands
    values = gpu_operator(plan, plan.regions[0])
    assert values["driver"]["enabled"] is (Operand.DRIVER not in operands)
    assert values["toolkit"]["enabled"] is (Operand.TOOLKIT not in operands)
    assert values["devicePlugin"]["enabled"] is wanted(Operand.DEVICE_PLUGIN, gpu_pools)
    assert not [key for key in node_labels(plan.regions[0], gpu_pools[0]) if "deploy" in key]


def test_where_pools_differ_their_nodes_say_what_they_bring() -> None:
    """One switch for all would install a second driver, or leave a node without one."""

    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["pools"][0]["gpu_software"] = "none"

    plan = dev_plan(change)
    bare, ready = plan.regions[0].pools[:2]
    assert gpu_operator(plan, plan.regions[0])["driver"]["enabled"] is True
    assert node_labels(plan.regions[0], ready)["nvidia.com/gpu.deploy.driver"] == "false"
    assert "nvidia.com/gpu.deploy.driver" not in node_labels(plan.regions[0], bare)


def test_every_taint_of_every_gpu_pool_is_tolerated_in_all_places() -> None:
    """GPUO-02: the operator, its operands and feature discovery's worker."""

    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["pools"][1]["taints"] = [{"key": "team", "value": "ml"}]

    plan = dev_plan(change)
    values = gpu_operator(plan, plan.regions[0])
    for place in (
        values["operator"],
        values["daemonsets"],
        values["node-feature-discovery"]["worker"],
    ):
        keys = {(each["key"], each.get("value")) for each in place["tolerations"]}
        assert {("nvidia.com/gpu", "present"), ("team", "ml")} <= keys
