"""Which card a GPU's name means, as people, NVML, logs and hubs write it. Pure.

First that applies: the name as it stands in the catalog or in the table of other GPUs (case and
punctuation do not matter); the longest known name whose words the text contains, unless the text
states another memory size or a part of a card (laptop, MIG); the memory that is given or stated in
the text, on a card of unknown make. Memory that is given always wins over the card's own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.facts.accelerators import Accelerator
from models.facts.catalog import plain_name
from models.facts.gpu_families import GpuFamily, capability_of_name
from models.memory import Card

_OTHER_MAKES: Final = re.compile(r"ascend|\bnpu\b|intel|arc pro|gaudi|\btpu\b", re.IGNORECASE)
_PARTS: Final = frozenset({"laptop", "mobile", "mig", "max", "vgpu"})
_SIZE_AGREES: Final = 0.15
_NEAR_GIB: Final = 1.0
_UNKNOWN_CAPABILITY: Final = (9, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherGpu:
    """A GPU that runs name and this project does not deploy on."""

    names: tuple[str, ...]
    card: Card


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedCard:
    """A card with the catalog's name for it, or what is missing; `notes` say what was assumed.

    `other_make` marks a device that is neither CUDA nor ROCm.
    """

    card: Card | None
    name: str = ""
    other_make: bool = False
    missing: str | None = None
    notes: tuple[str, ...] = ()


class CardNames:
    """The known GPUs, ready to be asked."""

    def __init__(
        self,
        accelerators: Mapping[str, Accelerator],
        others: Sequence[OtherGpu],
        families: Sequence[GpuFamily],
    ) -> None:
        """Index names; the catalog's come first. `families` tell what no card's name does."""
        self._families = families
        self._known: list[tuple[str, tuple[str, ...], str, Card]] = []
        self._cards: list[tuple[str, Card]] = []
        for accelerator in accelerators.values():
            card = Card(
                memory_gib=accelerator.memory_gib,
                capability=accelerator.capability,
                product=accelerator.product,
            )
            self._cards.append((accelerator.name, card))
            names = (accelerator.name, accelerator.product, *accelerator.aliases)
            self._add(accelerator.name, names, card)
        for other in others:
            self._add(other.names[0], other.names, other.card)

    def _add(self, name: str, names: Sequence[str], card: Card) -> None:
        for text in names:
            self._known.append((plain_name(text), _words(text), name, card))

    @property
    def names(self) -> tuple[str, ...]:
        """The catalog's names."""
        return tuple(name for name, _ in self._cards)

    def find(self, text: str | None, memory_gib: float | None) -> NamedCard:
        """Return the card that a text and a stated memory (GiB) mean."""
        if not text and memory_gib is None:
            return NamedCard(card=None, missing="gpu: not given, and gpu_mem_gib is not given")
        named = self._named(text) if text else None
        if named is not None:
            name, card = named
            changed = card if memory_gib is None else _resized(card, memory_gib)
            return NamedCard(card=changed, name=name)
        if text and _OTHER_MAKES.search(text) and memory_gib is None:
            missing = f"gpu: {text!r} is not a CUDA or ROCm card and gpu_mem_gib is not given"
            return NamedCard(card=None, missing=missing)
        return self._by_memory(text or "", memory_gib)

    def _named(self, text: str) -> tuple[str, Card] | None:
        for candidate in _spellings(text):
            wanted = plain_name(candidate)
            for plain, _, name, card in self._known:
                if wanted == plain:
                    return name, card
        return self._contained(text)

    def _contained(self, text: str) -> tuple[str, Card] | None:
        """Return the card with the longest name whose words stand in the text in a row."""
        words = _words(_without_brackets(text))
        size = _stated_gb(text)
        found: list[tuple[int, str, Card]] = []
        for plain, known, name, card in self._known:
            if not known or not _stands_in(known, words) or len(plain) < 2:
                continue
            cut = (set(words) & _PARTS) - set(known)
            agrees = size is None or abs(card.memory_gib / size - 1) <= _SIZE_AGREES
            if not cut and agrees:
                found.append((len("".join(known)), name, card))
        if not found:
            return None
        _, name, card = max(found, key=lambda each: each[0])
        return name, card

    def _by_memory(self, text: str, memory_gib: float | None) -> NamedCard:
        notes: list[str] = []
        if memory_gib is None:
            exact = re.search(r"([\d.]+)\s*GiB", text)
            size = _stated_gb(text)
            if exact is not None and _number(exact[1]):
                memory_gib = _number(exact[1])
            elif size is not None:
                memory_gib = size * 1e9 / 2**30
                notes.append(f"gpu: {text!r} is taken as a card of {size:g} x 10^9 bytes")
        if memory_gib is None:
            missing = f"gpu: {text!r} is not a known card and gpu_mem_gib is not given"
            return NamedCard(card=None, missing=missing)
        if _OTHER_MAKES.search(text):
            card = Card(memory_gib=memory_gib, capability=_UNKNOWN_CAPABILITY, product=text)
            note = f"gpu: {text!r} is not CUDA: its overheads are not known, the bound is wider"
            return NamedCard(card=card, other_make=True, notes=(*notes, note))
        have = capability_of_name(text, self._families)
        if have is not None:
            major, minor = have
            notes.append(f"gpu: the compute capability {major}.{minor} is that of its family")
            card = Card(memory_gib=memory_gib, capability=have, product=text)
            return NamedCard(card=card, notes=tuple(notes))
        name, nearest = min(self._cards, key=lambda each: abs(each[1].memory_gib - memory_gib))
        if abs(nearest.memory_gib - memory_gib) <= _NEAR_GIB:
            notes.append(f"gpu: taken for a card like {name} by its memory")
            return NamedCard(card=_resized(nearest, memory_gib), name=name, notes=tuple(notes))
        notes.append("gpu: the compute capability is not known, 9.0 is assumed")
        card = Card(memory_gib=memory_gib, capability=_UNKNOWN_CAPABILITY, product=text)
        return NamedCard(card=card, notes=tuple(notes))


def _resized(card: Card, memory_gib: float) -> Card:
    return card.model_copy(update={"memory_gib": memory_gib})


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value > 0 else None


def _without_brackets(text: str) -> str:
    return re.sub(r"\(.*?\)", " ", text).strip()


def _spellings(text: str) -> Iterator[str]:
    """Yield the text as it stands, without brackets, a count, a size or the maker's name."""
    plain = _without_brackets(text)
    counted = re.sub(r"^\s*\d+\s*[x*]\s*", "", plain, flags=re.IGNORECASE)
    bare = re.sub(r"\b\d+\s*(?:GB|GiB|G)\b.*$", "", counted, flags=re.IGNORECASE)
    yield from (text, plain, counted)
    yield re.sub(r"\b(?:NVIDIA|GeForce|Tesla|AMD)\b", " ", counted, flags=re.IGNORECASE)
    if _stated_gb(counted) is None:
        yield bare


def _words(text: str) -> tuple[str, ...]:
    joined = re.sub(r"(\d)\s+(gb|gib)\b", r"\1\2", text.lower())
    return tuple(re.findall(r"[a-z0-9.]+", re.sub(r"^\s*\d+\s*[x*]\s*", "", joined)))


def _stands_in(known: tuple[str, ...], words: tuple[str, ...]) -> bool:
    length = len(known)
    return any(words[i : i + length] == known for i in range(len(words) - length + 1))


def _stated_gb(text: str) -> float | None:
    found = re.search(r"(\d+(?:\.\d+)?)\s*-?(?:GB|G)\b", text, re.IGNORECASE)
    return float(found[1]) if found and float(found[1]) > 0 else None
