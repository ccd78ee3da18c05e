"""Words after a model's name that do not make it another model: how it is stored, and remarks.

A closed list with sources (`catalog/model_name_words.yaml`); nothing is guessed from other words.
Pure: whoever asks reads the list.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from models.core.base import Model

_SIXTEEN_BIT = frozenset({"bf16", "bfloat16", "fp16", "float16"})


class WordRow(Model):
    """Some words (or phrases of several) with where they are used."""

    words: tuple[str, ...]
    source: str


class NameWords(Model):
    """The list. `details` go with a format and alone tell nothing."""

    formats: tuple[WordRow, ...] = ()
    details: tuple[WordRow, ...] = ()
    remarks: tuple[WordRow, ...] = ()

    def stored_as(self, words: tuple[str, ...]) -> str | None:
        """Return the words as a format if every one is in the list and one tells a format."""
        formats = _phrases(self.formats)
        known = formats | _phrases(self.details)
        for phrases in _split(words, known):
            if any(phrase in formats for phrase in phrases):
                return " ".join(words)
        return None

    def without_remarks(self, text: str) -> str:
        """Return a text without the remarks at its end, in brackets or not."""
        remarks = _phrases(self.remarks)
        while True:
            bracket = re.fullmatch(r"(.*\S)\s*\(([^()]*)\)", text)
            if bracket is not None and " ".join(words_of(bracket[2])) in remarks:
                text = bracket[1]
                continue
            last = re.fullmatch(r"(.*\S)\s+(\S+)", text)
            if last is None or last[2].lower() not in remarks:
                return text
            text = last[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Suffixed:
    """A text as a name and the words of a format after it."""

    base: str
    format: str

    @property
    def is_sixteen_bit(self) -> bool:
        """Whether the checkpoint is stored without quantization."""
        return not set(self.format.split()).isdisjoint(_SIXTEEN_BIT)


def suffixed(text: str, known: NameWords) -> Iterator[Suffixed]:
    """Yield every way to read a text as a name and a format, the longest name first."""
    opened = text.replace("(", " ").replace(")", " ")
    start = opened.rfind("/") + 1
    parts = list(re.finditer(r"[A-Za-z0-9]+", opened[start:]))
    words = tuple(part[0].lower() for part in parts)
    for cut in range(len(parts) - 1, 0, -1):
        stored = known.stored_as(words[cut:])
        if stored is not None:
            base = opened[: start + parts[cut].start()].rstrip(" -_.")
            yield Suffixed(base=base, format=stored)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, without case and punctuation."""
    return tuple(re.findall(r"[a-z0-9]+", text.lower()))


def _phrases(rows: tuple[WordRow, ...]) -> frozenset[str]:
    return frozenset(phrase for row in rows for phrase in row.words)


def _split(words: tuple[str, ...], known: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Yield every way to cut words into known phrases."""
    if not words:
        yield ()
    for length in range(1, len(words) + 1):
        phrase = " ".join(words[:length])
        if phrase in known:
            for rest in _split(words[length:], known):
                yield (phrase, *rest)
