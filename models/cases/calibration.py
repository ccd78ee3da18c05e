"""The memory model corrected by what one run measured. Pure.

Terms keep the model's shape, so that length, sequences, tokens per step and utilization may differ
from the run's. The correction goes through the memory model's own constants (`Fitted`), so that
verdict, bound and remedies follow from it.
"""

from dataclasses import dataclass, replace
from typing import Final

from models.cases.profiles import MemoryProfile
from models.engine.startup_log import Measured
from models.memory import Budget, BudgetRequest, TermSource, budget
from models.memory.terms.constants import FITTED, Fitted
from models.memory.terms.peaks import activation_gib
from models.memory.verdict.measure import Measure, measure

_BOUND_LEFT: Final = 0.1
"""What is left of the conservative bound once a run was measured: rounding of the log, other
ranks, drivers. An assumption, not a fit: pairs of logs of one configuration are too few."""


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


def correction(profile: MemoryProfile, request: BudgetRequest) -> Correction:
    """Return the memory model as the profile's run corrects it for `request`."""
    run = _run(profile, request)
    taken, seen = measure(run), profile.measured
    guess = taken.weights_gib or 0.0
    loaded = _loaded_gib(seen, taken)
    outside = _outside_gib(seen, loaded)
    consumed = None if loaded is None or outside is None else loaded + outside
    graphs = _graphs_gib(seen, taken, consumed)
    peak = _peak_gib(seen, taken, guess if loaded is None else loaded, outside, graphs)
    terms = {"weights": loaded, "non-torch": outside, "CUDA graphs": graphs, "activation": peak}
    replaced = tuple(name for name, value in terms.items() if value is not None)
    weights = guess if loaded is None else loaded
    fitted = FITTED
    if peak is not None and loaded is None:
        # The log has the KV cache only: what it leaves is most likely the weights' error.
        weights += peak - taken.activation_gib
    elif peak is not None:
        weights += min(0.0, peak)
        fitted = _activation(run, taken, max(0.0, peak))
    delta = weights - guess
    shift = delta + (0.0 if outside is None else outside - taken.non_torch_gib)
    fitted = replace(
        fitted,
        context=fitted.context + shift,
        context_first=fitted.context_first + shift,
        graph_base=fitted.graph_base + (0.0 if graphs is None else graphs - taken.graphs_gib),
    )
    if peak is not None:
        fitted = _bound(fitted)
    return Correction(fitted=fitted, weights_gib=delta, replaced=replaced)


def _graphs_gib(run: Measured, estimate: Measure, consumed: float | None) -> float | None:
    """Return what graphs took: of the KV cache where they are deducted, else of what is beside it.

    A log that has every other term tells the deduction by what is left, whatever capturing took.
    """
    if estimate.resolved.enforce_eager:
        return None
    captured = None if run.cuda_graph_gib is None else max(0.0, run.cuda_graph_gib)
    if not estimate.request.behavior.graphs_deducted:
        return captured
    if run.graph_estimate_gib is not None:
        return run.graph_estimate_gib
    if None in (consumed, run.peak_gib, run.kv_cache_gib) or run.peak_has_graphs:
        return captured
    requested = run.requested_gib or estimate.requested_gib
    left = requested - (consumed or 0.0) - (run.peak_gib or 0.0) - (run.kv_cache_gib or 0.0)
    return max(0.0, left)


def _run(profile: MemoryProfile, request: BudgetRequest) -> BudgetRequest:
    """Return the request of the profile's own run."""
    own = request.model_copy(update={"arguments": profile.arguments})
    return _complete(own, profile.measured)


def _complete(request: BudgetRequest, run: Measured) -> BudgetRequest:
    """Return a request on the card as the log measured it.

    Where the weights cannot be counted and were measured, any count will do: it is corrected.
    """
    card, total = request.card, run.total_gib
    if total is not None and abs(total - card.memory_gib) < 0.1 * card.memory_gib:
        card = card.model_copy(update={"memory_gib": total})
    request = request.model_copy(update={"card": card})
    counted = measure(request).weights_gib is not None
    if counted or (run.weights_gib is None and run.consumed_gib is None):
        return request
    arguments = request.arguments.model_copy(update={"quantization": None})
    whole = request.architecture.model_copy(update={"incomplete": ()})
    return request.model_copy(update={"arguments": arguments, "architecture": whole})


def _loaded_gib(run: Measured, estimate: Measure) -> float | None:
    if run.weights_gib is not None:
        return run.weights_gib
    if run.consumed_gib is None:
        return None
    return run.consumed_gib - estimate.non_torch_gib


