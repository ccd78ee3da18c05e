"""Placing many models on given GPUs, judged by first-fit decreasing and an exact solver."""

import pytest

from models.architecture import architecture
from models.engine.profiles import EngineOverrides
from models.placement.files import gpu_rows
from models.placement.needs import need_gib
from models.placement.place import Gpu, PlacementDemand, Strategy, place
from tests.helpers.models.placements import (
    RESERVE_GIB,
    Exact,
    first_fit_decreasing,
    instance,
    overfull,
)
from tests.helpers.plans.dev import catalog

pytestmark = pytest.mark.pure

TOLERANCE = 1e-9


def gpus(*specs: tuple[str, str, float, int]) -> list[Gpu]:
    """Return GPUs of (node, kind, GiB, count)."""
    return [
        Gpu(name=f"{node}/{number}", node=node, kind=kind, memory_gib=gib)
        for node, kind, gib, count in specs
        for number in range(count)
    ]


def is_small(seed: int) -> bool:
    """Tell which of the 500 are small enough for the exact solver: four of five."""
    return seed % 5 != 0


@pytest.mark.parametrize("part", range(10))
def test_500_random_placements_hold_against_both_judges(part: int) -> None:
    """Never over memory, never worse than first-fit decreasing, within 5 % of the optimum."""
    for seed in range(part * 50, part * 50 + 50):
        strategy = list(Strategy)[(seed // 5) % 2]
        cards, demands = instance(seed, small=is_small(seed))
        found = place(cards, demands, strategy, RESERVE_GIB)
        assert overfull(found, cards, demands) == [], seed
        count, height = first_fit_decreasing(cards, demands)
        assert len(found.placed) >= count, f"{seed}: first-fit decreasing places {count}"
        balanced = strategy is Strategy.BALANCED
        if balanced and len(found.placed) == count:
            assert found.peak_share <= height + TOLERANCE, seed
        if is_small(seed):
            most, lowest = Exact(gpus=cards, demands=demands, balanced=balanced).solve()
            assert len(found.placed) >= 0.95 * most, seed
            if balanced and len(found.placed) == most:
                assert found.peak_share <= 1.05 * lowest + TOLERANCE, seed
            assert not found.proven or len(found.placed) == most, "proven, yet not the optimum"


def test_the_same_input_gives_the_same_placement() -> None:
    """A placement that changes from run to run would move models for nothing."""
    cards, demands = instance(7, small=False)
    first = place(cards, demands, Strategy.BALANCED)
    assert place(cards, demands, Strategy.BALANCED) == first


def test_very_many_models_and_none_at_all_are_placed() -> None:
    """The search is as deep as there are models; Python's stack is not."""
    cards = gpus(("a", "l4", 22.2, 8))
    many = [PlacementDemand(name=f"m{number}", gib={"l4": 0.4}) for number in range(700)]
    assert len(place(cards, many, Strategy.MAXIMIZE_MODELS).placed) == 8 * 54
    assert place(cards, [], Strategy.BALANCED).placed == ()
    assert len(place([], many[:2], Strategy.BALANCED).unplaced) == 2


def test_a_tensor_parallel_model_stays_on_one_node() -> None:
    """Two GPUs on two nodes are not two GPUs for NCCL's purposes."""
    apart = gpus(("a", "l4", 22.2, 1), ("b", "l4", 22.2, 1))
    pair = PlacementDemand(name="pair", tensor=2, gib={"l4": 5.0})
    left = place(apart, [pair], Strategy.MAXIMIZE_MODELS).unplaced[0]
    assert left.reason == "it spans 2 GPUs of one node and kind, and no node has over 1"
    together = gpus(("a", "l4", 22.2, 1), ("b", "l4", 22.2, 2))
    assert place(together, [pair], Strategy.BALANCED).placed[0].gpus == ("b/0", "b/1")


def test_a_tensor_parallel_model_does_not_mix_kinds() -> None:
    mixed = gpus(("a", "l4", 22.2, 1), ("a", "t4", 14.7, 1))
    pair = PlacementDemand(name="pair", tensor=2, gib={"l4": 5.0, "t4": 5.0})
    assert place(mixed, [pair], Strategy.MAXIMIZE_MODELS).unplaced


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        (
            PlacementDemand(name="m", gib={"l4": 5.0}, kinds=("h100",)),
            "l4 is not among its kinds (h100)",
        ),
        (PlacementDemand(name="m", gib={"l4": 5.0}, min_vram_gib=40.0), "at least 40 are wanted"),
        (
            PlacementDemand(name="m", gib={"l4": 30.0}),
            "it needs 30.00 GiB, and no GPU open to it has over",
        ),
        (
            PlacementDemand(name="m", gib={"t4": 5.0}, refused={"l4": "no kernels"}),
            "l4: no kernels",
        ),
        (PlacementDemand(name="m", gib={}), "what it takes of l4 is not known"),
    ],
)
def test_a_model_without_a_place_says_why(demand: PlacementDemand, reason: str) -> None:
    found = place(gpus(("a", "l4", 22.2, 1)), [demand], Strategy.MAXIMIZE_MODELS)
    assert reason in found.unplaced[0].reason


def test_a_full_floor_says_what_is_left() -> None:
    many = [PlacementDemand(name=f"m{n}", gib={"l4": 12.0}) for n in range(3)]
    found = place(gpus(("a", "l4", 22.2, 2)), many, Strategy.MAXIMIZE_MODELS)
    assert found.unplaced[0].reason == "it needs 12.00 GiB; 9.70 GiB are left after the others"


def test_balanced_levels_what_maximize_may_pile_up() -> None:
    four = [PlacementDemand(name=f"m{n}", gib={"l4": 5.0}) for n in range(4)]
    found = place(gpus(("a", "l4", 22.2, 2)), four, Strategy.BALANCED)
    assert [len(gpu.models) for gpu in found.gpus] == [2, 2]


def test_the_memory_model_gives_the_need_and_the_bar() -> None:
    """The need grows with requests; what the card or the split forbids is said, not placed."""
    model = catalog().models["qwen3-8b"]
    shapes, contract = architecture(model.config), catalog().engines["0.33.0"]

    def need(card: str, tensor: int, concurrency: int) -> float | str:
        return need_gib(
            model.entry,
            shapes,
            catalog().accelerators[card],
            contract,
            tensor=tensor,
            overrides=EngineOverrides(max_model_len=4096),
            concurrency=concurrency,
        )

    one, eight, split = need("l4", 1, 1), need("l4", 1, 8), need("l4", 2, 1)
    assert isinstance(one, float)
    assert isinstance(eight, float)
    assert isinstance(split, float)
    assert eight - one == pytest.approx(7 * 0.28, abs=0.03), "72 KiB a token in FP8 x 4096 tokens"
    assert 15.3 < one < 18.5
    assert split < 0.65 * one
    assert "cannot be split over 3 GPUs" in str(need("l4", 3, 1))
    assert "needs compute capability" in str(need("v100-16gb", 1, 1))


def test_gpus_are_named_by_node_on_the_command_line() -> None:
    rows = gpu_rows(["4xl4, big=8xh100-80gb", "RTX A2000"])
    assert [(row.node, row.kind, row.count) for row in rows] == [
        ("node-1", "l4", 4),
        ("big", "h100-80gb", 8),
        ("node-3", "RTX A2000", 1),
    ]
    with pytest.raises(ValueError, match="COUNTxKIND"):
        gpu_rows(["4xl4,"])
