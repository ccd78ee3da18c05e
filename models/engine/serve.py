"""Arguments as a command line of `vllm serve`, and a command line as arguments."""

import json
from dataclasses import replace
from typing import Final, cast

from models.core.findings import Finding
from models.core.problems import shown
from models.engine.arguments import ARGUMENTS, EngineArguments, ServeArguments, ValueKind
from models.engine.command import Fault, FaultKind, Parser
from models.engine.command_line import Line, Option, option_of
from models.engine.values import READERS, count_of
from models.facts.contract import EngineContract


def given_in(line: Line) -> dict[str, str | bool]:
    """Return what a command line gives of the arguments, as it is written; the last one counts."""
    found: dict[str, str | bool] = {}
    for name, argument in ARGUMENTS.items():
        option = line.argument(name)
        if argument.kind is ValueKind.SWITCH and option is not None:
            found[name] = not option.negated and (option.value or "").lower() != "false"
        elif option is not None and option.value:
            found[name] = option.value
        elif argument.inside is not None:
            found |= _inside(line.argument(argument.inside), name)
    return found


def _inside(option: Option | None, name: str) -> dict[str, str | bool]:
    """Return an argument that an option's JSON holds."""
    try:
        held: object = json.loads(option.value or "") if option is not None else None
    except ValueError:
        return {}
    value = cast("dict[str, object]", held).get(name) if isinstance(held, dict) else None
    return {} if value is None else {name: str(value)}


def arguments_in(line: Line) -> EngineArguments:
    """Return the arguments of a command line; a count that is none is left out.

    Raises:
        ValueError: where a value is none that the argument can have.

    """
    given: dict[str, object] = {}
    for name, value in given_in(line).items():
        kind = ARGUMENTS[name].kind
        if isinstance(value, bool):
            given[name] = value
        elif kind is ValueKind.COUNT:
            given |= {name: number} if (number := count_of(value)) else {}
        elif kind is ValueKind.NUMBER:
            given[name] = float(value)
        else:
            given[name] = READERS[name](value) if name in READERS else value
    return EngineArguments.model_validate(given)


def command_line(args: ServeArguments, contract: EngineContract) -> tuple[str, ...]:
    """Return the container's arguments (without the command) for one engine release.

    Every option is `--name=value` or a bare switch, in a fixed order, so that two renders are
    equal. Call `problems_of` first: this function does not check.
    """
    served = {"host": "0.0.0.0", "port": contract.port, "served_model_name": args.served_model_name}
    options = [f"{option_of(name)}={value}" for name, value in served.items()]
    options += [_option(name, value) for name, value in passed(args).items()]
    return (args.model_path, *options, *args.extra_args)


_ALWAYS: Final = "tensor_parallel_size"
"""Said also where it is the engine's default, since a reader looks for it first."""


def passed(args: EngineArguments) -> dict[str, object]:
    """Return the arguments that depart from the engine's own choice, in the table's order."""
    held: dict[str, object] = {name: getattr(args, name) for name in ARGUMENTS}
    defaults = {name: EngineArguments.model_fields[name].default for name in ARGUMENTS}
    return {n: value for n, value in held.items() if n == _ALWAYS or value != defaults[n]}


def _option(name: str, value: object) -> str:
    argument = ARGUMENTS[name]
    if argument.inside is not None:
        return f"{option_of(argument.inside)}={json.dumps({name: value})}"
    if isinstance(value, bool):
        return argument.option if value else f"--no-{argument.option.removeprefix('--')}"
    return (
        f"{argument.option}={value:g}" if isinstance(value, float) else f"{argument.option}={value}"
    )


_TWICE: Final = frozenset({FaultKind.REPEATED, FaultKind.CONTRADICTORY})


def problems_of(words: tuple[str, ...], contract: EngineContract, path: str) -> list[Finding]:
    """Return what this engine release does not accept among command line words.

    Unknown options, removed options (with what replaces them), options given twice, and values
    that the option does not take; see `models/engine/command.py` for the spellings.
    """
    parser = Parser(contract)
    return [_problem(fault, words, path) for fault in parser.faults(parser.read(words))]


def _problem(fault: Fault, words: tuple[str, ...], path: str) -> Finding:
    """Return a fault as a problem of the settings."""
    twice = fault.kind in _TWICE
    remedy = "use the typed setting (engine.*) or extra_args, not both" if twice else fault.remedy
    return replace(fault, path=path, value=shown(words[fault.at]), remedy=remedy)
