"""Fit the terms that no source states on real runs: each from what the runs' threads imply for it.

Nothing committed is read here: what leads a peak is told by `PRIOR`, which is read in the engine's
source, and where no run is left that tells a term, `PRIOR` or a wider term of the same fit stands.
So a fit without a thread owes nothing to it.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.fit.samples import Sample
from models.memory.terms.constants import Fitted
from models.memory.terms.peaks import captured_sizes, layers_on_stage, peaks, sampler_copy_gib

PRIOR: Final = Fitted(
    sampler_sorts=8.0,
    sampler_fused=8.0,
    layer_copies=1.0,
    activation_floor=0.0,
    context_first=0.0,
    context=0.0,
    communication=0.0,
    load_cache_share=1.0,
    graph_base=0.0,
    graph_per_layer_mib=0.0,
    context_rocm=0.0,
    bound=0.0,
    bound_fused=0.0,
    bound_layer=0.0,
    bound_assumed=0.0,
    bound_oldest=0.0,
    bound_tower=0.0,
    bound_hybrid=0.0,
)
"""What is taken where no run tells. A sorting sampler holds the logits, their sorted copy, its
indices (of 64 bit), the probabilities, their sum, the noise and the result; a layer holds its
results once; a cache can keep all that was loaded and no more; the others are nothing."""

Told = tuple[str, float]
"""What a run implies for a term, with its thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FitPoint:
    """One run's value over the size that it should grow with."""

    thread: str
    size: float
    value: float


def fit_terms(runs: Sequence[Sample]) -> Fitted:
    """Return the terms; the bound is left at nothing.

    Runs that state neither their release nor their utilization teach no term: their budget is not
    known.
    """
    runs = [run for run in runs if _teaches(run)]
    first = [run for run in runs if run.taken.request.behavior.first_engine]
    second = [run for run in runs if not run.taken.request.behavior.first_engine]
    floor, sorts = line(list(_sampler_peaks(runs)), (0.0, PRIOR.sampler_sorts), relative=True)
    base, per_layer = line(list(_graphs(runs)), (0.0, 0.0))
    context = typical(_non_torch(second, ranks=1), PRIOR.context)
    fitted = replace(
        PRIOR,
        sampler_sorts=sorts,
        sampler_fused=sorts,
        activation_floor=floor,
        context=context,
        context_first=typical(_non_torch(first, ranks=1), context),
        graph_base=base,
        graph_per_layer_mib=per_layer,
        load_cache_share=0.0,
    )
    communication = typical(_communication(second, fitted), PRIOR.communication)
    fitted = replace(fitted, communication=communication)
    fitted = replace(
        fitted,
        sampler_fused=typical(_fused(runs, fitted), sorts),
        layer_copies=typical(_layers(runs, fitted), PRIOR.layer_copies),
        load_cache_share=typical(_load_cache(runs, fitted), PRIOR.load_cache_share),
    )
    outside = [seen for _, seen in (*_non_torch(runs, ranks=1), *_non_torch(runs, ranks=2))]
    unknown = max(0.0, max(outside, default=context) - context)
    return replace(fitted, context_rocm=typical(_rocm(runs, fitted), unknown))


def typical(told: Sequence[Told], otherwise: float) -> float:
    """Return the median of what the threads imply; `otherwise` without any.

    Runs of one thread share its machine and its writer, so that a thread has one vote: the median
    of its runs.
    """
    threads: dict[str, list[float]] = {}
    for thread, value in told:
        threads.setdefault(thread, []).append(value)
    if not threads:
        return otherwise
    return statistics.median(statistics.median(values) for values in threads.values())


def line(
    points: Sequence[FitPoint], otherwise: tuple[float, float], *, relative: bool = False
) -> tuple[float, float]:
    """Return the base and the slope, neither below 0, with the least absolute deviations.

    A thread has one vote, and deviations count relative to the size where `relative`. The best line
    goes through two points, or through one and has no base or no slope: all are tried.
    """
    if not points:
        return otherwise
    votes = {point.thread: 0 for point in points}
    for point in points:
        votes[point.thread] += 1

    def off(candidate: tuple[float, float]) -> tuple[float, tuple[float, float]]:
        base, slope = candidate
        far = (
            abs(p.value - base - slope * p.size) / votes[p.thread] / (p.size if relative else 1)
            for p in points
        )
        return sum(far), candidate

    return min(map(off, _lines(points)))[1]


def _lines(points: Sequence[FitPoint]) -> Iterator[tuple[float, float]]:
    for number, point in enumerate(points):
        yield max(0.0, point.value), 0.0
        yield 0.0, max(0.0, point.value / point.size)
        for other in points[number + 1 :]:
            if other.size != point.size:
                slope = (other.value - point.value) / (other.size - point.size)
                base = point.value - slope * point.size
                if base >= 0 and slope >= 0:
                    yield base, slope


def _teaches(run: Sample) -> bool:
    request = run.taken.request
    return not request.behavior.assumed or request.arguments.gpu_memory_utilization is not None


def _copy_gib(run: Sample) -> float:
    return sampler_copy_gib(run.taken.request, run.taken.resolved)


def _layer_gib(run: Sample) -> float:
    """Return the widest results of a layer, held once, GiB."""
    request = run.taken.request
    arguments = request.arguments.model_copy(update={"language_model_only": True})
    text = request.model_copy(update={"arguments": arguments})
    return peaks(text, run.taken.resolved, PRIOR)[1]


