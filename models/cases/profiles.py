"""A memory profile: what one run measured, and which other runs it holds for. Pure.

A profile belongs to a model, a card, a release and the arguments that memory outside the KV cache
depends on. `models/cases/calibration.py` puts it in place of the estimate.
"""

from collections.abc import Iterable
from typing import Final

from models.cases.asking import Asked
from models.core.base import Model
from models.engine.startup_log import Measured
from models.facts.catalog import plain_name
from models.memory import Arguments, BudgetRequest, behavior_of
from models.memory.inputs.request import resolve


class MemoryProfile(Model):
    """One run's measurements with what they hold for. `source` says which log they come from."""

    name: str
    model: str
    gpu: str
    version: str
    arguments: Arguments
    measured: Measured
    source: str


_SAME: Final = (
    "tensor",
    "pipeline",
    "data",
    "expert_parallel",
    "context",
    "speculative_tokens",
    "language_model_only",
    "cpu_offload_gib",
)
"""Arguments that a profile must share with a run: other values load or allocate other things."""


def fitting(profiles: Iterable[MemoryProfile], asked: Asked) -> MemoryProfile | None:
    """Return the profile of the run most like the one that is asked for, or None."""
    request = asked.request
    if request is None or asked.version is None:
        return None
    found = [profile for profile in profiles if _fits(profile, asked, request)]
    return min(found, key=lambda each: _distance(each, request), default=None)


def _fits(profile: MemoryProfile, asked: Asked, request: BudgetRequest) -> bool:
    names = {plain_name(name) for name in asked.model_names}
    cards = {plain_name(name) for name in (asked.gpu, asked.case.gpu or "") if name}
    mine, theirs = profile.arguments, request.arguments
    return (
        plain_name(profile.model) in names
        and plain_name(profile.gpu) in cards
        and behavior_of(profile.version).release == behavior_of(asked.version).release
        and all(getattr(mine, name) == getattr(theirs, name) for name in _SAME)
        and _formats(request, mine) == _formats(request, theirs)
    )


def _formats(request: BudgetRequest, arguments: Arguments) -> tuple[str, str, str | None]:
    """Return the dtypes and the quantization, which a log prints and an `auto` resolves to."""
    resolved = resolve(request.model_copy(update={"arguments": arguments}))
    stated = request.architecture.quantization is not None
    return resolved.dtype, resolved.cache_dtype, None if stated else arguments.quantization


def _distance(profile: MemoryProfile, request: BudgetRequest) -> tuple[bool, int, int]:
    mine, theirs = profile.arguments, request.arguments
    return (
        mine.enforce_eager != theirs.enforce_eager,
        abs((mine.max_num_batched_tokens or 0) - (theirs.max_num_batched_tokens or 0)),
        abs((mine.max_num_seqs or 0) - (theirs.max_num_seqs or 0)),
    )
