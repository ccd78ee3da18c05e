"""Placing many models on given GPUs: what fits where, with what is left over and why.

For pools in which models share cards (docs/tools.md); a replica that owns its GPUs is the
scheduler's work. Sizes are compared in whole MiB, needs rounded up and memory down.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, PositiveFloat, PositiveInt

from models.core.base import Model
from models.placement.packing import Assignment, Item, PackingSpace, free_after, need_at, peak
from models.placement.search import pack

_MIB_PER_GIB: Final = 1024


class Strategy(StrEnum):
    """Both place as many models as possible; `balanced` then levels the GPUs' use."""

    MAXIMIZE_MODELS = "maximize-models"
    BALANCED = "balanced"


class Gpu(Model):
    """One GPU: `memory_gib` is CUDA's total."""

    name: str
    node: str
    kind: str
    memory_gib: PositiveFloat


class PlacementDemand(Model):
    """One model instance: GiB that it takes of each of `tensor` GPUs, by kind of GPU.

    `refused` says by kind why the model does not run there. `kinds` and `min_vram_gib` are the
    deployment's own bounds.
    """

    name: str
    tensor: PositiveInt = 1
    gib: dict[str, PositiveFloat]
    refused: dict[str, str] = Field(default_factory=dict)
    kinds: tuple[str, ...] | None = None
    min_vram_gib: PositiveFloat | None = None


class PlacedInstance(Model):
    """A model with its GPUs and the GiB it takes of each."""

    model: str
    gpus: tuple[str, ...]
    gib: float


class Unplaced(Model):
    """A model without a place, and why."""

    model: str
    reason: str


class GpuUse(Model):
    """A GPU after placing: `free_gib` is what is left beside the reserve."""

    gpu: str
    node: str
    kind: str
    memory_gib: float
    used_gib: float
    free_gib: Annotated[float, Field(ge=0)]
    models: tuple[str, ...]


class Placement(Model):
    """Where everything goes. `proven` tells that no better placement exists."""

    strategy: Strategy
    placed: tuple[PlacedInstance, ...]
    unplaced: tuple[Unplaced, ...]
    gpus: tuple[GpuUse, ...]
    peak_share: float
    proven: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuInventory:
    """GPUs as the packing sees them, with what each group (a node's GPUs of one kind) is."""

    gpus: tuple[Gpu, ...]
    space: PackingSpace
    groups: tuple[Gpu, ...]
    """One GPU of each group, for its kind and memory."""

    def item(self, demand: PlacementDemand) -> Item:
        """Return a demand as an item of this inventory."""
        needs = tuple(self._need(demand, gpu) for gpu in self.groups)
        return Item(tensor=demand.tensor, needs=needs)

    @staticmethod
    def _need(demand: PlacementDemand, gpu: Gpu) -> int | None:
        if _bar(demand, gpu) is not None:
            return None
        return math.ceil(demand.gib[gpu.kind] * _MIB_PER_GIB)


def inventory_of(gpus: Sequence[Gpu], reserve_gib: float) -> GpuInventory:
    """Return the inventory of the GPUs, `reserve_gib` of each kept free."""
    keys = list(dict.fromkeys((gpu.node, gpu.kind, gpu.memory_gib) for gpu in gpus))
    members = [
        tuple(i for i, gpu in enumerate(gpus) if (gpu.node, gpu.kind, gpu.memory_gib) == key)
        for key in keys
    ]
    kinds = list(dict.fromkeys(key[1:] for key in keys))
    caps = [max(0, math.floor((gpu.memory_gib - reserve_gib) * _MIB_PER_GIB)) for gpu in gpus]
    space = PackingSpace(
        caps=tuple(caps),
        groups=tuple(members),
        classes=tuple(kinds.index(key[1:]) for key in keys),
    )
    return GpuInventory(
        gpus=tuple(gpus), space=space, groups=tuple(gpus[each[0]] for each in members)
    )


def _bar(demand: PlacementDemand, gpu: Gpu) -> str | None:
    """Return why a demand may not go onto a GPU at all, or None."""
    if demand.kinds is not None and gpu.kind not in demand.kinds:
        return f"{gpu.kind} is not among its kinds ({', '.join(demand.kinds)})"
    if demand.min_vram_gib is not None and gpu.memory_gib < demand.min_vram_gib:
        return f"{gpu.kind} has {gpu.memory_gib:g} GiB, at least {demand.min_vram_gib:g} are wanted"
    if gpu.kind in demand.refused:
        return f"{gpu.kind}: {demand.refused[gpu.kind]}"
    if gpu.kind not in demand.gib:
        return f"what it takes of {gpu.kind} is not known"
    return None