def _outside_gib(run: Measured, weights: float | None) -> float | None:
    if run.non_torch_gib is not None:
        return run.non_torch_gib
    if run.consumed_gib is None or weights is None:
        return None
    return run.consumed_gib - weights


def _peak_gib(
    run: Measured, estimate: Measure, weights: float, outside: float | None, graphs: float | None
) -> float | None:
    """Return the activation peak: what the KV memory leaves for it, else what the log prints."""
    if run.kv_cache_gib is not None and estimate.request.arguments.kv_cache_memory_bytes is None:
        requested = run.requested_gib or estimate.requested_gib
        other = estimate.non_torch_gib if outside is None else outside
        captured = estimate.graphs_gib if graphs is None else graphs
        deducted = captured if estimate.request.behavior.graphs_deducted else 0.0
        return requested - weights - other - deducted - run.kv_cache_gib
    if run.peak_gib is None:
        return None
    return run.peak_gib - (run.graph_estimate_gib or 0.0 if run.peak_has_graphs else 0.0)


def _activation(run: BudgetRequest, estimate: Measure, peak: float) -> Fitted:
    """Correct the activation by what was measured, keeping its shape.

    What is more than estimated is a constant beside it; what is less lowers the part that leads,
    and the other so far that it does not lead instead. One run cannot tell more.
    """
    resolved = estimate.resolved
    sampler_only = replace(FITTED, layer_copies=0.0)
    layer_only = replace(FITTED, sampler_sorts=0.0, sampler_fused=0.0)
    none = replace(sampler_only, sampler_sorts=0.0, sampler_fused=0.0)
    floor = activation_gib(run, resolved, none)
    sampler = activation_gib(run, resolved, sampler_only) - floor
    layer = activation_gib(run, resolved, layer_only) - floor
    above = peak - floor
    if above >= max(sampler, layer):
        more = above - max(sampler, layer)
        return replace(FITTED, activation_floor=FITTED.activation_floor + more)
    if above <= 0:
        return replace(none, activation_floor=FITTED.activation_floor + above)
    sampled = min(1.0, above / sampler) if sampler > 0 else 1.0
    layered = min(1.0, above / layer) if layer > 0 else 1.0
    return replace(
        FITTED,
        sampler_sorts=FITTED.sampler_sorts * sampled,
        sampler_fused=FITTED.sampler_fused * sampled,
        layer_copies=FITTED.layer_copies * layered,
    )


def _bound(fitted: Fitted) -> Fitted:
    left = _BOUND_LEFT
    return replace(
        fitted,
        bound=fitted.bound * left,
        bound_fused=fitted.bound_fused * left,
        bound_layer=fitted.bound_layer * left,
        bound_assumed=0.0,
        bound_oldest=0.0,
        bound_tower=fitted.bound_tower * left,
        bound_hybrid=fitted.bound_hybrid * left,
    )


def budget_with(request: BudgetRequest, profile: MemoryProfile) -> Budget:
    """Return the budget of a request with the profile's measurements in place of estimates."""
    corrected = correction(profile, request)
    fit = budget(_complete(request, profile.measured), corrected.fitted)
    delta = corrected.weights_gib
    note = f"measured by profile {profile.name}: " + ", ".join(corrected.replaced)
    changes: dict[str, object] = {
        "notes": (*fit.notes, note),
        "sources": {**fit.sources, **_sources(corrected.replaced)},
    }
    if fit.weights_gib is not None and fit.non_torch_gib is not None:
        changes["weights_gib"] = fit.weights_gib + delta
        changes["non_torch_gib"] = fit.non_torch_gib - delta
    return fit.model_copy(update=changes)


_FIELDS: Final = {
    "weights": "weights_gib",
    "non-torch": "non_torch_gib",
    "CUDA graphs": "cuda_graph_gib",
    "activation": "activation_gib",
}


def _sources(replaced: tuple[str, ...]) -> dict[str, TermSource]:
    return {_FIELDS[name]: TermSource.PROFILE for name in replaced}


def compared(profile: MemoryProfile, request: BudgetRequest) -> tuple[Term, ...]:
    """Return every term of the profile's run as it was estimated beside what was measured."""
    run = request.model_copy(update={"arguments": profile.arguments})
    said, seen = budget(run), profile.measured
    estimate = seen.graph_estimate_gib if run.behavior.graphs_deducted else None
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
