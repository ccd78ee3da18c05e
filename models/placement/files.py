"""The files that `triplane place` reads: GPUs and models, and what runs now (docs/tools.md)."""

import re
from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt

from models.core.base import Model
from models.placement.place import PlacedInstance, Strategy

_SPEC: Final = re.compile(
    r"(?:(?P<node>[\w.-]+)=)?(?:(?P<count>\d+)\s*x\s*)?(?P<kind>(?!\d+\s*x\s*$)[^=]+)"
)

NonNegativeGib = Annotated[float, Field(ge=0)]


class GpuRow(Model):
    """GPUs of one kind on one node; `memory_gib` is the catalog's where it is left out."""

    node: str
    kind: str
    count: PositiveInt = 1
    memory_gib: PositiveFloat | None = None


class ModelRow(Model):
    """A model with what it takes: `gib` of each GPU, or what the memory model says.

    `model` is a catalog name or a directory (by default `name`). Without `gib` it takes KV cache
    for `concurrency` requests of `max_model_len` tokens. Replicas are named `name#1`, `name#2`.
    """

    name: Annotated[str, Field(min_length=1)]
    model: str | None = None
    gib: PositiveFloat | None = None
    tensor: PositiveInt = 1
    replicas: PositiveInt = 1
    max_model_len: PositiveInt = 4096
    concurrency: PositiveInt = 4
    kv_cache_dtype: str | None = None
    gpu_kinds: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    min_vram_gib: PositiveFloat | None = None

    @property
    def instances(self) -> tuple[str, ...]:
        """The names of the replicas."""
        if self.replicas == 1:
            return (self.name,)
        return tuple(f"{self.name}#{number}" for number in range(1, self.replicas + 1))


class PlacementFile(Model):
    """What is to be placed, and on which GPUs (or they come from `--gpus`). Also a preset."""

    strategy: Strategy | None = None
    reserve_gib: NonNegativeGib | None = None
    engine: str | None = None
    gpus: tuple[GpuRow, ...] = ()
    models: tuple[ModelRow, ...]


class LiveModel(Model):
    """A running model; `gib` is not needed."""

    model_config = ConfigDict(extra="ignore")

    model: str
    gpus: tuple[str, ...]
    gib: PositiveFloat | None = None


class StateFile(Model):
    """What runs now; the output of `place --json` is one."""

    model_config = ConfigDict(extra="ignore")

    placed: tuple[LiveModel, ...]

    @property
    def live(self) -> tuple[PlacedInstance, ...]:
        """What runs, as the packing takes it."""
        return tuple(
            PlacedInstance(model=each.model, gpus=each.gpus, gib=each.gib or 0.0)
            for each in self.placed
        )


def gpu_rows(specs: Iterable[str]) -> tuple[GpuRow, ...]:
    """Return the GPUs of `--gpus`: `4xl4,big=8xh100-80gb`; each item is one node.

    Raises `ValueError` naming the item that is not understood.
    """
    rows: list[GpuRow] = []
    for text in (part.strip() for spec in specs for part in spec.split(",")):
        found = _SPEC.fullmatch(text)
        if found is None or found["count"] == "0":
            message = f"{text!r}: write COUNTxKIND or NODE=COUNTxKIND, such as 4xl4"
            raise ValueError(message)
        node = found["node"] or f"node-{len(rows) + 1}"
        count = int(found["count"] or 1)
        rows.append(GpuRow(node=node, kind=found["kind"].strip(), count=count))
    return tuple(rows)
