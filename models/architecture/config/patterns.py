"""Quantization's lists of modules: which entry names which module."""

import re
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache


def matches(pattern: str, module: str) -> bool:
    """Tell whether a quantization list's entry names a module.

    Entries are `re:` expressions, globs with `*`, full names with or without `model.` and
    `language_model.` in front, parents of the module, or bare last names such as `gate`.
    """
    return Names((pattern,)).has(module)


class Names:
    """A quantization list, indexed: lists have hundreds of entries, models thousands of modules."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        """Sort the entries by kind."""
        self._known: dict[str, bool] = {}
        self._expressions: list[re.Pattern[str]] = []
        self._words: set[str] = set()
        self._full: set[str] = set()
        self._above: set[str] = set()
        for pattern in patterns:
            self._add(pattern)

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            with suppress(re.error):
                self._expressions.append(re.compile(pattern[3:]))
            return
        plain = _plain(pattern)
        if "*" in plain:
            expression = translate(plain).removesuffix(r"\Z")
            self._expressions.append(re.compile(rf"model\.(?:{expression})(?:\..*)?\Z"))
        elif "." not in plain:
            self._words.add(plain)
        else:
            self._full.add(plain)
            self._above.update(_ancestors(plain))

    def has(self, module: str) -> bool:
        """Tell whether an entry names the module."""
        known = self._known.get(module)
        if known is None:
            known = self._known[module] = self._find(module)
        return known

    def _find(self, module: str) -> bool:
        if module in self._full or module in self._above:
            return True
        if not self._full.isdisjoint(_ancestors(module)):
            return True
        if not self._words.isdisjoint(module.split(".")):
            return True
        return any(each.match("model." + module) for each in self._expressions)


@lru_cache(maxsize=512)
def names_of(patterns: tuple[str, ...]) -> Names:
    """Return the index of a list; lists repeat, so it is kept."""
    return Names(patterns)


def _ancestors(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _plain(name: str) -> str:
    for prefix in ("model.", "language_model.", "model."):
        name = name.removeprefix(prefix)
    return name
