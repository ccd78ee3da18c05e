"""Real runs of vLLM (docs/sources.md#runs-of-the-engine) as budget requests, and what was observed.

A line becomes a request by the code that `triplane budget --cases` uses; `observed` is read only by
whoever compares. A run whose model, card or number of GPUs is not known has no request and says so.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from pydantic import JsonValue

from catalog.loader import load
from catalog.readers import names as tables
from catalog.readers.tables import gpu_families
from models.architecture.names.names import ModelNames
from models.cases.asking import Sources, ask
from models.cases.cards import CardNames
from models.cases.cases import Case as Question
from models.cases.cases import arguments_of_case
from models.cases.cases import case_of as question_of
from models.engine.arguments import EngineArguments
from models.facts.catalog import Catalog
from models.memory import BudgetRequest

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT.parent / "shared" / "data"

Line = Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCase:
    """One run. `request` is None where inputs do not suffice; `missing` names them."""

    id: str
    source: str
    kind: str
    request: BudgetRequest | None
    missing: str | None
    observed: Mapping[str, JsonValue]

    def number(self, name: str) -> float | None:
        """Return an observed number."""
        value = self.observed.get(name)
        return float(value) if isinstance(value, int | float) else None

    @property
    def started(self) -> bool:
        """Whether the engine ran."""
        return self.observed.get("oom") is not True


def model_names() -> ModelNames:
    """Return the alias table over the summaries in the data."""
    text = (DATA / "model_configs.json").read_text(encoding="utf-8")
    return tables.model_names(cast("dict[str, dict[str, JsonValue]]", json.loads(text)))


def cases() -> list[MeasuredCase]:
    """Return every run in the data."""
    known = _sources(model_names(), load())
    text = (DATA / "vram_cases.jsonl").read_text(encoding="utf-8")
    lines = [cast("Line", json.loads(line)) for line in text.splitlines() if line.strip()]
    return [_case(line, known) for line in lines]


def case_of(line: Line, names: ModelNames, catalog: Catalog) -> MeasuredCase:
    """Return one line as a case."""
    return _case(line, _sources(names, catalog))


def _sources(names: ModelNames, catalog: Catalog) -> Sources:
    cards = CardNames(catalog.accelerators, tables.other_gpus(), gpu_families())
    return Sources(catalog=catalog, names=names, cards=cards, pinned=False)


def _case(line: Line, known: Sources) -> MeasuredCase:
    request, missing = _request(question_of(line, known.catalog.engines)[0], known)
    observed = line.get("observed")
    return MeasuredCase(
        id=str(line["id"]),
        source=str(line.get("source")),
        kind=str(line.get("class")),
        request=request,
        missing=missing,
        observed=observed if isinstance(observed, Mapping) else {},
    )


def _request(question: Question, known: Sources) -> tuple[BudgetRequest | None, str | None]:
    if question.n_gpus is None and not question.states("tensor_parallel_size"):
        return None, "n_gpus and tp: neither is given"
    asked = ask(question, known)
    if asked.other_make:
        return None, "gpu: neither CUDA nor ROCm, which the constants are learnt for"
    return asked.request, "; ".join(asked.missing) or None


def arguments_of_line(line: Line) -> EngineArguments:
    """Return the engine arguments of a line; null or absent takes the release's default."""
    return arguments_of_case(question_of(line, load().engines)[0])
