"""Results kept for the few subjects that are being looked at, so that rules share them."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_SIZE = 32


class Memo(Generic[K, V]):
    """Results by the identity of a subject and of what else they depend on.

    Rules look at one object after another; what several of them need of it is made once. Safe in
    threads: an entry is replaced as a whole, and a lost one is only made again.
    """

    def __init__(self) -> None:
        """Start with nothing kept."""
        self._entries: dict[int, tuple[K, object, V]] = {}

    def get(self, subject: K, beside: object, make: Callable[[], V]) -> V:
        """Return what `make` returned for the subject; exceptions are not kept."""
        entry = self._entries.get(id(subject))
        if entry is not None and entry[0] is subject and entry[1] is beside:
            return entry[2]
        value = make()
        if len(self._entries) >= _SIZE:
            self._entries = {}
        self._entries[id(subject)] = (subject, beside, value)
        return value
