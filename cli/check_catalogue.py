"""The catalogue's gate: every LIVE and STAGED model admitted, and running on cards we have."""

from collections.abc import Iterator
from typing import Final

from catalog.loader import load
from models.accelerators import Accelerator
from models.admission import entry_problems
from models.architecture import Architecture, architecture
from models.arguments import choose
from models.catalogue import Catalogue, CatalogueModel, Status
from models.engine import EngineOverrides, Environment, Parallelism, command_line, problems_of
from models.memory import Budget, BudgetRequest, Verdict, budget
from models.problems import ProblemsError
from models.reasons import Wanted
from models.splits import legal_tensor_parallel
from policies.finding import Finding, Severity

_FITS_RULE: Final = "catalogue-model-fits"
_ENTRY_RULE: Final = "catalogue-entry-is-whole"


def catalogue_findings() -> Iterator[tuple[Finding, str]]:
    """Yield what stands against entries of the catalogue, each with its file."""
    try:
        catalogue = load()
    except ProblemsError as error:
        for problem in error.problems:
            yield _finding(_ENTRY_RULE, "catalogue", str(problem), problem.mend), "catalog"
        return
    for name, model in catalogue.models.items():
        if model.entry.status is Status.RETIRED:
            continue
        file = f"catalog/models/{name}.yaml"
        problems = entry_problems(model, path=name, subject=name)
        for problem in problems:
            yield _finding(_ENTRY_RULE, name, problem.message, problem.mend), file
        if not model.entry.resolved:
            severity = Severity.WARNING
            message = "the revision is not resolved, so prod refuses the model"
            mend = "write the hub's commit into the entry"
            yield _finding(_ENTRY_RULE, name, message, mend, severity), file
        if not problems:
            for found in _placement_findings(name, model, catalogue):
                yield found, file


def _finding(
    rule: str, name: str, message: str, mend: str | None, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        object=f"Model/{name}",
        path="",
        message=message,
        remedy=mend or "mend the catalogue entry",
    )


def _placement_findings(
    name: str, model: CatalogueModel, catalogue: Catalogue
) -> Iterator[Finding]:
    """Yield what keeps a model from every card: memory, or arguments that are refused."""
    shape = architecture(model.config)
    places: list[str] = []
    refused: list[str] = []
    for card in catalogue.accelerators.values():
        if not card.instance_types:
            continue
        for problem in _argument_problems(shape, model, card, catalogue):
            yield _finding(_FITS_RULE, name, f"on {card.name}: {problem}", None)
        size, fit = _smallest(shape, model, card, catalogue)
        if size is not None:
            places.append(f"{size} x {card.name}")
        elif fit is not None:
            refused.append(f"{card.name}: {'; '.join(fit.reasons)}")
    if not places:
        message = "no node of any card of the catalogue holds the model"
        yield _finding(_FITS_RULE, name, f"{message}: {' | '.join(refused)[:600]}", None)


def _wanted(
    shape: Architecture, model: CatalogueModel, card: Accelerator, catalogue: Catalogue, size: int
) -> Wanted:
    return Wanted(
        environment=Environment.PROD,
        entry=model.entry,
        architecture=shape,
        accelerator=card,
        contract=catalogue.engines[model.entry.engine],
        parallelism=Parallelism(tensor=size),
        overrides=EngineOverrides(),
        path=model.entry.name,
    )


def _argument_problems(
    shape: Architecture, model: CatalogueModel, card: Accelerator, catalogue: Catalogue
) -> list[str]:
    """Return what the engine's parser refuses of the arguments chosen for a card."""
    contract = catalogue.engines[model.entry.engine]
    choice, _ = choose(_wanted(shape, model, card, catalogue, 1))
    words = command_line(choice.arguments, contract)
    return [str(problem) for problem in problems_of(words, contract, model.entry.name)]


def _smallest(
    shape: Architecture, model: CatalogueModel, card: Accelerator, catalogue: Catalogue
) -> tuple[int | None, Budget | None]:
    """Return the fewest GPUs of a card that hold the model, or the last refusal."""
    contract = catalogue.engines[model.entry.engine]
    fit: Budget | None = None
    for size in legal_tensor_parallel(shape, card, contract):
        choice, problems = choose(_wanted(shape, model, card, catalogue, size))
        if problems:
            continue
        fit = budget(BudgetRequest.of(shape, card, contract, choice.arguments))
        if fit.verdict is Verdict.FITS and fit.is_within_bound:
            return size, fit
    return None, fit
