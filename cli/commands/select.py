"""`triplane select`: from a model to its family, format, engine arguments and cache strategy."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from catalog.loader import load
from cli.errors import ExitCode, InputError
from cli.options.select import SelectOptions
from cli.reading.model_source import find_model, subject_of
from models.engine.profiles import EngineOverrides, Environment
from models.facts.accelerators import Accelerator
from models.facts.catalog import Catalog
from models.facts.contract import EngineContract
from models.serving.selection import ModelCandidate, Selection, select, smallest


def run(options: SelectOptions) -> int:
    """Answer, print and return the exit code."""
    names = (*options.models, *options.model)
    if not names:
        raise InputError("say which model: --model DIRECTORY, config.json or a catalog name")
    if options.tp is not None and not options.gpu:
        raise InputError("--tp: say on which card, with --gpu")
    catalog = load()
    cards = [card_of(catalog, text) for text in options.gpu]
    subjects = [subject_of(find_model(text, catalog), catalog, options.format) for text in names]
    answers = [_selections(options, subject, catalog, cards) for subject in subjects]
    rows = [_row(subject, found) for subject, found in zip(subjects, answers, strict=True)]
    if options.as_json:
        data = rows if len(rows) > 1 else rows[0]
        print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _show(subjects, answers)
    good = all(selection.good for found in answers for selection in found)
    return ExitCode.GOOD if good else ExitCode.FINDING


def card_of(catalog: Catalog, text: str) -> Accelerator:
    """Return the card that a name means. Raises `InputError` naming those that are known."""
    found = catalog.accelerator_of(text)
    if found is None:
        names = ", ".join(sorted(catalog.accelerators))
        raise InputError(f"{text}: no such card in the catalog; there are {names}")
    return found


def contract_of(catalog: Catalog, version: str) -> EngineContract:
    """Return the contract of a release. Raises `InputError` naming those that are known."""
    found = catalog.engines.get(version)
    if found is None:
        names = ", ".join(sorted(catalog.engines))
        raise InputError(f"{version}: no contract of this release; there are {names}")
    return found


def _selections(
    options: SelectOptions, subject: ModelCandidate, catalog: Catalog, cards: Sequence[Accelerator]
) -> list[Selection]:
    contract = contract_of(catalog, options.vllm_version or subject.entry.engine)
    overrides = EngineOverrides(max_model_len=options.max_model_len)
    environments = options.env or tuple(Environment)
    if not cards:
        known = tuple(catalog.accelerators.values())
        return [smallest(subject, each, known, contract, overrides) for each in environments]
    return [
        select(subject, each, card, contract, overrides, options.tp)
        for each in environments
        for card in cards
    ]


def _row(subject: ModelCandidate, selections: Sequence[Selection]) -> dict[str, JsonValue]:
    return {
        "model": subject.entry.name,
        "repository": subject.entry.repository,
        "family": subject.architecture.family.value,
        "format": subject.format.format,
        "format_reason": subject.format.why,
        "max_positions": subject.architecture.max_positions,
        "selections": [selection.model_dump(mode="json") for selection in selections],
    }


def _show(subjects: Sequence[ModelCandidate], answers: Sequence[Sequence[Selection]]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    for subject, found in zip(subjects, answers, strict=True):
        family, chosen = subject.architecture.family.value, subject.format
        console.print(f"[bold]{escape(subject.entry.name)}[/]: family {family}")
        console.print(f"format {escape(chosen.format)} ({escape(chosen.why)})", soft_wrap=True)
        for selection in found:
            _show_one(selection)


def _show_one(selection: Selection) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    style = "green" if selection.good else "red"
    legal = ", ".join(map(str, selection.legal_tensor_parallel))
    console.print(
        f"\n[bold]{selection.environment.value}[/] on {selection.gpus} x {selection.gpu}: "
        f"[{style}]{selection.verdict.value}[/] (tensor parallel sizes {legal})",
        soft_wrap=True,
    )
    table = Table("argument", "value", "why", box=None, pad_edge=False)
    for each in selection.arguments:
        value = (each.value or "") if each.passed else "[dim]left out[/]"
        table.add_row(escape(each.option), value if not each.passed else escape(value), each.why)
    console.print(table)
    cache = selection.cache
    line = f"cache: {cache.kind}, prefix caching {cache.prefix_caching}; {cache.why}"
    console.print(line, soft_wrap=True)
    for kind, lines in (
        ("problem", selection.problems),
        ("why", selection.reasons),
        ("remedy", selection.remedies),
        ("note", selection.notices),
    ):
        for line in lines:
            console.print(f"[bold]{kind}[/]: {escape(line)}", soft_wrap=True)
    console.print(escape("vllm serve " + " ".join(selection.command)), soft_wrap=True)