def place(
    gpus: Sequence[Gpu],
    demands: Sequence[PlacementDemand],
    strategy: Strategy,
    reserve_gib: float = 0.5,
) -> Placement:
    """Return the placement of all demands on empty GPUs."""
    inventory = inventory_of(gpus, reserve_gib)
    items = [inventory.item(demand) for demand in demands]
    packed = pack(inventory.space, items, balanced=strategy is Strategy.BALANCED)
    return described(inventory, demands, packed.spots, strategy, proven=packed.proven)


def described(
    inventory: GpuInventory,
    demands: Sequence[PlacementDemand],
    spots: Assignment,
    strategy: Strategy,
    *,
    proven: bool,
) -> Placement:
    """Return an assignment in words and GiB."""
    items = [inventory.item(demand) for demand in demands]
    free = free_after(inventory.space, items, spots)
    placed: list[PlacedInstance] = []
    unplaced: list[Unplaced] = []
    on: dict[int, list[str]] = {}
    for demand, item, spot in zip(demands, items, spots, strict=True):
        if spot is None:
            unplaced.append(Unplaced(model=demand.name, reason=why_not(inventory, demand, free)))
            continue
        names = tuple(inventory.gpus[gpu].name for gpu in spot)
        gib = need_at(inventory.space, item, spot) / _MIB_PER_GIB
        placed.append(PlacedInstance(model=demand.name, gpus=names, gib=gib))
        for gpu in spot:
            on.setdefault(gpu, []).append(demand.name)
    return Placement(
        strategy=strategy,
        placed=tuple(placed),
        unplaced=tuple(unplaced),
        gpus=tuple(_use(inventory, index, free[index], on) for index in range(len(inventory.gpus))),
        peak_share=peak(inventory.space, free),
        proven=proven,
    )


def _use(inventory: GpuInventory, index: int, free: int, on: dict[int, list[str]]) -> GpuUse:
    gpu = inventory.gpus[index]
    return GpuUse(
        gpu=gpu.name,
        node=gpu.node,
        kind=gpu.kind,
        memory_gib=gpu.memory_gib,
        used_gib=(inventory.space.caps[index] - free) / _MIB_PER_GIB,
        free_gib=free / _MIB_PER_GIB,
        models=tuple(on.get(index, ())),
    )


def why_not(inventory: GpuInventory, demand: PlacementDemand, free: Sequence[int]) -> str:
    """Return why a demand has no place: barred, too wide, too large, or no room left."""
    item = inventory.item(demand)
    open_groups = [i for i, need in enumerate(item.needs) if need is not None]
    if not open_groups:
        bars = dict.fromkeys(_bar(demand, gpu) or "" for gpu in inventory.groups)
        return "; ".join(bars) or "there are no GPUs"
    wide = [i for i in open_groups if len(inventory.space.groups[i]) >= demand.tensor]
    if not wide:
        most = max(len(inventory.space.groups[i]) for i in open_groups)
        return f"it spans {demand.tensor} GPUs of one node and kind, and no node has over {most}"
    fitting = [
        i
        for i in wide
        if (item.needs[i] or 0) <= inventory.space.caps[inventory.space.groups[i][0]]
    ]
    best = min(fitting or wide, key=lambda i: item.needs[i] or 0)
    need = (item.needs[best] or 0) / _MIB_PER_GIB
    each = (
        f"{need:.2f} GiB on each of {demand.tensor} GPUs"
        if demand.tensor > 1
        else f"{need:.2f} GiB"
    )
    if not fitting:
        most = max(inventory.space.caps[inventory.space.groups[i][0]] for i in wide) / _MIB_PER_GIB
        return f"it needs {each}, and no GPU open to it has over {most:.2f} GiB beside the reserve"
    left = max(
        sorted((free[gpu] for gpu in inventory.space.groups[i]), reverse=True)[demand.tensor - 1]
        for i in fitting
    )
    return f"it needs {each}; {left / _MIB_PER_GIB:.2f} GiB are left after the others"
