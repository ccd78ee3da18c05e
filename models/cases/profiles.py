"""A memory profile: what one run measured, and which other runs it holds for. Pure.

A profile belongs to a model, a card, a release and the arguments that memory outside the KV cache
depends on. `models/cases/calibration.py` puts it in place of the estimate.
"""

from collections.abc import Iterable
from typing import Final

from pydantic import SerializerFunctionWrapHandler, field_serializer, field_validator

from models.architecture.config.fields import is_mapping
from models.cases.asking import CaseRequest
from models.core.base import Model
from models.engine.arguments import ARGUMENTS, EngineArguments
from models.engine.startup_log import Measured
from models.facts.borders import Borders
from models.facts.catalog import plain_name
from models.memory import BudgetRequest, behavior_of
from models.memory.inputs.request import resolve


class MemoryProfile(Model):
    """One run's measurements with what they hold for. `source` says which log they come from."""

    name: str
    model: str
    gpu: str
    version: str
    arguments: EngineArguments
    measured: Measured
    source: str

    @field_validator("arguments", mode="before")
    @classmethod
    def _read(cls, arguments: object) -> object:
        """Take arguments as files name them."""
        if not is_mapping(arguments):
            return arguments
        names = {row.stored: row.name for row in ARGUMENTS.values()}
        return {names.get(name, name): value for name, value in arguments.items()}

    @field_serializer("arguments", mode="wrap")
    def _write(
        self, arguments: EngineArguments, dump: SerializerFunctionWrapHandler
    ) -> dict[str, object]:
        """Name arguments as files do."""
        held: dict[str, object] = dump(arguments)
        return {ARGUMENTS[name].stored: value for name, value in held.items()}


_LOADS: Final = tuple(row.name for row in ARGUMENTS.values() if row.loads)
"""Arguments that a profile must share with a run."""


def fitting(
    profiles: Iterable[MemoryProfile], question: CaseRequest, borders: Borders
) -> MemoryProfile | None:
    """Return the profile of the run most like the one that is asked for, or None."""
    request = question.request
    if request is None or question.version is None:
        return None
    found = [profile for profile in profiles if _fits(profile, question, request, borders)]
    return min(found, key=lambda each: _distance(each, request), default=None)


def _release(version: str | None, borders: Borders) -> tuple[int, int]:
    return behavior_of(version, borders).release


def _fits(
    profile: MemoryProfile, question: CaseRequest, request: BudgetRequest, borders: Borders
) -> bool:
    names = {plain_name(name) for name in question.model_names}
    cards = {plain_name(name) for name in (question.gpu, question.case.gpu or "") if name}
    mine, theirs = profile.arguments, request.arguments
    return (
        plain_name(profile.model) in names
        and plain_name(profile.gpu) in cards
        and _release(profile.version, borders) == _release(question.version, borders)
        and all(getattr(mine, name) == getattr(theirs, name) for name in _LOADS)
        and _formats(request, mine) == _formats(request, theirs)
    )


def _formats(request: BudgetRequest, arguments: EngineArguments) -> tuple[str, str, str | None]:
    """Return the dtypes and the quantization, which a log prints and an `auto` resolves to."""
    resolved = resolve(request.model_copy(update={"arguments": arguments}))
    stated = request.architecture.quantization is not None
    return resolved.dtype, resolved.kv_cache_dtype, None if stated else arguments.quantization


def _distance(profile: MemoryProfile, request: BudgetRequest) -> tuple[bool, int, int]:
    mine, theirs = profile.arguments, request.arguments
    return (
        mine.enforce_eager != theirs.enforce_eager,
        abs((mine.max_num_batched_tokens or 0) - (theirs.max_num_batched_tokens or 0)),
        abs((mine.max_num_seqs or 0) - (theirs.max_num_seqs or 0)),
    )
