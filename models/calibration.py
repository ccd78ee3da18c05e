"""A memory profile: what one run measured, put in place of the estimate for runs like it. Pure.

A profile belongs to a model, a card, a release and the arguments that memory outside the KV cache
depends on. Length, sequences, tokens per step and utilisation may differ: terms keep the model's
shape and are corrected by what was measured. The correction goes through the memory model's own
constants (`Fitted`), so that verdict, bound and remedies follow from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from models.asking import Asked
from models.base import Model
from models.catalogue import plain_name
from models.memory import Arguments, Budget, BudgetRequest, behaviour_of, budget
from models.memory.constants import FITTED, Fitted
from models.memory.measure import Measure, measure
from models.memory.terms import activation_gib
from models.startup_log import Measured

_BOUND_LEFT: Final = 0.1
"""What is left of the conservative bound once a run was measured: rounding of the log, other
ranks, drivers. An assumption, not a fit: pairs of logs of one configuration are too few."""


class MemoryProfile(Model):
    """One run's measurements with what they hold for. `source` says which log they come from."""

    name: str
    model: str
    gpu: str
    version: str
    arguments: Arguments
    measured: Measured
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """One term as it was estimated and as it was measured (None: the log does not say), GiB."""

    name: str
    predicted: float | None
    measured: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """The memory model corrected by a profile.

    `weights_gib` is what the weights differ from the estimate by; it is carried in the constants
    as non-torch memory and put back where a budget is told.
    """

    fitted: Fitted
    weights_gib: float
    replaced: tuple[str, ...]


_SAME: Final = (
    "tensor",
    "pipeline",
    "data",
    "expert_parallel",
    "context",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "speculative_tokens",
    "language_model_only",
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
        and behaviour_of(profile.version).release == behaviour_of(asked.version).release
        and all(_plain(mine, name) == _plain(theirs, name) for name in _SAME)
    )


def _plain(arguments: Arguments, name: str) -> object:
    value: object = getattr(arguments, name)
    return None if value == "auto" else value


def _distance(profile: MemoryProfile, request: BudgetRequest) -> tuple[bool, int, int]:
    mine, theirs = profile.arguments, request.arguments
    return (
        mine.enforce_eager != theirs.enforce_eager,
        abs((mine.max_num_batched_tokens or 0) - (theirs.max_num_batched_tokens or 0)),
        abs((mine.max_num_seqs or 0) - (theirs.max_num_seqs or 0)),
    )


def correction(profile: MemoryProfile, request: BudgetRequest) -> Correction:
    """Return the memory model as the profile's run corrects it for `request`."""
    run = _run(profile, request)
    taken, seen = measure(run), profile.measured
    deducted = run.behaviour.graphs_deducted
    replaced: list[str] = []

    def known(name: str, value: float | None, otherwise: float) -> float:
        if value is None:
            return otherwise
        replaced.append(name)
        return value

    guess = taken.weights_gib or 0.0
    loaded = _loaded_gib(seen, taken)
    weights = known("weights", loaded, guess)
    outside = known("non-torch", _outside_gib(seen, loaded), taken.non_torch_gib)
    counted = seen.graph_estimate_gib if deducted else seen.cuda_graph_gib
    if counted is None and deducted:
        counted = seen.cuda_graph_gib
    eager = taken.resolved.eager
    graphs = known("CUDA graphs", None if eager else counted, taken.graphs_gib)
    peak = _peak_gib(seen, taken, weights + outside, graphs if deducted else 0.0)
    fitted = FITTED
    if peak is not None:
        replaced.append("activation")
        fitted = _activation(run, taken, max(0.0, peak))
    delta = weights - guess
    shift = outside - taken.non_torch_gib + delta
    fitted = replace(
        fitted,
        context=fitted.context + shift,
        context_first=fitted.context_first + shift,
        graph_base=fitted.graph_base + graphs - taken.graphs_gib,
    )
    if peak is not None:
        fitted = _bound(fitted)
    return Correction(fitted=fitted, weights_gib=delta, replaced=tuple(replaced))


def _run(profile: MemoryProfile, request: BudgetRequest) -> BudgetRequest:
    """Return the request of the profile's own run."""
    own = request.model_copy(update={"arguments": profile.arguments})
    return _complete(own, profile.measured)


def _complete(request: BudgetRequest, seen: Measured) -> BudgetRequest:
    """Return a request on the card as the log measured it.

    Where the weights cannot be counted and were measured, any count will do: it is corrected.
    """
    card, total = request.card, seen.total_gib
    if total is not None and abs(total - card.memory_gib) < 0.1 * card.memory_gib:
        card = card.model_copy(update={"memory_gib": total})
    request = request.model_copy(update={"card": card})
    counted = measure(request).weights_gib is not None
    if counted or (seen.weights_gib is None and seen.consumed_gib is None):
        return request
    arguments = request.arguments.model_copy(update={"quantization": None})
    whole = request.architecture.model_copy(update={"incomplete": ()})
    return request.model_copy(update={"arguments": arguments, "architecture": whole})


