"""Which cases the oracle is asked: every catalog model on every class of card that it fits.

A class of card is a compute capability, asked on one card of the catalog: kernels and defaults
follow from it (`CLASSES`: those that an instance type carries). What the pure model refuses is
asked too: then the engine must refuse, in its own words. The arguments are those that the
production profile resolves to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from models.architecture import Architecture, architecture
from models.core.base import GIB
from models.engine.arguments import EngineArguments
from models.engine.profiles import EngineOverrides, Environment, Parallelism
from models.engine.serve import passed
from models.facts.accelerators import Accelerator
from models.facts.catalog import Catalog, CatalogModel
from models.facts.contract import EngineContract
from models.memory.terms.weights import Rank, weight_bytes
from models.serving.chosen_arguments import choose
from models.serving.reasons import ArgumentInputs

CLASSES: Final = ("t4", "a100-80gb", "a10g", "l4", "h100-80gb", "b200-180gb")
TENSORS: Final = (1, 2, 4, 8)
_BYTES: Final = (1 * GIB, 8 * GIB, 32 * GIB)
_SHORT: Final = 4096
_LONGEST: Final = 131072
_SPREAD: Final = 4
"""GPUs at most, as a multiple of the fewest that hold the weights: more is no sane deployment."""
_ROOM: Final = 0.95
"""Weights must leave this share of the largest card of the class, or the case is not asked."""
_SHARED_MEMORY_KIB: Final[Mapping[tuple[int, int], int]] = {
    (7, 5): 64,
    (8, 0): 163,
    (8, 6): 99,
    (8, 9): 99,
    (9, 0): 227,
    (10, 0): 227,
}
"""KiB of shared memory a block can opt in to, by compute capability (CUDA programming guide)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenCase:
    """One question: a model on a card with arguments; `asks` are (max_model_len, KV bytes)."""

    model: str
    card: str
    capability: tuple[int, int]
    tensor: int
    kv_cache_dtype: str
    arguments: dict[str, JsonValue]
    asks: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        """A name that is unique within the model."""
        major, minor = self.capability
        return f"sm{major}{minor}-tp{self.tensor}-{self.kv_cache_dtype}"

    def job(self, config: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the case as the oracle reads it."""
        return {
            "id": f"{self.model}/{self.name}",
            "model": self.model,
            "config": dict(config),
            "arguments": dict(self.arguments),
            "asks": [list(ask) for ask in self.asks],
        }


def card_of(accelerator: Accelerator) -> dict[str, JsonValue]:
    """Return a card as the oracle pretends it."""
    return {
        "name": accelerator.product.replace("-", " "),
        "capability": list(accelerator.capability),
        "sm_count": accelerator.sm_count,
        "memory_bytes": int(accelerator.memory_gib * GIB),
        "shared_memory_optin": _SHARED_MEMORY_KIB[accelerator.capability] * 1024,
        "nvlink": accelerator.nvlink,
    }


def cases(catalog: Catalog, version: str) -> list[GoldenCase]:
    """Return all cases of one engine release, in a fixed order."""
    found: list[GoldenCase] = []
    for name in sorted(catalog.models):
        model = catalog.models[name]
        if model.entry.engine == version:
            for card in CLASSES:
                found += _on_card(catalog, model, catalog.accelerators[card])
    return found


def _on_card(catalog: Catalog, model: CatalogModel, card: Accelerator) -> Iterator[GoldenCase]:
    built = architecture(model.config)
    contract = catalog.engines[model.entry.engine]
    alike = [a for a in catalog.accelerators.values() if a.capability == card.capability]
    memory = max(accelerator.memory_gib for accelerator in alike) * GIB
    carried = [kind.gpus for accelerator in alike for kind in accelerator.instance_types]
    most = max(carried, default=1)
    fitting = [tensor for tensor in TENSORS if _holds(built, card, tensor, memory)]
    for tensor in fitting:
        if tensor > min(most, _SPREAD * fitting[0]):
            continue
        for dtype in ("auto", "fp8"):
            case = _case(model, built, card, contract, tensor, dtype)
            if case is not None:
                yield case


def _holds(built: Architecture, card: Accelerator, tensor: int, memory: float) -> bool:
    rank = Rank(tensor=tensor, capability=card.capability)
    return weight_bytes(built, rank, "new").allocated <= memory * _ROOM


def _case(
    model: CatalogModel,
    built: Architecture,
    card: Accelerator,
    contract: EngineContract,
    tensor: int,
    dtype: str,
) -> GoldenCase | None:
    wanted = ArgumentInputs(
        environment=Environment.PROD,
        entry=model.entry,
        architecture=built,
        accelerator=card,
        contract=contract,
        parallelism=Parallelism(tensor=tensor),
        overrides=EngineOverrides(kv_cache_dtype=dtype),
        path="models",
    )
    choice, problems = choose(wanted)
    if problems:
        return None
    return GoldenCase(
        model=model.entry.name,
        card=card.name,
        capability=card.capability,
        tensor=tensor,
        kv_cache_dtype=dtype,
        arguments=_given(choice.arguments),
        asks=_asks(built, choice.arguments.max_model_len),
    )


def _given(arguments: EngineArguments) -> dict[str, JsonValue]:
    """Return the engine's own names and values of what we pass on its command line."""
    return {"dtype": "auto", **cast("dict[str, JsonValue]", passed(arguments))}


def _asks(built: Architecture, length: int) -> tuple[tuple[int, int], ...]:
    """Return lengths and bytes to plan with; states of a pure SSM are made for one length."""
    own = [(length, size) for size in _BYTES]
    if all(cache.kind.is_state for cache in built.caches):
        return tuple(own)
    longest = min(built.max_positions or length, _LONGEST)
    short = [(_SHORT, _BYTES[1])] if length > _SHORT else []
    long = [(longest, size) for size in _BYTES[1:]] if longest > length else []
    return (*own, *short, *long)
