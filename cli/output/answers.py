"""From a case to its answer: the budget, with what was assumed and measured told in the reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from models.cases.asking import CaseRequest, Sources, ask
from models.cases.calibration import budget_with
from models.cases.cases import Case
from models.cases.profiles import MemoryProfile, fitting
from models.core.findings import Finding, Severity
from models.core.problems import ProblemsError
from models.core.rule_ids import BYTE_RULES
from models.facts.borders import Borders
from models.memory import Budget, BudgetRequest, Verdict, budget
from models.memory.calculator import CalculatorResult

_OTHER_MAKES_KEEP: Final = 0.2
"""Share of a device that is neither CUDA nor ROCm that the bound leaves to what is not known there:
an assumption (the one such run in the data took 15 % more than was estimated)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OldNumber:
    """What the old calculator says of the same flags, and why ours differs."""

    result: CalculatorResult | None
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One answer. `request` is None where inputs do not suffice; `notes` are what was assumed."""

    id: str
    budget: Budget
    request: BudgetRequest | None = None
    notes: tuple[str, ...] = ()
    old: OldNumber | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is what it is, then what was assumed or measured."""
        return tuple(dict.fromkeys((*self.budget.reasons, *self.notes, *self.budget.notes)))


def unknown(id_: str, reasons: Sequence[str], notes: Sequence[str] = ()) -> Answer:
    """Return the answer where inputs do not suffice; `reasons` name what is missing."""
    missing = tuple(Finding("", reason, Severity.UNKNOWN) for reason in reasons)
    found = Budget(verdict=Verdict.UNKNOWN, refusals=missing)
    return Answer(id=id_, budget=found, notes=tuple(notes))


def answer(
    case: Case,
    known: Sources,
    profiles: Sequence[MemoryProfile] = (),
    config: Mapping[str, JsonValue] | None = None,
    *,
    gpus_unknown: bool = False,
) -> Answer:
    """Return the budget of a case, measured where a profile fits, estimated elsewhere.

    `gpus_unknown` says that the run had GPUs whose number nobody wrote down.
    """
    question = ask(case, known, config)
    name = case.id or case.model or "budget"
    if question.request is None:
        return unknown(name, question.missing, question.notes)
    try:
        found = _budget(question, question.request, profiles, known.catalog.borders)
    except ProblemsError as error:
        return unknown(name, [problem.ruled for problem in error.problems], question.notes)
    if question.other_make:
        found = _with_wider_bound(found, question.request)
    if gpus_unknown:
        found = _without_gpus(found)
    return Answer(id=name, budget=found, request=question.request, notes=question.notes)


def _budget(
    question: CaseRequest,
    request: BudgetRequest,
    profiles: Sequence[MemoryProfile],
    borders: Borders,
) -> Budget:
    profile = fitting(profiles, question, borders)
    return budget(request) if profile is None else budget_with(request, profile)


def _with_wider_bound(fit: Budget, request: BudgetRequest) -> Budget:
    """Return a budget whose bound leaves room for the overheads of another make."""
    low = fit.kv_cache_gib_low
    if low is None:
        return fit
    kept = _OTHER_MAKES_KEEP * request.card.memory_gib
    return fit.model_copy(update={"kv_cache_gib_low": max(0.0, low - kept)})


def _without_gpus(fit: Budget) -> Budget:
    """Return an unknown verdict where one GPU, the default, is what does not suffice."""
    refused = fit.verdict in (Verdict.CANNOT_START, Verdict.CANNOT_SERVE)
    if not refused or not BYTE_RULES.issuperset(fit.rules):
        return fit
    alone = (replace(each, message=f"on one GPU: {each.message}") for each in fit.refusals)
    missing = Finding("", "n_gpus and tp: neither is known", Severity.UNKNOWN)
    refusals = (missing, *alone)
    return fit.model_copy(update={"verdict": Verdict.UNKNOWN, "refusals": refusals})
