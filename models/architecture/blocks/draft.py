"""An architecture under construction: the recipe's helpers to add weights and caches.

Names are those of the checkpoint inside a layer, since quantization's ignore lists use them.
"""

from collections.abc import Iterable

from models.architecture.config.fields import Fields
from models.architecture.types import CacheKind, CacheLayers, Part, Rows, Shard, State, Weight

Layers = tuple[int, ...]

FLOAT32 = "float32"


def rows(*sizes: int) -> tuple[Rows, ...]:
    """Return plain output slices of the sizes given; each can be split by rows."""
    return tuple(Rows(units=size, width=1) for size in sizes)


class Draft:
    """Weights and caches added so far, and the fields they are read from."""

    def __init__(self, fields: Fields, prefix: str = "layers.{}.") -> None:
        """Start empty; `prefix` is put before the names of modules in a layer."""
        self.fields = fields
        self.prefix = prefix
        self.weights: list[Weight] = []
        self.caches: list[CacheLayers] = []
        self.hidden = fields.size("hidden_size", "d_model", "n_embd")
        self.widest = 0
        self.experts = 0
        self.top_k = 0
        self.expert_intermediate = 0
        self.heads = 0
        self.kv_heads = 0
        self.head_dim = 0

    def add(
        self,
        part: Part,
        names: Iterable[str] | str,
        out: tuple[Rows, ...],
        columns: int = 1,
        *,
        shard: Shard = Shard.NONE,
        layers: Layers | None = None,
        experts: int = 0,
        dtype: str | None = None,
        linear: bool = False,
        copies: int = 1,
        derived_from: str | None = None,
    ) -> None:
        """Add one weight; names inside a layer get the layer's prefix."""
        if layers is not None and not layers:
            return
        modules = (names,) if isinstance(names, str) else tuple(names)
        if layers is not None:
            modules = tuple(self.prefix + name for name in modules)
        self.weights.append(
            Weight(
                part=part,
                modules=modules,
                rows=out,
                columns=columns,
                shard=shard,
                layers=layers,
                experts=experts,
                dtype=dtype,
                linear=linear,
                copies=copies,
                derived_from=None if derived_from is None else self.prefix + derived_from,
            )
        )

    def column(
        self,
        part: Part,
        names: Iterable[str] | str,
        out: tuple[Rows, ...],
        columns: int,
        layers: Layers,
        *,
        bias: bool = False,
        quantized: bool = True,
    ) -> None:
        """Add a linear layer split by its outputs."""
        self.widest = max(self.widest, sum(part.size for part in out))
        self.add(part, names, out, columns, shard=Shard.OUTPUT, layers=layers, linear=quantized)
        if bias:
            self.add(part, names, out, shard=Shard.OUTPUT, layers=layers)

    def row(
        self,
        part: Part,
        names: Iterable[str] | str,
        out: int,
        columns: int,
        layers: Layers,
        *,
        bias: bool = False,
        quantized: bool = True,
    ) -> None:
        """Add a linear layer split by its inputs; its bias is on every rank."""
        self.add(
            part, names, rows(out), columns, shard=Shard.INPUT, layers=layers, linear=quantized
        )
        if bias:
            self.add(part, names, rows(out), layers=layers)

    def whole(
        self,
        part: Part,
        names: Iterable[str] | str,
        out: int,
        columns: int,
        layers: Layers,
        *,
        quantized: bool = True,
        dtype: str | None = None,
    ) -> None:
        """Add a linear layer that every rank holds whole."""
        self.add(part, names, rows(out), columns, layers=layers, linear=quantized, dtype=dtype)

    def norms(self, count: int, layers: Layers, size: int | None = None) -> None:
        """Add `count` norm vectors of `size` (the hidden size) per layer."""
        if count:
            self.add(Part.NORM, "norm", rows(size or self.hidden), layers=layers, copies=count)

    def vector(
        self,
        part: Part,
        size: int,
        layers: Layers,
        *,
        split: bool = False,
        dtype: str | None = None,
    ) -> None:
        """Add a plain vector, split over ranks or whole."""
        shard = Shard.OUTPUT if split else Shard.NONE
        self.add(part, "vector", rows(size), shard=shard, layers=layers, dtype=dtype)

    def cache(self, cache: CacheLayers) -> None:
        """Add a group of layers with the same cache."""
        self.caches.append(cache)

    def state_cache(self, kind: CacheKind, layers: Layers, state: State) -> None:
        """Add layers that keep a state of fixed size."""
        if layers:
            self.cache(CacheLayers(kind=kind, layers=layers, state=state))
