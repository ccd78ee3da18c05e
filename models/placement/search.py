"""Packing items onto GPUs as well as can be found: greedy starts, then a bounded exact search.

The search is bounded by steps, not by time, so that the same input gives the same answer.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from models.placement.packing import (
    Assignment,
    Item,
    Packed,
    PackingSpace,
    Rule,
    Spot,
    free_after,
    greedy,
    need_at,
    orders,
    peak,
    pick,
    repair,
    spots_of,
)

SEARCH_NODES: Final = 10_000
"""Steps of the exact search before the best found so far is taken."""

_SEARCHED: Final = 400
"""Items at the most that are searched: the search goes one call deeper for each."""

_REPAIRED: Final = 4
"""Greedy starts that are repaired: the best ones."""

Score = tuple[int, float]


def pack(
    space: PackingSpace,
    items: Sequence[Item],
    *,
    balanced: bool = False,
    free: Sequence[int] | None = None,
    nodes: int = SEARCH_NODES,
) -> Packed:
    """Place as many items as possible; `balanced` then lowers the peak share of a GPU in use."""
    room = list(space.caps if free is None else free)

    def score(spots: Assignment) -> Score:
        placed = sum(spot is not None for spot in spots)
        return placed, -peak(space, free_after(space, items, spots, room)) if balanced else 0.0

    rules: tuple[Rule, ...] = ("first", "tight", "loose")
    starts = [greedy(space, items, order, room, rule) for order in orders(items) for rule in rules]
    starts.sort(key=score, reverse=True)
    best = max((repair(space, items, each, room) for each in starts[:_REPAIRED]), key=score)
    if balanced and space.caps:
        best = _level(space, items, best, room, score)
    search = _Search(space=space, items=items, best=best, score=score(best), balanced=balanced)
    search.run(room, nodes)
    return Packed(spots=search.best, proven=search.proven)


def _level(
    space: PackingSpace,
    items: Sequence[Item],
    spots: Assignment,
    free: Sequence[int],
    score: Callable[[Assignment], Score],
) -> Assignment:
    """Move items off the fullest GPU while that lowers the peak."""
    best, value = list(spots), score(spots)
    for _ in range(4 * len(items)):
        left = free_after(space, items, best, free)
        fullest = max(range(len(left)), key=lambda gpu: 1 - left[gpu] / max(1, space.caps[gpu]))
        better = None
        for index, spot in enumerate(best):
            if spot is None or fullest not in spot:
                continue
            trial = list(left)
            for gpu in spot:
                trial[gpu] += need_at(space, items[index], spot)
            found = pick(space, items[index], trial, "loose")
            changed = list(best)
            changed[index] = spot if found is None else found[0]
            if score(changed) > value:
                better, value = changed, score(changed)
        if better is None:
            return best
        best = better
    return best


@dataclass(kw_only=True)
class _Search:
    """Depth first over items, largest first; a branch that cannot beat the best is cut."""

    space: PackingSpace
    items: Sequence[Item]
    best: Assignment
    score: Score
    balanced: bool
    proven: bool = False
    _left: int = 0
    _order: list[int] = field(default_factory=list[int])
    _sums: list[list[int]] = field(default_factory=list[list[int]])

    def run(self, free: Sequence[int], nodes: int) -> None:
        """Search within a number of steps."""
        placeable = [index for index, item in enumerate(self.items) if item.least]
        self._order = sorted(placeable, key=lambda index: -self.items[index].least)
        ordered = [self.items[index].least for index in self._order]
        self._sums = [list(accumulate(sorted(ordered[at:]))) for at in range(len(ordered) + 1)]
        self._left = nodes if len(placeable) <= _SEARCHED else 0
        spots: Assignment = [None] * len(self.items)
        self._step(0, 0, list(free), spots, peak(self.space, free))
        self.proven = self._left > 0

    def _hopeless(self, at: int, placed: int, free: Sequence[int], fullest: float) -> bool:
        most = placed + bisect_right(self._sums[at], sum(free))
        if most != self.score[0]:
            return most < self.score[0]
        return not self.balanced or -fullest <= self.score[1]

    def _step(
        self, at: int, placed: int, free: list[int], spots: Assignment, fullest: float
    ) -> None:
        self._left -= 1
        if self._left <= 0 or self._hopeless(at, placed, free, fullest):
            return
        if at == len(self._order):
            self.best, self.score = list(spots), (placed, -fullest if self.balanced else 0.0)
            return
        index = self._order[at]
        item = self.items[index]
        choices = list(spots_of(self.space, item, free))
        if self.balanced:
            choices.sort(key=lambda choice: self._share(choice, free))
        for spot, need in choices:
            share = max(fullest, self._share((spot, need), free))
            for gpu in spot:
                free[gpu] -= need
            spots[index] = spot
            self._step(at + 1, placed + 1, free, spots, share)
            for gpu in spot:
                free[gpu] += need
        spots[index] = None
        self._step(at + 1, placed, free, spots, fullest)

    def _share(self, choice: tuple[Spot, int], free: Sequence[int]) -> float:
        spot, need = choice
        return max(1 - (free[gpu] - need) / self.space.caps[gpu] for gpu in spot)
