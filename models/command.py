"""A command line as the engine's own parser reads it, and what that parser would refuse.

The spellings are those of `vllm/utils/argparse_utils.py`: underscores for dashes, unambiguous
abbreviations, `--config.key=value` for JSON options, `-O3`. Words whose text is not known hold
`UNKNOWN_TEXT`; nothing is said about them.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from models.contract import EngineContract, Flag

UNKNOWN_TEXT: Final = "\ufffc"
"""Stands in a word for what is not known (a placeholder, an unset variable)."""

_NUMBER: Final = re.compile(r"-\d+(\.\d*)?|-\.\d+")
_LEVEL: Final = re.compile(r"-O(=?\w+|\.[\w.+]+(=.*)?)?")
_WHOLE: Final = re.compile(r"[+-]?\d+(_\d+)*")
_HUMAN: Final = re.compile(r"[+-]?\d+|\d+(\.\d+)?[kmgt]|\d+[KMGT]")
_OF_ANY_PARSER: Final = ("-h", "--help", "-v", "--version")
_SEVERAL: Final = ("+", "*")
_APPENDING: Final = frozenset({"--middleware", "--lora-modules"})
_ALIKE: Final = 0.8


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that the parser would refuse, or silently drop (`REPEATED`, `CONTRADICTORY`)."""

    kind: FaultKind
    option: str
    message: str
    mend: str
    at: int
    allowed: str | None = None
    near: str | None = field(default=None)


class Parser:
    """Reads command lines for one release."""

    def __init__(self, contract: EngineContract) -> None:
        """Index the release's options by every spelling."""
        self.contract = contract
        self._flags = {name: flag for flag in contract.flags for name in flag.names}
        self._removed = {flag.name: flag for flag in contract.removed_flags}

    def read(self, words: Sequence[str]) -> Line:
        """Return the options and positional words of a command line (without the command)."""
        options: list[Option] = []
        positionals: list[tuple[int, str]] = []
        index = 0
        while index < len(words):
            word = words[index]
            if not _is_option(word):
                positionals.append((index, word))
                index += 1
                continue
            option = self._option(words, index)
            taken = 0 if option.attached or option.dotted else len(option.values)
            if option.dotted and not option.attached:
                taken = 1
            options.append(option)
            index += 1 + taken
        return Line(options=tuple(options), positionals=tuple(positionals))

    def _option(self, words: Sequence[str], index: int) -> Option:
        word = words[index]
        head, equals, tail = word.partition("=")
        head, dot, _ = head.partition(".")
        spelling, alternatives = self._meant(head, word)
        flag = self._flags.get(spelling)
        values: tuple[str, ...] = (tail,) if equals else ()
        if not equals and not dot:
            values = tuple(_following(words, index, flag, level=spelling != head and _level(word)))
        if not equals and _level(word) and not dot:
            values = (word[2:],) if len(word) > 2 else values
        return Option(
            name=flag.names[0] if flag is not None else spelling,
            spelling=spelling,
            values=values,
            attached=bool(equals) or (_level(word) and len(word) > 2),
            at=index,
            flag=flag,
            alternatives=alternatives,
            dotted=bool(dot),
        )

    def _meant(self, head: str, word: str) -> tuple[str, tuple[str, ...]]:
        """Return the spelling that an option's head means, and what else it may mean."""
        if _level(word):
            names = ("--optimization-level", "-O", "--compilation-config")
            return next((name for name in names if name in self._flags), head), ()
        plain = "--" + head[2:].replace("_", "-") if head.startswith("--") else head
        if plain in self._flags or plain in self._removed or len(plain) < 3:
            return plain, ()
        longer = [name for name in self._flags if name.startswith(plain)]
        meant = {self._flags[name].names[0]: name for name in reversed(longer)}
        if len(meant) == 1:
            return min(longer, key=len), ()
        return plain, tuple(sorted(longer)[:6])

    def faults(self, line: Line) -> Iterator[Fault]:
        """Yield what this release would refuse or silently drop."""
        for option in line.options:
            fault = self._fault(option)
            if fault is not None:
                yield fault
        yield from _repeated(line)
        yield from _extra_words(line)

    def _fault(self, option: Option) -> Fault | None:
        version, spelling = self.contract.version, option.spelling
        if UNKNOWN_TEXT in spelling or spelling in _OF_ANY_PARSER:
            return None
        if option.flag is None:
            return self._absent(option)
        problem = _value_problem(option, option.flag)
        if problem is None:
            return None
        kind, message, mend, allowed = problem
        return Fault(
            kind=kind,
            option=spelling,
            message=f"vLLM {version}: {message}",
            mend=mend,
            at=option.at,
            allowed=allowed,
        )

    def _absent(self, option: Option) -> Fault:
        version, spelling = self.contract.version, option.spelling
        removed = self._removed.get(spelling)
        if removed is not None:
            message = f"vLLM {version} no longer has the option {spelling}"
            if removed.last_seen is None:
                message = f"vLLM never had the option {spelling}"
            mend = removed.replacement or "remove it"
            return Fault(
                kind=FaultKind.REMOVED, option=spelling, message=message, mend=mend, at=option.at
            )
        if option.alternatives:
            return Fault(
                kind=FaultKind.AMBIGUOUS,
                option=spelling,
                message=f"vLLM {version} takes {spelling} for any of several options",
                mend="write the option in full",
                at=option.at,
                allowed=", ".join(option.alternatives),
            )
        near = get_close_matches(spelling, list(self._flags), n=1, cutoff=_ALIKE)
        hint = f"did you mean {near[0]}?" if near else None
        return Fault(
            kind=FaultKind.UNKNOWN,
            option=spelling,
            message=f"vLLM {version} has no option {spelling}",
            mend=hint or f"see catalog/engines/{version}.flags.json for the options it takes",
            at=option.at,
            near=near[0] if near else None,
        )


