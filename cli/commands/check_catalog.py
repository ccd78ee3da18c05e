"""The catalog's gate: every LIVE and STAGED model admitted, and running on cards we have."""

import datetime
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import yaml

from catalog.loader import load
from cli.errors import InputError
from cli.reading.inputs import read_text
from models.architecture import Architecture, architecture
from models.core.findings import Finding, Severity
from models.core.problems import ProblemsError
from models.core.rule_ids import GateRule
from models.engine.profiles import EngineOverrides, Environment, Parallelism
from models.engine.serve import command_line, problems_of
from models.facts.accelerators import Accelerator
from models.facts.catalog import Catalog, CatalogModel, ModelStatus
from models.memory import Budget, BudgetRequest, Verdict, budget
from models.plan.plan import PlannedPool
from models.plan.resolve.stack import resolve
from models.serving.admission import entry_problems
from models.serving.chosen_arguments import choose
from models.serving.reasons import ArgumentInputs
from models.serving.splits import legal_tensor_parallel
from models.settings.settings import parse

_SERVED: Final = (ModelStatus.LIVE, ModelStatus.STAGED)
_KEY: Final = "triplane:platform"
_LONGEST: Final = 700


def catalog_findings() -> Iterator[tuple[Finding, str]]:
    """Yield what stands against entries of the catalog, each with its file."""
    try:
        catalog = load()
    except ProblemsError as error:
        for problem in error.problems:
            yield replace(problem, rule=GateRule.ENTRY_IS_WHOLE, subject="Model/catalog"), "catalog"
        return
    for name, model in catalog.models.items():
        if model.entry.status is ModelStatus.RETIRED:
            continue
        file = f"catalog/models/{name}.yaml"
        problems = entry_problems(model, path=name, subject=name)
        for problem in problems:
            yield replace(problem, rule=GateRule.ENTRY_IS_WHOLE, subject=f"Model/{name}"), file
        if not model.entry.resolved:
            severity = Severity.WARNING
            message = "the revision is not resolved, so prod refuses the model"
            remedy = "write the hub's commit into the entry"
            yield _finding(GateRule.ENTRY_IS_WHOLE, name, message, remedy, severity), file
        if not problems:
            for found in _placement_findings(name, model, catalog):
                yield found, file


def _finding(
    rule: str, name: str, message: str, remedy: str | None, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        subject=f"Model/{name}",
        path="",
        message=message,
        remedy=remedy or "correct the catalog entry",
    )


def _placement_findings(name: str, model: CatalogModel, catalog: Catalog) -> Iterator[Finding]:
    """Yield what keeps a model from every card: memory, or arguments that are refused."""
    shape = architecture(model.config)
    places: list[str] = []
    refused: list[str] = []
    for card in catalog.accelerators.values():
        if not card.instance_types:
            continue
        for problem in _argument_problems(shape, model, card, catalog):
            message = f"on {card.name}: {problem.message}"
            yield replace(
                problem, rule=GateRule.MODEL_FITS, subject=f"Model/{name}", message=message
            )
        size, fit = _smallest(shape, model, card, catalog)
        if size is not None:
            places.append(f"{size} x {card.name}")
        elif fit is not None:
            refused.append(f"{card.name}: {'; '.join(fit.reasons)}")
    if not places:
        message = "no node of any card of the catalog holds the model"
        yield _finding(GateRule.MODEL_FITS, name, f"{message}: {' | '.join(refused)[:600]}", None)


def stack_gate(path: Path) -> Iterator[tuple[Finding, str]]:
    """Yield what stands against a stack's settings, and the models that none of its pools holds.

    What the settings place must fit: an error. Of the others every LIVE model is asked for, and
    the STAGED ones outside prod, as that environment configures them: a warning. Raises
    `InputError` where the file holds no settings.
    """
    file = str(path)
    catalog = load()
    today = datetime.datetime.now(datetime.UTC).date()
    try:
        settings = parse(settings_text(path))
    except ProblemsError as error:
        yield from ((each, file) for each in _problems(error))
        return
    try:
        plan = resolve(settings, catalog, today)
    except ProblemsError as error:
        yield from ((each, file) for each in _problems(error))
        try:
            plan = resolve(settings.model_copy(update={"models": ()}), catalog, today)
        except ProblemsError:
            return
    pools = [pool for region in plan.regions for pool in region.pools if pool.accelerator]
    allowed = (ModelStatus.LIVE,) if settings.environment is Environment.PROD else _SERVED
    for name, model in catalog.models.items():
        if model.entry.status in allowed and not entry_problems(model, path=name, subject=name):
            for found in _on_pools(name, model, pools, catalog, settings.environment):
                yield found, file


