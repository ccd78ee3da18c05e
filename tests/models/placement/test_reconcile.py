"""From what runs to a preset: steps that hold at every moment, and as few moves as there can be."""

import random
from collections.abc import Iterator, Sequence

import pytest

from models.placement.place import Gpu, PlacedInstance, PlacementDemand, Strategy, place
from models.placement.reconcile import Reconciliation, reconcile
from tests.helpers.models.placements import RESERVE_GIB, instance, need, room, spots

pytestmark = pytest.mark.pure


def live_instance(seed: int) -> tuple[list[Gpu], list[PlacementDemand], list[PlacedInstance]]:
    """Return GPUs, a preset, and what runs: some models are unwanted, some are missing."""
    chance = random.Random(seed)
    gpus, demands = instance(seed, small=True)
    demands = demands[:6]
    running = place(gpus, demands, Strategy.MAXIMIZE_MODELS, RESERVE_GIB).placed
    kept = [each for each in running if chance.random() < 0.7]
    wanted = [each for each in demands if chance.random() < 0.8] + [
        PlacementDemand(name="new", gib={gpu.kind: round(chance.uniform(2, 9), 2) for gpu in gpus})
    ]
    return gpus, wanted, kept


def replay(
    gpus: Sequence[Gpu],
    demands: Sequence[PlacementDemand],
    live: Sequence[PlacedInstance],
    way: Reconciliation,
) -> dict[str, tuple[str, ...]]:
    """Carry the steps out; fails where a GPU is over its memory at any moment."""
    by_name = {gpu.name: gpu for gpu in gpus}
    wanted = {demand.name: demand for demand in demands}
    sizes = {each.model: round(each.gib * 1024) for each in live}
    now = {each.model: each.gpus for each in live}
    free = {gpu.name: room(gpu) for gpu in gpus}

    def take(model: str, names: Sequence[str], sign: int) -> None:
        for name in names:
            size = need(wanted[model], by_name[name]) if model in wanted else sizes[model]
            free[name] -= sign * size
            assert free[name] >= 0, f"{model} overfills {name}"

    for model, names in now.items():
        take(model, names, 1)
    for step in way.actions:
        if step.action != "unload":
            take(step.model, step.to_gpus, 1)
        if step.action != "load":
            assert now.pop(step.model) == step.from_gpus
            take(step.model, step.from_gpus, -1)
        if step.action != "unload":
            now[step.model] = step.to_gpus
    return now


def all_ends(
    gpus: Sequence[Gpu], demands: Sequence[PlacementDemand], live: dict[str, tuple[str, ...]]
) -> Iterator[tuple[int, int]]:
    """Yield (models placed, moves) of every end in which nothing that runs is dropped."""

    def step(at: int, free: list[int], placed: int, moves: int) -> Iterator[tuple[int, int]]:
        if at == len(demands):
            yield placed, moves
            return
        demand = demands[at]
        for chosen in spots(demand, gpus, free):
            left = list(free)
            for number in chosen:
                left[number] -= need(demand, gpus[number])
            names = tuple(gpus[number].name for number in chosen)
            moved = demand.name in live and set(live[demand.name]) != set(names)
            yield from step(at + 1, left, placed + 1, moves + moved)
        if demand.name not in live:
            yield from step(at + 1, free, placed, moves)

    yield from step(0, [room(gpu) for gpu in gpus], 0, 0)


@pytest.mark.parametrize("part", range(4))
def test_steps_hold_and_moves_are_the_fewest(part: int) -> None:
    """A move interrupts somebody's requests: none is made that need not be."""
    for seed in range(part * 25, part * 25 + 25):
        gpus, demands, live = live_instance(seed)
        way = reconcile(gpus, demands, live, Strategy.MAXIMIZE_MODELS, RESERVE_GIB)
        ended = replay(gpus, demands, live, way)
        assert ended == {each.model: each.gpus for each in way.placement.placed}, seed
        wanted = {demand.name for demand in demands}
        running = {each.model: each.gpus for each in live if each.model in wanted}
        moves = sum(
            step.action == "move" or (step.action == "load" and step.interrupted)
            for step in way.actions
        )
        most = max(placed for placed, _ in all_ends(gpus, demands, running))
        fewest = min(m for placed, m in all_ends(gpus, demands, running) if placed == most)
        assert (len(way.placement.placed), moves) == (most, fewest), seed


@pytest.mark.parametrize("strategy", Strategy)
def test_a_preset_that_runs_already_needs_no_step(strategy: Strategy) -> None:
    """Applied twice, nothing happens the second time."""
    for seed in range(30):
        gpus, demands, live = live_instance(seed)
        way = reconcile(gpus, demands, live, strategy, RESERVE_GIB)
        again = reconcile(gpus, demands, way.placement.placed, strategy, RESERVE_GIB)
        assert again.actions == (), seed
        assert again.placement.placed == way.placement.placed


def l4s(count: int) -> list[Gpu]:
    """Return L4s of one node."""
    return [
        Gpu(name=f"a/{number}", node="a", kind="l4", memory_gib=22.2) for number in range(count)
    ]


def of(name: str, gib: float, tensor: int = 1) -> PlacementDemand:
    """Return a demand on L4s."""
    return PlacementDemand(name=name, tensor=tensor, gib={"l4": gib})


def at(name: str, *gpus: str, gib: float = 1.0) -> PlacedInstance:
    """Return a running model."""
    return PlacedInstance(model=name, gpus=gpus, gib=gib)


def test_a_circle_is_cut_by_stopping_one_model() -> None:
    """Two models that must change places have no room beside each other."""
    gpus = [
        Gpu(name="a/0", node="a", kind="l4", memory_gib=22.2),
        Gpu(name="b/0", node="b", kind="t4", memory_gib=14.7),
    ]
    demands = [
        PlacementDemand(name="x", gib={"l4": 20.0, "t4": 12.0}),
        PlacementDemand(name="y", gib={"l4": 12.0, "t4": 12.0}),
        PlacementDemand(name="z", gib={"l4": 9.0}),
    ]
    live = [at("x", "a/0"), at("y", "b/0")]
    way = reconcile(gpus, demands, live, Strategy.MAXIMIZE_MODELS)
    assert [(step.action, step.model, step.interrupted) for step in way.actions] == [
        ("unload", "x", True),
        ("move", "y", False),
        ("load", "x", True),
        ("load", "z", False),
    ]
    assert not way.placement.unplaced


def test_what_runs_otherwise_than_wanted_is_reloaded() -> None:
    """A model that the preset now splits over two GPUs cannot stay as it is."""
    demand = of("m", 8.0, tensor=2)
    way = reconcile(l4s(2), [demand], [at("m", "a/0")], Strategy.BALANCED)
    assert [step.action for step in way.actions] == ["unload", "load"]
    assert "reloaded" in way.notes[0]


def test_a_gpu_that_is_gone_loses_its_models_to_others() -> None:
    way = reconcile(l4s(1), [of("m", 8.0)], [at("m", "lost/0")], Strategy.BALANCED)
    assert [step.action for step in way.actions] == ["unload", "load"]


def test_a_running_model_is_not_dropped_for_two_that_are_not() -> None:
    demands = [of("big", 20.0), of("one", 10.0), of("two", 10.0)]
    way = reconcile(l4s(1), demands, [at("big", "a/0", gib=20)], Strategy.MAXIMIZE_MODELS)
    assert way.actions == ()
    assert [each.model for each in way.placement.unplaced] == ["one", "two"]