def _is_option(word: str) -> bool:
    return (
        word.startswith("-")
        and len(word) > 1
        and not _NUMBER.fullmatch(word)
        and " " not in (word.partition("=")[0])
    )


def _level(word: str) -> bool:
    return word.startswith("-O") and _LEVEL.fullmatch(word) is not None


def _following(
    words: Sequence[str], index: int, flag: Flag | None, *, level: bool
) -> Iterator[str]:
    """Yield the words after an option that are its values; of an unknown one, all that may be."""
    if flag is not None and flag.arity == 0:
        return
    if level and len(words[index]) > 2:
        return
    several = flag is None or flag.arity in _SEVERAL
    for word in words[index + 1 :]:
        if _is_option(word):
            return
        yield word
        if not several:
            return


Trouble = tuple[FaultKind, str, str, str | None]


def _value_problem(option: Option, flag: Flag) -> Trouble | None:
    """Return what is wrong with an option's value, or None."""
    name, value = option.spelling, option.value
    if option.dotted:
        return None
    if flag.arity == 0:
        if not option.attached:
            return None
        mend = f"write {name} alone"
        return FaultKind.SWITCH_VALUE, f"the switch {name} takes no value", mend, None
    if value is None:
        if flag.arity in ("?", "*"):
            return None
        return FaultKind.NO_VALUE, f"the option {name} has no value", f"give {name} a value", None
    if UNKNOWN_TEXT in value:
        return None
    if flag.choices is not None and value not in flag.choices and not _none_like(value, flag):
        message = f"the option {name} does not take this value: {value!r}"
        return FaultKind.CHOICE, message, "choose one of these", ", ".join(flag.choices)
    expected = _number_wanted(flag, value)
    if expected is not None:
        message = f"the option {name} takes {expected}, not {value!r}"
        return FaultKind.NO_NUMBER, message, f"give {expected}", None
    return None


def _none_like(value: str, flag: Flag) -> bool:
    """Optional types take `None`; JSON is judged by nobody here."""
    return value in ("None", "") or value.startswith(("{", "[")) or flag.type == "json"


def _number_wanted(flag: Flag, value: str) -> str | None:
    kind = flag.type
    if kind == "int" and not (_WHOLE.fullmatch(value) or _HUMAN.fullmatch(value)):
        return None if value in ("None", "auto") else "a whole number"
    if kind in ("human_readable_int", "human_readable_int_or_auto"):
        auto = kind.endswith("auto") and value.lower() == "auto"
        return None if auto or _HUMAN.fullmatch(value) else "a whole number"
    if kind == "float":
        try:
            float(value)
        except ValueError:
            return "a number"
    return None


def _repeated(line: Line) -> Iterator[Fault]:
    """Yield options given several times: with one value it is idle, with several one is dropped."""
    first: dict[str, Option] = {}
    for option in line.options:
        if option.flag is None or option.dotted or option.name in _APPENDING:
            continue
        before = first.setdefault(option.name, option)
        if before is option or any(
            UNKNOWN_TEXT in each for each in (*before.values, *option.values)
        ):
            continue
        given = f"{_written(before)} and {_written(option)}"
        if option.flag.arity == 0 and before.negated != option.negated:
            message, kind = f"{given} contradict each other", FaultKind.CONTRADICTORY
        elif _same(before.values, option.values):
            message, kind = f"{option.spelling} is given twice", FaultKind.REPEATED
        else:
            message = f"{option.spelling} is given twice, {given}: only the last one counts"
            kind = FaultKind.CONTRADICTORY
        yield Fault(
            kind=kind, option=option.name, message=message, mend="keep one of them", at=option.at
        )


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if one == other:
        return True
    try:
        return [json.loads(each) for each in one] == [json.loads(each) for each in other]
    except ValueError:
        return False


def _written(option: Option) -> str:
    return f"{option.spelling}={','.join(option.values)}" if option.values else option.spelling


def _extra_words(line: Line) -> Iterator[Fault]:
    """Yield words that belong to no option, beyond the one model that there may be."""
    if any(UNKNOWN_TEXT in word for _, word in line.positionals):
        return
    known = [name for name in ("--model",) if line.last(name) is not None]
    for index, word in line.positionals[1 - len(known) :] if line.positionals else ():
        yield Fault(
            kind=FaultKind.EXTRA_WORD,
            option=word,
            message=f"{word!r} belongs to no option, and the parser takes one model only",
            mend="remove it; a switch takes no value",
            at=index,
        )
