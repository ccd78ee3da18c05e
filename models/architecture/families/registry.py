"""Every family that is known, by what configurations and summaries call it."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from pydantic import JsonValue

from models.architecture.families import (
    classic,
    dense,
    experts,
    gemma,
    latent,
    qwen,
    recurrent,
)
from models.architecture.families.family import ModelFamily, Multimodal

T = TypeVar("T")


def by_name(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return records by name.

    Raises:
        ValueError: for a name that two records claim.

    """
    found: dict[str, T] = {}
    for name, record in named:
        if name in found:
            raise ValueError(f"two model families are called {name}")
        found[name] = record
    return found


_RECORDS: Final = (
    *dense.RECORDS,
    *classic.RECORDS,
    *gemma.RECORDS,
    *qwen.RECORDS,
    *experts.RECORDS,
    *latent.RECORDS,
    *recurrent.RECORDS,
)

FAMILIES: Final[Mapping[str, ModelFamily]] = by_name((each.name, each) for each in _RECORDS)
"""By the `model_type` of the text part."""

MULTIMODAL: Final[Mapping[str, tuple[Multimodal, ModelFamily]]] = by_name(
    (outer.name, (outer, each)) for each in _RECORDS for outer in each.outer
)
"""By the `model_type` of the outer configuration."""

OF_CLASS: Final[Mapping[str, ModelFamily]] = by_name(
    (name, each) for each in _RECORDS for name in each.classes
)
"""By the model class that a summary names."""

by_name((name, None) for name in (*FAMILIES, *MULTIMODAL))

_PLAIN: Final = Multimodal(name="")


def text_type(name: str) -> str:
    """Return the `model_type` of the text part, where a multimodal configuration says no other."""
    outer, family = MULTIMODAL.get(name, (_PLAIN, None))
    return family.name if family is not None and outer.implies else name


def known_types() -> frozenset[str]:
    """Return every `model_type` that a configuration may state at its outside or for its text."""
    return frozenset(FAMILIES) | {name for name, (outer, _) in MULTIMODAL.items() if outer.implies}


def multimodal_of(name: str | None) -> Multimodal:
    """Return what is known of an outer `model_type`; nothing particular of one that is not."""
    return MULTIMODAL.get(name or "", (_PLAIN, None))[0]


def defaults_of(name: str) -> Mapping[str, JsonValue]:
    """Return what the class of a `model_type` stands for where fields are left out."""
    family = FAMILIES.get(name)
    return {} if family is None else family.defaults