def _sampler_leads(run: Sample) -> bool:
    sampler, other = peaks(run.taken.request, run.taken.resolved, PRIOR)
    return sampler > other


def _stated_peak(run: Sample) -> float | None:
    """Return the peak of a log; from 0.21 on it holds the graphs that are deducted with it."""
    peak = run.case.number("activation_peak_gib")
    if peak is None or not run.taken.request.behavior.graphs_deducted:
        return peak
    graphs = run.case.number("graph_gib")
    return None if graphs is None else peak - graphs


def _sampler_peaks(runs: Sequence[Sample]) -> Iterator[FitPoint]:
    for run in runs:
        peak = _stated_peak(run)
        sorts = run.taken.request.behavior.sampler == "sorts"
        if peak is not None and sorts and _sampler_leads(run):
            yield FitPoint(thread=run.case.source, size=_copy_gib(run), value=peak)


def _graphs(runs: Sequence[Sample]) -> Iterator[FitPoint]:
    """Yield what capturing took; a log that says less than nothing measured something else."""
    for run in runs:
        seen = run.case.number("graph_gib")
        if seen is None or seen < 0 or run.taken.resolved.enforce_eager:
            continue
        request, resolved = run.taken.request, run.taken.resolved
        layers = layers_on_stage(request.architecture, request.arguments.pipeline_parallel_size)
        size = layers * captured_sizes(resolved, request.behavior) / 64 / 1024
        yield FitPoint(thread=run.case.source, size=size, value=seen)


def _fused(runs: Sequence[Sample], fitted: Fitted) -> list[Told]:
    told: list[Told] = []
    for run in runs:
        if run.taken.request.behavior.sampler == "sorts" or not _sampler_leads(run):
            continue
        peak = _stated_peak(run)
        peak = left_over(run, fitted) if peak is None and is_plain(run) else peak
        if peak is not None:
            told.append((run.case.source, (peak - fitted.activation_floor) / _copy_gib(run)))
    return told


def _layers(runs: Sequence[Sample], fitted: Fitted) -> list[Told]:
    """Return the copies of a layer where it leads, told by a log or by what the budget leaves.

    A run that leaves less than nothing ran with another budget than its inputs say.
    """
    told: list[Told] = []
    for run in runs:
        layer = _layer_gib(run)
        if layer < max(peaks(run.taken.request, run.taken.resolved, PRIOR)):
            continue
        peak = _stated_peak(run)
        peak = left_over(run, fitted) if peak is None and is_plain(run) else peak
        if peak is not None and peak > fitted.activation_floor:
            told.append((run.case.source, (peak - fitted.activation_floor) / layer))
    return told


def left_over(run: Sample, fitted: Fitted) -> float | None:
    """Return what of the budget is neither weights, KV, context nor graphs, GiB."""
    if run.kv_seen is None:
        return None
    idle = replace(
        fitted, sampler_sorts=0.0, sampler_fused=0.0, layer_copies=0.0, activation_floor=0.0
    )
    return run.kv(idle) - run.kv_seen


def _non_torch(runs: Sequence[Sample], ranks: int) -> list[Told]:
    told: list[Told] = []
    for run in runs:
        seen = run.case.number("non_torch_gib")
        if seen is not None and (run.ranks == 1 if ranks == 1 else run.ranks > 1):
            told.append((run.case.source, seen))
    return told


def _communication(runs: Sequence[Sample], fitted: Fitted) -> list[Told]:
    """Return what communication takes: as stated, or what is left of the budget without it."""
    told = [(thread, seen - fitted.context) for thread, seen in _non_torch(runs, ranks=2)]
    for run in runs:
        stated = run.case.number("non_torch_gib") is not None
        if run.kv_seen is None or stated or run.ranks == 1:
            continue
        if is_plain(run) and _sampler_leads(run):
            told.append((run.case.source, run.kv(fitted) - run.kv_seen))
    return told


def _load_cache(runs: Sequence[Sample], fitted: Fitted) -> list[Told]:
    """Return the share of the weights; a run that implies more than all of them tells none."""
    told: list[Told] = []
    for run in runs:
        kept = run.ranks > 1 and run.taken.request.behavior.keeps_load_cache
        if run.kv_seen is None or not kept:
            continue
        share = (run.kv(fitted) - run.kv_seen) / run.weights
        if 0 <= share <= 1:
            told.append((run.case.source, share))
    return told


def is_plain(run: Sample) -> bool:
    """Tell whether a run's weights and graphs are known well, so that it tells another term.

    Hybrid models and graphs inside the budget are estimated too roughly.
    """
    request = run.taken.request
    logged = run.case.number("weights_gib")
    if logged is not None and abs(logged - run.weights) > 0.02 * logged:
        return False
    graphs = request.behavior.graphs_deducted and not request.arguments.enforce_eager
    quantized = request.architecture.quantization
    named = quantized is not None and (quantized.online or quantized.assumed)
    kept = run.ranks > 1 and request.behavior.keeps_load_cache
    return not (request.architecture.is_hybrid or graphs or named or kept)


def _rocm(runs: Sequence[Sample], fitted: Fitted) -> list[Told]:
    return [
        (run.case.source, run.kv(fitted) - run.kv_seen)
        for run in runs
        if run.kv_seen is not None and run.taken.request.card.rocm
    ]
