"""From a live placement to a preset: what to unload, move and load, with the fewest moves.

What runs and is still wanted stays where it is; a move is only made where a model would find no
place otherwise. Subsets of what could move are tried by size, so the first that works has the
fewest moves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Final, Literal

from models.core.base import Model
from models.placement.packing import Item, Packed, Spot, free_after, need_at
from models.placement.place import (
    Gpu,
    GpuInventory,
    PlacedInstance,
    Placement,
    PlacementDemand,
    Strategy,
    described,
    inventory_of,
)
from models.placement.search import pack

_SUBSETS: Final = 600
"""Subsets of movable models tried before the best found so far is taken."""

_NODES: Final = 3_000


class Action(Model):
    """One step. A move starts the model on its new GPUs before it stops on the old ones.

    `interrupted`: there is no room for that, so the model is unloaded and loaded again later.
    """

    action: Literal["unload", "move", "load"]
    model: str
    from_gpus: tuple[str, ...] = ()
    to_gpus: tuple[str, ...] = ()
    interrupted: bool = False


class Reconciliation(Model):
    """Steps in an order that never overfills a GPU, and the placement that they lead to."""

    actions: tuple[Action, ...]
    kept: tuple[str, ...]
    placement: Placement
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class _Work:
    """Demands with where they are now; `stays` may remain there."""

    inventory: GpuInventory
    demands: Sequence[PlacementDemand]
    items: list[Item]
    stays: dict[int, Spot] = field(default_factory=dict[int, Spot])
    gone: list[PlacedInstance] = field(default_factory=list[PlacedInstance])
    notes: list[str] = field(default_factory=list[str])


def reconcile(
    gpus: Sequence[Gpu],
    demands: Sequence[PlacementDemand],
    live: Sequence[PlacedInstance],
    strategy: Strategy,
    reserve_gib: float = 0.5,
) -> Reconciliation:
    """Return the way from `live` to all of `demands`; what runs and is wanted is never dropped."""
    work = _sorted_out(inventory_of(gpus, reserve_gib), demands, live)
    spots, proven = _fewest_moves(work, balanced=strategy is Strategy.BALANCED)
    actions = [Action(action="unload", model=each.model, from_gpus=each.gpus) for each in work.gone]
    actions += _ordered(work, spots)
    kept = [demands[i].name for i, spot in work.stays.items() if spots[i] == spot]
    return Reconciliation(
        actions=tuple(actions),
        kept=tuple(kept),
        placement=described(work.inventory, demands, spots, strategy, proven=proven),
        notes=tuple(work.notes),
    )


def _sorted_out(
    inventory: GpuInventory, demands: Sequence[PlacementDemand], live: Sequence[PlacedInstance]
) -> _Work:
    """Split what runs into what may stay and what must go (unwanted, or placed impossibly)."""
    items = [inventory.item(demand) for demand in demands]
    work = _Work(inventory=inventory, demands=demands, items=items)
    numbers = {gpu.name: index for index, gpu in enumerate(inventory.gpus)}
    wanted = {demand.name: index for index, demand in enumerate(demands)}
    for each in live:
        index = wanted.get(each.model)
        spot = tuple(sorted(numbers[gpu] for gpu in each.gpus if gpu in numbers))
        if index is None or index in work.stays:
            work.gone.append(each)
        elif len(spot) != len(each.gpus) or not _possible(inventory, items[index], spot):
            work.gone.append(each)
            work.notes.append(f"{each.model} does not run as the preset wants it: it is reloaded")
        else:
            work.stays[index] = spot
    return work


def _possible(inventory: GpuInventory, item: Item, spot: Spot) -> bool:
    groups = zip(inventory.space.groups, item.needs, strict=True)
    return len(spot) == item.tensor and any(
        need is not None and set(spot) <= set(group) for group, need in groups
    )


def _subsets(work: _Work) -> Iterator[tuple[int, ...]]:
    """Yield the sets of running models that could move, fewest first, small models first."""
    movable = sorted(work.stays, key=lambda index: work.items[index].least)
    for count in range(len(movable) + 1):
        yield from combinations(movable, count)


def _fewest_moves(work: _Work, *, balanced: bool) -> tuple[list[Spot | None], bool]:
    """Return where everything goes; of placements with as many models the one of fewest moves."""
    most = pack(work.inventory.space, work.items, nodes=_NODES)
    best: Packed | None = None
    for moved in islice(_subsets(work), _SUBSETS):
        found = _with_moves(work, moved, balanced=balanced)
        if found is not None and (best is None or found.count > best.count):
            best = found
        if best is not None and best.count >= most.count:
            return best.spots, most.proven
    if best is None:
        work.notes.append("no order of moves was found that keeps all running models")
        return most.spots, False
    return best.spots, False


def _with_moves(work: _Work, moved: tuple[int, ...], *, balanced: bool) -> Packed | None:
    """Return the packing in which exactly `moved` may leave, or None where one finds no place."""
    spots: list[Spot | None] = [
        spot if (spot := work.stays.get(i)) is not None and i not in moved else None
        for i in range(len(work.items))
    ]
    free = free_after(work.inventory.space, work.items, spots)
    if min(free, default=0) < 0:
        return None
    loose = [i for i, spot in enumerate(spots) if spot is None]
    items = [work.items[i] for i in loose]
    packed = pack(work.inventory.space, items, balanced=balanced, free=free, nodes=_NODES)
    for i, spot in zip(loose, packed.spots, strict=True):
        spots[i] = spot
    if any(spots[i] is None for i in moved):
        return None
    return Packed(spots=spots, proven=packed.proven)


def _ordered(work: _Work, spots: Sequence[Spot | None]) -> list[Action]:
    """Order moves and loads so that each has room; a circle of moves is cut by stopping one."""
    now: dict[int, Spot] = dict(work.stays)
    pending = [i for i, spot in enumerate(spots) if spot is not None and now.get(i) != spot]
    pending.sort(key=lambda index: (index not in now, index))
    stopped: set[int] = set()
    actions: list[Action] = []
    while pending:
        held = [now.get(i) for i in range(len(work.items))]
        free = free_after(work.inventory.space, work.items, held)
        ready = next((i for i in pending if _has_room(work, i, spots[i], free)), None)
        if ready is None:
            cut = next(i for i in pending if i in now and i not in stopped)
            actions.append(_action(work, cut, now.pop(cut), None, interrupted=True))
            stopped.add(cut)
            continue
        again = ready in stopped
        actions.append(_action(work, ready, now.get(ready), spots[ready], interrupted=again))
        now[ready] = spots[ready] or ()
        pending.remove(ready)
    return actions


def _has_room(work: _Work, index: int, spot: Spot | None, free: Sequence[int]) -> bool:
    target = spot or ()
    need = need_at(work.inventory.space, work.items[index], target)
    return all(free[gpu] >= need for gpu in target)


def _action(
    work: _Work, index: int, source: Spot | None, target: Spot | None, *, interrupted: bool
) -> Action:
    gpus = work.inventory.gpus
    kind: Literal["unload", "move", "load"] = "move"
    if source is None or target is None:
        kind = "load" if source is None else "unload"
    return Action(
        action=kind,
        model=work.demands[index].name,
        from_gpus=tuple(gpus[gpu].name for gpu in source or ()),
        to_gpus=tuple(gpus[gpu].name for gpu in target or ()),
        interrupted=interrupted,
    )
