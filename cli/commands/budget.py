"""`triplane budget`: what vLLM will say after it has loaded, said before anything is created."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from catalog.readers.profiles import load_profiles
from cli.commands.old_flags import answer_of_flags, old_number, with_flags
from cli.errors import ExitCode, InputError
from cli.options.budget import BudgetOptions
from cli.output import formats as output
from cli.output import plot
from cli.output.answers import Answer, answer, unknown
from cli.reading.inputs import parse_object, read_config, read_configs, read_lines, sources
from models.cases.asking import Sources
from models.cases.cases import case_of
from models.cases.profiles import MemoryProfile
from models.core.problems import ProblemsError
from models.memory import Verdict


def run(options: BudgetOptions) -> int:
    """Answer, print and return the exit code."""
    _check(options)
    known = sources(read_configs(options.model_configs), pinned=options.cases is None)
    profiles = load_profiles(options.profiles) if options.use_profiles else ()
    unusable = False
    if options.cases is None:
        answers = [_one(options, known, profiles)]
    else:
        lines = list(_many(options, options.cases, known, profiles))
        answers = [found for found, _ in lines]
        unusable = any(bad for _, bad in lines)
        if not answers:
            raise InputError(f"{options.cases}: has no lines")
    many = options.cases is not None
    if options.plot is not None:
        _write_plot(options.plot, answers)
    if options.as_json:
        print(output.as_json(answers, many=many))
    else:
        output.show(answers, many=many)
    if unusable:
        return ExitCode.UNUSABLE_INPUT
    fits = all(each.budget.verdict is Verdict.FITS for each in answers)
    return ExitCode.GOOD if fits else ExitCode.FINDING


def _check(options: BudgetOptions) -> None:
    named = "model" in options.case
    if options.cases is not None and (named or options.model_config is not None):
        raise InputError("--cases: name models in its lines, not beside it")
    if options.cases is not None and options.old.used:
        raise InputError("--cases: the old calculator's flags describe one model only")
    if named and options.model_config is not None:
        raise InputError("--model-config: give a model's name or its configuration, not both")
    if options.plot is not None and options.plot.suffix.lower() != ".svg":
        raise InputError(f"--plot: the drawing is an SVG, name it so: {options.plot.stem}.svg")
    described = named or options.model_config is not None or options.cases is not None
    if not described and not options.old.used:
        raise InputError(
            "say which model: a name, --model-config FILE, --cases FILE, or the old calculator's "
            "--model-size --layers --heads"
        )


def _one(options: BudgetOptions, known: Sources, profiles: tuple[MemoryProfile, ...]) -> Answer:
    try:
        case, _ = case_of(options.case, known.catalog.engines)
    except ProblemsError as error:
        raise InputError("; ".join(problem.ruled for problem in error.problems)) from None
    old = options.old
    case, notes = with_flags(case, old, known)
    config = None if options.model_config is None else read_config(options.model_config)
    if config is not None and not case.id:
        case = case.model_copy(update={"id": _id_of(options.model_config, config)})
    if case.model is None and config is None:
        found = answer_of_flags(case, old, known)
    else:
        found = answer(case, known, profiles, config)
    if not old.used:
        return found
    if found.request is not None and case.model is not None:
        shape = found.request.architecture
        old = replace(
            old, heads=old.heads or shape.heads or None, layers=old.layers or shape.num_layers
        )
    number = old_number(case, old, found.budget)
    return replace(found, notes=(*found.notes, *notes), old=number)


def _id_of(path: Path | None, config: Mapping[str, JsonValue]) -> str:
    name = config.get("_name_or_path")
    if isinstance(name, str) and name:
        return name
    if path is None:
        return "model"
    if path.name == "config.json" and path.parent.name:
        return path.parent.name
    return path.stem.removesuffix(".config")


def _many(
    options: BudgetOptions, path: Path, known: Sources, profiles: tuple[MemoryProfile, ...]
) -> Iterator[tuple[Answer, bool]]:
    """Yield the answer of each line, and whether the line could not be used."""
    for number, text in read_lines(path):
        where, name = f"{path.name} line {number}", f"line-{number}"
        try:
            line = parse_object(text, where)
            name = _name_in(line) or name
            given = {name: value for name, value in line.items() if value is not None}
            case, unused = case_of({**options.case, **given}, known.catalog.engines)
        except (InputError, ProblemsError) as error:
            reason = _line_problem(error, where)
            _warn(reason)
            yield unknown(name, [reason]), True
            continue
        if unused:
            _warn(f"{where}: not used: {', '.join(unused)}")
        if not case.id:
            case = case.model_copy(update={"id": name})
        # A field that is there and null is a record of what nobody wrote down; one that is left out
        # is a question, and takes the default: the pinned release, one GPU.
        pinned = replace(known, pinned="vllm_version" not in line)
        recorded = not {"n_gpus", "tp", "tensor_parallel_size"}.isdisjoint(line)
        unknown_gpus = recorded and not case.states("tensor_parallel_size") and case.n_gpus is None
        found = answer(case, pinned, profiles, gpus_unknown=unknown_gpus)
        if unused:
            found = replace(found, notes=(*found.notes, f"not used: {', '.join(unused)}"))
        yield found, False


def _name_in(line: Mapping[str, JsonValue]) -> str | None:
    stated = line.get("id")
    return stated if isinstance(stated, str) and stated else None


def _line_problem(error: InputError | ProblemsError, where: str) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"{where}: " + "; ".join(problem.ruled for problem in error.problems)


def _warn(text: str) -> None:
    print(f"triplane: {text}", file=sys.stderr)


def _write_plot(path: Path, answers: list[Answer]) -> None:
    try:
        path.write_text(plot.svg(answers), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--plot: {path}: cannot be written: {error.strerror}") from None
