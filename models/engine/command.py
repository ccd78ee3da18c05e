"""A command line as the engine's own parser reads it, and what that parser would refuse.

The spellings are those of `vllm/utils/argparse_utils.py`: underscores for dashes, unambiguous
abbreviations, `--config.key=value` for JSON options, `-O3`. Words whose text is not known hold
`UNKNOWN_TEXT`; nothing is said about them.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from models.engine.command_line import UNKNOWN_TEXT, Fault, FaultKind, Line, Option
from models.engine.command_values import extra_words, repeated, value_problem
from models.facts.contract import EngineContract, Flag

__all__ = ["UNKNOWN_TEXT", "Fault", "FaultKind", "Line", "Option", "Parser"]

_NUMBER: Final = re.compile(r"-\d+(\.\d*)?|-\.\d+")
_LEVEL: Final = re.compile(r"-O(=?\w+|\.[\w.+]+(=.*)?)?")
_OF_ANY_PARSER: Final = ("-h", "--help", "-v", "--version")
_SEVERAL: Final = ("+", "*")
_ALIKE: Final = 0.8


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
        yield from repeated(line)
        yield from extra_words(line)

    def _fault(self, option: Option) -> Fault | None:
        version, spelling = self.contract.version, option.spelling
        if UNKNOWN_TEXT in spelling or spelling in _OF_ANY_PARSER:
            return None
        if option.flag is None:
            return self._absent(option)
        problem = value_problem(option, option.flag)
        if problem is None:
            return None
        kind, message, remedy, allowed = problem
        return Fault(
            path=spelling,
            kind=kind,
            option=spelling,
            message=f"vLLM {version}: {message}",
            remedy=remedy,
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
            remedy = removed.replacement or "remove it"
            return Fault(
                path=spelling,
                kind=FaultKind.REMOVED,
                option=spelling,
                message=message,
                remedy=remedy,
                at=option.at,
            )
        if option.alternatives:
            return Fault(
                path=spelling,
                kind=FaultKind.AMBIGUOUS,
                option=spelling,
                message=f"vLLM {version} takes {spelling} for any of several options",
                remedy="write the option in full",
                at=option.at,
                allowed=", ".join(option.alternatives),
            )
        near = get_close_matches(spelling, list(self._flags), n=1, cutoff=_ALIKE)
        hint = f"did you mean {near[0]}?" if near else None
        return Fault(
            path=spelling,
            kind=FaultKind.UNKNOWN,
            option=spelling,
            message=f"vLLM {version} has no option {spelling}",
            remedy=hint or f"see catalog/engines/{version}.flags.json for the options it takes",
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