def _loaded_gib(seen: Measured, taken: Measure) -> float | None:
    if seen.weights_gib is not None:
        return seen.weights_gib
    if seen.consumed_gib is None:
        return None
    return seen.consumed_gib - taken.non_torch_gib


def _outside_gib(seen: Measured, weights: float | None) -> float | None:
    if seen.non_torch_gib is not None:
        return seen.non_torch_gib
    if seen.consumed_gib is None or weights is None:
        return None
    return seen.consumed_gib - weights


def _peak_gib(seen: Measured, taken: Measure, consumed: float, deducted: float) -> float | None:
    """Return the activation peak: what the KV memory leaves for it, else what the log prints."""
    if seen.kv_cache_gib is not None and taken.request.arguments.kv_cache_memory_bytes is None:
        requested = seen.requested_gib or taken.requested_gib
        return requested - consumed - deducted - seen.kv_cache_gib
    if seen.peak_gib is None:
        return None
    return seen.peak_gib - (seen.graph_estimate_gib or 0.0 if seen.peak_has_graphs else 0.0)


def _activation(run: BudgetRequest, taken: Measure, peak: float) -> Fitted:
    """Scale the part that sets the peak to what was measured; the other may not exceed it."""
    resolved = taken.resolved
    none = replace(
        FITTED, sampler_sorts=0.0, sampler_fused=0.0, layer_copies=0.0, encoder_copies=0.0
    )
    floor = activation_gib(run, resolved, none)
    layer = activation_gib(run, resolved, replace(FITTED, sampler_sorts=0.0, sampler_fused=0.0))
    sampler = activation_gib(run, resolved, replace(FITTED, layer_copies=0.0, encoder_copies=0.0))
    kept = min(floor, peak)
    above = peak - kept

    def scale(part: float) -> float:
        predicted = part - floor
        if predicted <= 0:
            return 1.0
        leads = part >= max(layer, sampler)
        return above / predicted if leads else min(1.0, above / predicted)

    return replace(
        FITTED,
        activation_floor=FITTED.activation_floor + kept - floor,
        sampler_sorts=FITTED.sampler_sorts * scale(sampler),
        sampler_fused=FITTED.sampler_fused * scale(sampler),
        layer_copies=FITTED.layer_copies * scale(layer),
        encoder_copies=FITTED.encoder_copies * scale(layer),
    )


def _bound(fitted: Fitted) -> Fitted:
    left = _BOUND_LEFT
    return replace(
        fitted,
        bound=fitted.bound * left,
        bound_share=fitted.bound_share * left,
        bound_layer=fitted.bound_layer * left,
        bound_assumed=0.0,
        bound_oldest=0.0,
        bound_tower=fitted.bound_tower * left,
        bound_hybrid=fitted.bound_hybrid * left,
    )


def budget_with(request: BudgetRequest, profile: MemoryProfile) -> Budget:
    """Return the budget of a request with the profile's measurements in place of estimates."""
    corrected = correction(profile, request)
    found = budget(_complete(request, profile.measured), corrected.fitted)
    delta = corrected.weights_gib
    note = f"measured by profile {profile.name}: " + ", ".join(corrected.replaced)
    changes: dict[str, object] = {"notes": (*found.notes, note)}
    if found.weights_gib is not None and found.non_torch_gib is not None:
        changes["weights_gib"] = found.weights_gib + delta
        changes["non_torch_gib"] = found.non_torch_gib - delta
    return found.model_copy(update=changes)


def compared(profile: MemoryProfile, request: BudgetRequest) -> tuple[Term, ...]:
    """Return every term of the profile's run as it was estimated beside what was measured."""
    run = request.model_copy(update={"arguments": profile.arguments})
    said, seen = budget(run), profile.measured
    estimate = seen.graph_estimate_gib if run.behaviour.graphs_deducted else None
    peak = seen.peak_gib
    if peak is not None and seen.peak_has_graphs:
        peak -= seen.graph_estimate_gib or 0.0
    weights = seen.weights_gib
    return (
        Term(name="total_gib", predicted=run.card.memory_gib, measured=seen.total_gib),
        Term(name="requested_gib", predicted=said.requested_gib, measured=seen.requested_gib),
        Term(name="weights_gib", predicted=said.weights_gib, measured=weights),
        Term(
            name="non_torch_gib",
            predicted=said.non_torch_gib,
            measured=_outside_gib(seen, weights),
        ),
        Term(name="activation_gib", predicted=said.activation_gib, measured=peak),
        Term(
            name="cuda_graph_gib",
            predicted=said.cuda_graph_gib,
            measured=seen.cuda_graph_gib if estimate is None else estimate,
        ),
        Term(name="kv_cache_gib", predicted=said.kv_cache_gib, measured=seen.kv_cache_gib),
        Term(name="gpu_blocks", predicted=said.gpu_blocks, measured=seen.gpu_blocks),
        Term(name="kv_cache_tokens", predicted=said.kv_cache_tokens, measured=seen.kv_cache_tokens),
        Term(name="max_concurrency", predicted=said.max_concurrency, measured=seen.max_concurrency),
        Term(name="needed_kv_gib", predicted=said.needed_kv_gib, measured=seen.needed_kv_gib),
    )
