"""`triplane calibrate`: a vLLM start-up log to a memory profile, predicted beside measured."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from catalog.readers.profiles import write_profile
from cli.errors import ExitCode, InputError
from cli.options.calibrate import CalibrateOptions
from cli.reading.inputs import read_config, read_configs, read_text, sources
from models.cases.asking import CaseRequest, ask
from models.cases.calibration import Term, compared
from models.cases.cases import NAMES, Case, case_of, is_field
from models.cases.profiles import MemoryProfile
from models.core.problems import ProblemsError
from models.engine.startup_log import Measured, StartupLog, read_log
from models.facts.contract import EngineContract
from models.memory import BudgetRequest


def run(options: CalibrateOptions) -> int:
    """Read the log, print predicted beside measured, keep the profile if asked to."""
    log = read_log(read_text(options.log))
    if log.measured == Measured():
        raise InputError(
            f"{options.log}: no line of it is one of a vLLM start-up log (Model loading took .., "
            "Available KV cache memory: .., model weights take ..)"
        )
    config = None if options.model_config is None else read_config(options.model_config)
    known = sources(read_configs(options.model_configs), pinned=True)
    case = _case(options, log, known.catalog.engines)
    question = ask(case, known, config)
    if question.request is None:
        hints = "; name them with --model, --model-config, --gpu, --vllm-version or --set"
        raise InputError(f"{options.log}: {'; '.join(question.missing)}{hints}")
    profile = _profile(options, question, question.request, log)
    terms = compared(profile, question.request)
    path: Path | None = None
    if options.write:
        try:
            path = write_profile(profile, options.profiles)
        except OSError as error:
            raise InputError(f"the profile cannot be written: {error.strerror}") from None
    if options.as_json:
        print(_as_json(profile, terms, question))
    else:
        _show(profile, terms, question)
    if path is not None:
        print(f"triplane: wrote {path.name} to {path.parent.name}/", file=sys.stderr)
    return ExitCode.GOOD


def _case(
    options: CalibrateOptions, log: StartupLog, engines: Mapping[str, EngineContract]
) -> Case:
    """Return the run of the log; what the command line says wins."""
    given: dict[str, JsonValue] = {**log.settings}
    if log.measured.utilization is not None:
        given["gpu_memory_utilization"] = log.measured.utilization
    given["model"] = options.model or log.model
    given["gpu"] = options.gpu or log.gpu
    given["vllm_version"] = options.vllm_version or log.version
    if given["gpu"] is None:
        given["gpu_mem_gib"] = log.measured.total_gib
    for setting in options.settings:
        name, separator, value = setting.partition("=")
        if not separator or not is_field(name):
            allowed = ", ".join(NAMES)
            raise InputError(f"--set {setting}: must be NAME=VALUE, NAME one of {allowed}")
        given[name] = value
    try:
        return case_of(given, engines)[0]
    except ProblemsError as error:
        raise InputError("; ".join(problem.ruled for problem in error.problems)) from None


def _profile(
    options: CalibrateOptions, question: CaseRequest, request: BudgetRequest, log: StartupLog
) -> MemoryProfile:
    gpu = question.gpu or question.case.gpu or f"{request.card.memory_gib:g} GiB"
    names = question.model_names or ("model",)
    model = next((name for name in names if "/" in name), names[-1])
    parallel = request.arguments
    version = question.version or "unknown"
    parts = (model.rsplit("/", maxsplit=1)[-1], gpu, f"tp{parallel.tensor_parallel_size}", version)
    name = options.name or re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    if not re.fullmatch(r"[\w.-]+", name):
        raise InputError(f"--name {name}: letters, digits, dashes and dots only")
    return MemoryProfile(
        name=name,
        model=model,
        gpu=gpu,
        version=version,
        arguments=request.arguments,
        measured=log.measured,
        source=options.log.name,
    )


def _as_json(profile: MemoryProfile, terms: tuple[Term, ...], question: CaseRequest) -> str:
    rows = [
        {"term": term.name, "predicted": term.predicted, "measured": term.measured}
        for term in terms
    ]
    data = {
        "profile": profile.model_dump(mode="json", exclude_none=True),
        "terms": rows,
        "notes": list(question.notes),
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def _show(profile: MemoryProfile, terms: tuple[Term, ...], question: CaseRequest) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    title = f"{profile.model} on {profile.gpu}, vLLM {profile.version} ({profile.source})"
    console.print(f"[bold]{escape(title)}[/]")
    table = Table("term", "predicted", "measured", "difference", box=None, pad_edge=False)
    for term in terms:
        both = term.predicted is not None and term.measured is not None
        change = (term.measured or 0) - (term.predicted or 0)
        table.add_row(
            term.name,
            _number(term.predicted),
            _number(term.measured),
            f"{change:+,.2f}" if both else "-",
        )
    console.print(table)
    for note in question.notes:
        console.print(f"- {escape(note)}")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
