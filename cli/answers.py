"""From a case to its answer: the budget, with what was assumed and measured told in the reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from models.asking import Asked, Sources, ask
from models.calibration import budget_with
from models.cases import Case
from models.memory import Budget, BudgetRequest, Verdict, budget
from models.memory.calculator import CalculatorResult
from models.problems import ProblemsError
from models.profiles import MemoryProfile, fitting

_BYTE_RULES: Final = frozenset({"no-memory", "mamba-blocks", "cuda-graphs", "one-request"})


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
    found = Budget(verdict=Verdict.UNKNOWN, reasons=tuple(reasons))
    return Answer(id=id_, budget=found, notes=tuple(notes))


def answer(
    case: Case,
    known: Sources,
    profiles: Sequence[MemoryProfile] = (),
    config: Mapping[str, JsonValue] | None = None,
) -> Answer:
    """Return the budget of a case, measured where a profile fits, estimated elsewhere."""
    asked = ask(case, known, config)
    name = case.id or case.model or "budget"
    if asked.request is None:
        return unknown(name, asked.missing, asked.notes)
    try:
        found = _budget(asked, asked.request, profiles)
    except ProblemsError as error:
        return unknown(name, [str(problem) for problem in error.problems], asked.notes)
    if not known.pinned and case.tp is None and case.n_gpus is None:
        found = _without_gpus(found)
    return Answer(id=name, budget=found, request=asked.request, notes=asked.notes)


def _budget(asked: Asked, request: BudgetRequest, profiles: Sequence[MemoryProfile]) -> Budget:
    profile = fitting(profiles, asked)
    return budget(request) if profile is None else budget_with(request, profile)


def _without_gpus(found: Budget) -> Budget:
    """Return an unknown verdict where one GPU, the default, is what does not suffice.

    A run that says neither its GPUs nor its tensor parallel size may well have had more.
    """
    refused = found.verdict in (Verdict.CANNOT_START, Verdict.CANNOT_SERVE)
    if not refused or not _BYTE_RULES.issuperset(found.rules):
        return found
    said = tuple(f"on one GPU: {reason}" for reason in found.reasons)
    reasons = ("n_gpus and tp: neither is given", *said)
    return found.model_copy(update={"verdict": Verdict.UNKNOWN, "reasons": reasons})
