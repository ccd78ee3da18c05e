"""Packing items onto GPUs: what is packed, greedy starts, and their repair.

Sizes are whole MiB, so that nothing is over by a rounding. An item takes the same amount on each of
`tensor` GPUs of one group (GPUs of one kind on one node). Everything is deterministic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Spot = tuple[int, ...]
Assignment = list[Spot | None]
Rule = Literal["first", "tight", "loose"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PackingSpace:
    """GPUs by number: `caps` are their MiB, `groups` which of them one item may span.

    `classes` says which groups are alike: what may go onto one may go onto the other.
    """

    caps: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """What one model instance takes: MiB on each GPU by group, None where it may not go."""

    tensor: int
    needs: tuple[int | None, ...]

    @property
    def least(self) -> int:
        """The fewest MiB over all its GPUs; 0 where no group takes it."""
        return min((need for need in self.needs if need is not None), default=0) * self.tensor


@dataclass(kw_only=True, slots=True)
class Packed:
    """Where each item went; `proven` says that no better packing exists."""

    spots: Assignment
    proven: bool = False

    @property
    def count(self) -> int:
        """Items that found a place."""
        return sum(spot is not None for spot in self.spots)


def need_at(space: PackingSpace, item: Item, spot: Spot) -> int:
    """Return the MiB that an item takes on each GPU of a spot."""
    for group, need in zip(space.groups, item.needs, strict=True):
        if need is not None and spot[0] in group:
            return need
    message = "the item may not go onto that GPU"
    raise ValueError(message)


def free_after(
    space: PackingSpace, items: Sequence[Item], spots: Assignment, free: Sequence[int] | None = None
) -> list[int]:
    """Return the free MiB of every GPU under an assignment, from `free` (or empty GPUs)."""
    left = list(space.caps if free is None else free)
    for item, spot in zip(items, spots, strict=True):
        for gpu in spot or ():
            left[gpu] -= need_at(space, item, spot or ())
    return left


def peak(space: PackingSpace, free: Sequence[int]) -> float:
    """Return the largest share of a GPU in use."""
    shares = (1 - left / cap for left, cap in zip(free, space.caps, strict=True) if cap)
    return max(shares, default=0.0)


def spots_of(space: PackingSpace, item: Item, free: Sequence[int]) -> Iterator[tuple[Spot, int]]:
    """Yield the spots with room, with the MiB taken; of spots that are alike only the first."""
    seen: set[tuple[object, ...]] = set()
    for group, kind, need in zip(space.groups, space.classes, item.needs, strict=True):
        if need is None:
            continue
        room = [gpu for gpu in group if free[gpu] >= need]
        if len(room) < item.tensor:
            continue
        state = tuple(sorted((free[gpu], space.caps[gpu]) for gpu in group))
        room.sort(key=lambda gpu: (free[gpu], space.caps[gpu]))
        for spot in combinations(room, item.tensor):
            key = (kind, state, tuple((free[gpu], space.caps[gpu]) for gpu in spot))
            if key not in seen:
                seen.add(key)
                yield tuple(sorted(spot)), need


def pick(
    space: PackingSpace, item: Item, free: Sequence[int], rule: Rule
) -> tuple[Spot, int] | None:
    """Return one spot with room: the first, the one left tightest, or the one left loosest."""
    best: tuple[float, Spot, int] | None = None
    for group, need in zip(space.groups, item.needs, strict=True):
        if need is None:
            continue
        room = [gpu for gpu in group if free[gpu] >= need]
        if len(room) < item.tensor:
            continue
        if rule == "first":
            return tuple(sorted(room[: item.tensor])), need
        room.sort(key=lambda gpu: free[gpu], reverse=rule == "loose")
        spot = tuple(sorted(room[: item.tensor]))
        left = [free[gpu] - need for gpu in spot]
        cost = float(sum(left))
        if rule == "loose":
            cost = max(1 - rest / space.caps[gpu] for rest, gpu in zip(left, spot, strict=True))
        if best is None or cost < best[0]:
            best = (cost, spot, need)
    return None if best is None else best[1:]


def greedy(
    space: PackingSpace,
    items: Sequence[Item],
    order: Sequence[int],
    free: Sequence[int],
    rule: Rule,
) -> Assignment:
    """Place items one by one in `order`."""
    left = list(free)
    spots: Assignment = [None] * len(items)
    for index in order:
        found = pick(space, items[index], left, rule)
        if found is None:
            continue
        spots[index] = found[0]
        for gpu in found[0]:
            left[gpu] -= found[1]
    return spots


def orders(items: Sequence[Item]) -> Iterator[list[int]]:
    """Yield orders worth a try: by size both ways, and those with the fewest places first."""
    numbers = range(len(items))
    yield sorted(numbers, key=lambda index: -items[index].least)
    yield sorted(numbers, key=lambda index: items[index].least)
    yield sorted(numbers, key=lambda index: (-items[index].tensor, -items[index].least))

    def choices(index: int) -> int:
        return sum(need is not None for need in items[index].needs)

    yield sorted(numbers, key=lambda index: (choices(index), -items[index].least))
    yield sorted(numbers, key=lambda index: (choices(index), items[index].least))


def repair(
    space: PackingSpace, items: Sequence[Item], spots: Assignment, free: Sequence[int]
) -> Assignment:
    """Place what is left over by moving one placed item out of the way."""
    spots = list(spots)
    hopeless: set[Item] = set()
    for index in sorted(_left_over(spots), key=lambda each: items[each].least):
        if items[index] in hopeless:
            continue
        changed = _make_room(space, items, spots, index, free)
        if changed is None:
            hopeless.add(items[index])
        else:
            spots, hopeless = changed, set()
    return spots


def _left_over(spots: Assignment) -> list[int]:
    return [index for index, spot in enumerate(spots) if spot is None]


def _make_room(
    space: PackingSpace, items: Sequence[Item], spots: Assignment, index: int, free: Sequence[int]
) -> Assignment | None:
    left = free_after(space, items, spots, free)
    for other, spot in enumerate(spots):
        if spot is None:
            continue
        trial = list(left)
        for gpu in spot:
            trial[gpu] += need_at(space, items[other], spot)
        ours = pick(space, items[index], trial, "tight")
        if ours is None:
            continue
        for gpu in ours[0]:
            trial[gpu] -= ours[1]
        theirs = pick(space, items[other], trial, "tight")
        if theirs is not None:
            changed = list(spots)
            changed[index], changed[other] = ours[0], theirs[0]
            return changed
    return None
