"""A parsed command line of an engine, and what may be wrong with one."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from models.core.findings import Finding, Source
from models.facts.contract import Flag

UNKNOWN_TEXT: Final = "\ufffc"
"""Stands in a word for what is not known (a placeholder, an unset variable)."""


def option_of(name: str) -> str:
    """Return an argument's option: `--max-model-len` of `max_model_len`."""
    return "--" + name.replace("_", "-")


class FaultKind(StrEnum):
    """What is wrong with a command line."""

    UNKNOWN = "unknown"
    REMOVED = "removed"
    AMBIGUOUS = "ambiguous"
    REPEATED = "repeated"
    CONTRADICTORY = "contradictory"
    CHOICE = "choice"
    NO_NUMBER = "no-number"
    NO_VALUE = "no-value"
    SWITCH_VALUE = "switch-value"
    EXTRA_WORD = "extra-word"


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One option as given: `name` is the contract's main spelling where it knows the option.

    `spelling` is the exact option that was meant (`--no-enable-prefix-caching`), `at` the index of
    its word, `alternatives` what an ambiguous abbreviation may mean.
    """

    name: str
    spelling: str
    values: tuple[str, ...]
    attached: bool
    at: int
    flag: Flag | None
    alternatives: tuple[str, ...] = ()
    dotted: bool = False

    @property
    def value(self) -> str | None:
        """The value, of several the first."""
        return self.values[0] if self.values else None

    @property
    def negated(self) -> bool:
        """Whether a switch is turned off by its spelling."""
        return self.spelling.startswith(("--no-", "--disable-")) and self.spelling != self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A parsed command line; `positionals` with the index of each word."""

    options: tuple[Option, ...]
    positionals: tuple[tuple[int, str], ...] = ()

    def last(self, name: str) -> Option | None:
        """Return the option with that main name that counts: the last one."""
        found = [option for option in self.options if option.name == name]
        return found[-1] if found else None

    def argument(self, name: str) -> Option | None:
        """Return the option of an argument that counts, by the engine's name of the argument."""
        return self.last(option_of(name))


@dataclass(frozen=True, slots=True)
class Fault(Finding):
    """One thing that the parser would refuse, or silently drop (`REPEATED`, `CONTRADICTORY`).

    `at` is the index of the word, `near` an option that may have been meant.
    """

    source: Source = field(default=Source.ENGINE, kw_only=True)
    kind: FaultKind = field(kw_only=True)
    option: str = field(kw_only=True)
    at: int = field(kw_only=True)
    near: str | None = field(default=None, kw_only=True)
