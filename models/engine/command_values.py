"""What the engine's parser would say of an option's value, and of options given twice."""

import json
import re
from collections.abc import Iterator
from typing import Final

from models.engine.command_line import UNKNOWN_TEXT, Fault, FaultKind, Line, Option
from models.facts.contract import Flag

_WHOLE: Final = re.compile(r"[+-]?\d+(_\d+)*")
_HUMAN: Final = re.compile(r"[+-]?\d+|\d+(\.\d+)?[kmgt]|\d+[KMGT]")
_APPENDING: Final = frozenset({"--middleware", "--lora-modules"})
"""Options whose values add up."""

Trouble = tuple[FaultKind, str, str, str | None]


def value_problem(option: Option, flag: Flag) -> Trouble | None:
    """Return what is wrong with an option's value, or None."""
    name, value = option.spelling, option.value
    if option.dotted:
        return None
    if flag.arity == 0:
        if not option.attached:
            return None
        remedy = f"write {name} alone"
        return FaultKind.SWITCH_VALUE, f"the switch {name} takes no value", remedy, None
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


def repeated(line: Line) -> Iterator[Fault]:
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
            path=option.name,
            kind=kind,
            option=option.name,
            message=message,
            remedy="keep one of them",
            at=option.at,
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


def extra_words(line: Line) -> Iterator[Fault]:
    """Yield words that belong to no option, beyond the one model that there may be."""
    if any(UNKNOWN_TEXT in word for _, word in line.positionals):
        return
    known = [name for name in ("--model",) if line.last(name) is not None]
    for index, word in line.positionals[1 - len(known) :] if line.positionals else ():
        yield Fault(
            path=word,
            kind=FaultKind.EXTRA_WORD,
            option=word,
            message=f"{word!r} belongs to no option, and the parser takes one model only",
            remedy="remove it; a switch takes no value",
            at=index,
        )
