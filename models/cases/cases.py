"""What a budget is asked for as people write it: one line of `--cases`, or one command's options.

`Case` holds the fields of such a line (docs/cli.md); null or absent means the release's default.
What a line says was observed is never read. Pure: `models/cases/asking.py` turns a case into a
request.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field, JsonValue, ValidationError

from models.cases.case_flags import with_flags
from models.core.problems import ProblemsError, from_validation
from models.engine.arguments import ARGUMENTS, Count, EngineArguments, ValueKind, kinds_of
from models.engine.values import NONE_WORDS, READERS, count_of
from models.facts.contract import EngineContract

MemoryGib = Annotated[float, Field(gt=0, le=2**20, allow_inf_nan=False)]


class Case(EngineArguments):
    """One question: a model, a card, a release, and engine arguments.

    Lines call arguments by their short names (`tp`) or by the engine's.
    """

    id: str = ""
    model: str | None = None
    gpu: str | None = None
    gpu_mem_gib: MemoryGib | None = None
    n_gpus: Count | None = None
    vllm_version: str | None = None

    def states(self, name: str) -> bool:
        """Tell whether the line says anything of an argument."""
        return name in self.model_fields_set


_KINDS: Final = kinds_of(Case)
_SHORT: Final[Mapping[str, str]] = {row.name: row.case for row in ARGUMENTS.values()}
_FIELDS: Final[Mapping[str, str]] = {
    **{name: name for name in Case.model_fields},
    **{short: name for name, short in _SHORT.items()},
}
NAMES: Final = tuple(_SHORT.get(name, name) for name in Case.model_fields)
"""What the fields of a line are called."""

_NOT_INPUTS: Final = frozenset(
    {"source", "source_url", "observed", "class", "quote", "confidence", "notes"}
)


def is_field(name: str) -> bool:
    """Tell whether a line may have a field of that name."""
    return name in _FIELDS


def case_of(
    line: Mapping[str, JsonValue], engines: Mapping[str, EngineContract]
) -> tuple[Case, tuple[str, ...]]:
    """Return a line as a case, and the fields in it that are not used.

    `engines` are the contracts by release, oldest first: flags inside a line are read as the
    line's release reads them, or as the newest does.

    Raises:
        ProblemsError: naming every field that cannot be read.

    """
    given = dict(_named(with_flags(dict(_named(line)), engines)))
    tidied = {name: _tidied(name, given[name]) for name in Case.model_fields if name in given}
    try:
        case = Case.model_validate({k: v for k, v in tidied.items() if v is not None})
    except ValidationError as error:
        problems = [
            replace(problem, path=_SHORT.get(problem.path, problem.path))
            for problem in from_validation(error)
        ]
        raise ProblemsError("case", problems) from None
    unused = {name for name, value in given.items() if value is not None}
    return case, tuple(sorted(unused - set(Case.model_fields) - _NOT_INPUTS))


def _named(line: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield fields by their names in `Case`; null says nothing, so that it hides nothing."""
    for name, value in sorted(line.items(), key=lambda field: field[1] is not None):
        yield _FIELDS.get(name, name), value


def _tidied(name: str, value: JsonValue) -> JsonValue:
    """Return a value as the field takes it where people write the same thing otherwise."""
    kind = _KINDS[name]
    if isinstance(value, str):
        return _tidied_text(name, value.strip())
    if kind is ValueKind.TEXT and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, float) and value.is_integer() and kind is not ValueKind.NUMBER:
        value = int(value)
    if name == "max_model_len" and value == -1:
        return None
    if kind is ValueKind.SWITCH and value in (0, 1):
        return bool(value)
    if name == _EXPERT and type(value) is int and 1 < value <= 2**40:
        return True
    if kind is ValueKind.NUMBER and type(value) is int:
        return float(value)
    return value


_EXPERT: Final = "enable_expert_parallel"
"""A switch that lines may also give as the number of expert-parallel ranks."""


def _tidied_text(name: str, text: str) -> JsonValue:
    kind = _KINDS[name]
    if name == "id":
        return text
    if text.lower() in NONE_WORDS or (name == "max_model_len" and text.lower() == "auto"):
        return None
    if kind is ValueKind.TEXT:
        return text
    if kind is ValueKind.SWITCH and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"\d+", text.replace(",", "")):
        return _tidied(name, int(text.replace(",", "")))
    counted = count_of(text)
    if counted is not None and kind is not ValueKind.NUMBER:
        return counted
    return float(text) if re.fullmatch(r"\d*\.\d+", text) else text


def arguments_of_case(case: Case) -> EngineArguments:
    """Return the engine arguments of a case.

    Without a tensor parallel size the GPUs that are given are shared by the other forms of
    parallelism first.
    """
    given: dict[str, object] = {name: getattr(case, name) for name in ARGUMENTS}
    given |= {name: read(getattr(case, name)) for name, read in READERS.items()}
    if not case.states("tensor_parallel_size"):
        others = case.pipeline_parallel_size * case.data_parallel_size
        given["tensor_parallel_size"] = max(1, (case.n_gpus or 1) // others)
    return EngineArguments.model_validate(given)