def _problems(error: ProblemsError) -> Iterator[Finding]:
    for problem in error.problems:
        yield replace(
            problem, rule=GateRule.MODEL_FITS_STACK, subject=problem.subject or "settings"
        )


def _on_pools(
    name: str,
    model: CatalogModel,
    pools: Sequence[PlannedPool],
    catalog: Catalog,
    environment: Environment,
) -> Iterator[Finding]:
    shape = architecture(model.config)
    refused: dict[str, str] = {}
    for pool in pools:
        assert pool.accelerator is not None
        size, fit = _smallest(
            shape,
            model,
            pool.accelerator,
            catalog,
            environment=environment,
            most=pool.shape.gpus,
        )
        if size is not None:
            return
        why = "; ".join(fit.reasons) if fit is not None else "it cannot be split over its GPUs"
        refused[pool.name] = why or "within the bound it does not"
    said = " | ".join(f"{pool}: {why}" for pool, why in refused.items()) or "it has no GPUs"
    message = f"no pool of the stack holds the model: {said}"[:_LONGEST]
    remedy = "add a pool with larger cards or more of them a node, before the stack serves it"
    yield _finding(GateRule.MODEL_FITS_STACK, name, message, remedy, Severity.WARNING)


def settings_text(path: Path) -> str:
    """Return the settings that a `Pulumi.<stack>.yaml` holds, as JSON text. Raises `InputError`."""
    try:
        held: object = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: is not YAML: {' '.join(str(error).split())[:200]}") from None
    value: object = held
    for key in ("config", _KEY):
        value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    if value is None:
        raise InputError(f"{path}: holds no {_KEY}; give a stack's Pulumi.<stack>.yaml")
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _wanted(
    shape: Architecture,
    model: CatalogModel,
    card: Accelerator,
    catalog: Catalog,
    size: int,
    environment: Environment = Environment.PROD,
) -> ArgumentInputs:
    return ArgumentInputs(
        environment=environment,
        entry=model.entry,
        architecture=shape,
        accelerator=card,
        contract=catalog.engines[model.entry.engine],
        parallelism=Parallelism(tensor=size),
        overrides=EngineOverrides(),
        path=model.entry.name,
    )


def _argument_problems(
    shape: Architecture, model: CatalogModel, card: Accelerator, catalog: Catalog
) -> list[Finding]:
    """Return what the engine's parser refuses of the arguments chosen for a card."""
    contract = catalog.engines[model.entry.engine]
    choice, _ = choose(_wanted(shape, model, card, catalog, 1))
    words = command_line(choice.arguments, contract)
    return problems_of(words, contract, model.entry.name)


def _smallest(
    shape: Architecture,
    model: CatalogModel,
    card: Accelerator,
    catalog: Catalog,
    *,
    environment: Environment = Environment.PROD,
    most: int = 64,
) -> tuple[int | None, Budget | None]:
    """Return the fewest GPUs (`most` of a node) that hold the model, or the last refusal."""
    contract = catalog.engines[model.entry.engine]
    fit: Budget | None = None
    for size in legal_tensor_parallel(shape, card, contract):
        if size > most:
            break
        choice, problems = choose(_wanted(shape, model, card, catalog, size, environment))
        if problems:
            continue
        goldens = catalog.goldens_of(model, contract.version)
        fit = budget(BudgetRequest.of(shape, card, contract, choice.arguments, goldens=goldens))
        if fit.verdict is Verdict.FITS and fit.is_within_bound:
            return size, fit
    return None, fit
