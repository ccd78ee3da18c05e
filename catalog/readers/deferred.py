"""Mappings that are read when they are looked at: as a whole, or value by value."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Deferred(Mapping[_K, _V], Generic[_K, _V]):
    """Read as a whole, at the first look."""

    def __init__(self, read: Callable[[], Mapping[_K, _V]]) -> None:
        """Call `read` once, later."""
        self._read = read

    @cached_property
    def _values(self) -> Mapping[_K, _V]:
        return self._read()

    def __getitem__(self, key: _K) -> _V:
        return self._values[key]

    def __iter__(self) -> Iterator[_K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class DeferredValues(Mapping[_K, _V], Generic[_K, _V]):
    """Its keys are known; each value is read when it is asked for."""

    def __init__(self, keys: Iterable[_K], read: Callable[[_K], _V]) -> None:
        """Call `read` once for each key that is asked for."""
        self._values: dict[_K, _V | None] = dict.fromkeys(keys)
        self._read = read

    def __getitem__(self, key: _K) -> _V:
        value = self._values[key]
        if value is None:
            value = self._values[key] = self._read(key)
        return value

    def __iter__(self) -> Iterator[_K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
