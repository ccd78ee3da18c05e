"""Random placements, and two judges of them: first-fit decreasing, and an exact solver."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from models.placement.place import Gpu, Placement, PlacementDemand

RESERVE_GIB: Final = 0.5
CARDS: Final = {"small": 11.63, "middle": 22.2, "large": 79.2}


def instance(seed: int, *, small: bool) -> tuple[list[Gpu], list[PlacementDemand]]:
    """Return GPUs and demands: mixed cards and nodes, tensor parallelism, kinds, minimum VRAM."""
    chance = random.Random(seed)
    gpus: list[Gpu] = []
    for node in range(chance.randint(1, 3 if small else 5)):
        kind = chance.choice(list(CARDS))
        for number in range(chance.choice([1, 2] if small else [1, 2, 4])):
            name = f"n{node}/{number}"
            gpus.append(Gpu(name=name, node=f"n{node}", kind=kind, memory_gib=CARDS[kind]))
    count = chance.randint(2, 8) if small else chance.randint(8, 30)
    return gpus, [_demand(chance, f"m{number}") for number in range(count)]


def _demand(chance: random.Random, name: str) -> PlacementDemand:
    size = round(chance.choice([chance.uniform(1, 10), chance.uniform(5, 40)]), 2)
    return PlacementDemand(
        name=name,
        tensor=chance.choice([1, 1, 1, 1, 2, 2, 4]),
        gib={kind: size for kind in CARDS if chance.random() < 0.95} or {"large": size},
        kinds=None if chance.random() < 0.8 else tuple(chance.sample(list(CARDS), 2)),
        min_vram_gib=None if chance.random() < 0.8 else chance.choice([12.0, 24.0]),
    )


def spots(
    demand: PlacementDemand, gpus: Sequence[Gpu], free: Sequence[float]
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of GPUs that a demand may take: of one node and kind, with room."""
    fits = [
        number
        for number, gpu in enumerate(gpus)
        if gpu.kind in demand.gib
        and (demand.kinds is None or gpu.kind in demand.kinds)
        and (demand.min_vram_gib is None or gpu.memory_gib >= demand.min_vram_gib)
        and need(demand, gpu) <= free[number]
    ]
    for chosen in combinations(fits, demand.tensor):
        if len({(gpus[each].node, gpus[each].kind) for each in chosen}) == 1:
            yield chosen


def need(demand: PlacementDemand, gpu: Gpu) -> int:
    """Return the MiB that a demand takes of a GPU."""
    return math.ceil(demand.gib[gpu.kind] * 1024)


def room(gpu: Gpu) -> int:
    """Return the MiB of a GPU beside the reserve."""
    return math.floor((gpu.memory_gib - RESERVE_GIB) * 1024)


def overfull(
    placement: Placement, gpus: Sequence[Gpu], demands: Sequence[PlacementDemand]
) -> list[str]:
    """Return what a placement breaks, told from its words alone."""
    wrong: list[str] = []
    by_name = {gpu.name: gpu for gpu in gpus}
    wanted = {demand.name: demand for demand in demands}
    used = dict.fromkeys(by_name, 0)
    for each in placement.placed:
        demand, where = wanted[each.model], [by_name[name] for name in each.gpus]
        if len(set(each.gpus)) != demand.tensor or len({(g.node, g.kind) for g in where}) != 1:
            wrong.append(f"{each.model} on {each.gpus}")
        for gpu in where:
            used[gpu.name] += need(demand, gpu)
            if demand.kinds is not None and gpu.kind not in demand.kinds:
                wrong.append(f"{each.model} on {gpu.kind}")
            if gpu.memory_gib < (demand.min_vram_gib or 0):
                wrong.append(f"{each.model} on {gpu.memory_gib} GiB")
    wrong += [name for name, mib in used.items() if mib > room(by_name[name])]
    both = sorted(each.model for each in (*placement.placed, *placement.unplaced))
    if both != sorted(wanted):
        wrong.append("a model is lost or doubled")
    return wrong


def first_fit_decreasing(
    gpus: Sequence[Gpu], demands: Sequence[PlacementDemand]
) -> tuple[int, float]:
    """Return how many models first-fit decreasing places, and the peak share of a GPU."""
    free = [room(gpu) for gpu in gpus]
    placed = 0
    for demand in sorted(demands, key=lambda each: -max(each.gib.values()) * each.tensor):
        found = next(spots(demand, gpus, free), None)
        if found is not None:
            placed += 1
            for number in found:
                free[number] -= need(demand, gpus[number])
    return placed, peak(gpus, free)


def peak(gpus: Sequence[Gpu], free: Sequence[float]) -> float:
    """Return the largest share in use."""
    return max(1 - left / room(gpu) for left, gpu in zip(free, gpus, strict=True))


@dataclass(kw_only=True)
class Exact:
    """The optimum by trying everything: most models, then the lowest peak if `balanced`."""

    gpus: Sequence[Gpu]
    demands: Sequence[PlacementDemand]
    balanced: bool
    best: tuple[int, float] = (-1, -2.0)
    seen: set[tuple[int, int, tuple[int, ...]]] = field(
        default_factory=set[tuple[int, int, tuple[int, ...]]]
    )

    def solve(self) -> tuple[int, float]:
        """Return models placed and, if balanced, the peak (else 0)."""
        self.demands = sorted(self.demands, key=lambda each: -max(each.gib.values()) * each.tensor)
        self._try(0, 0, [room(gpu) for gpu in self.gpus])
        return self.best[0], -self.best[1]

    def _try(self, at: int, placed: int, free: list[int]) -> None:
        value = -peak(self.gpus, free) if self.balanced else 0.0
        if (placed + len(self.demands) - at, value) <= self.best:
            return
        key = (at, placed, tuple(free))
        if key in self.seen:
            return
        self.seen.add(key)
        if at == len(self.demands):
            self.best = (placed, value)
            return
        demand = self.demands[at]
        for chosen in spots(demand, self.gpus, free):
            left = list(free)
            for number in chosen:
                left[number] -= need(demand, self.gpus[number])
            self._try(at + 1, placed + 1, left)
        self._try(at + 1, placed, free)
