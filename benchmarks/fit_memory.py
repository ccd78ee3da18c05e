"""Fit the learnt constants of the memory model on real runs, with leave-one-thread-out figures.

    python -m benchmarks.fit_memory [--refit]

Without `--refit` it reports the committed constants (`models/memory/constants.py`); with it, it
fits them again and prints the block to put there. Figures are given in-sample and, refitting
without each source thread in turn, out of sample. Runs that no constant explains are kept: medians
bear them, and the figures count them in full.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Final

from benchmarks.memory_cases import Case, cases
from models.base import GIB
from models.memory.constants import FITTED, Fitted
from models.memory.limits import byte_refusals
from models.memory.measure import Measure, measure
from models.memory.terms import activation_gib, cuda_graph_gib, non_torch_gib, slack_gib
from models.problems import ProblemsError

SHAPE: Final = FITTED
"""The proportions of the bound's parts; their scale is fitted."""


BEYOND: Final = 2.449 / 2.141
"""What the bound is wider than that run: the 99 % quantile over the 98 % one, of Student's t for 33
threads (32 degrees of freedom). An assumption about the shape; 50 runs cannot tell it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One run with what of it does not depend on the constants."""

    case: Case
    taken: Measure
    weights: float
    kv_seen: float | None

    def over(self, fitted: Fitted) -> float:
        """Return what is estimated beside the weights, GiB."""
        request, resolved = self.taken.request, self.taken.resolved
        graphs = cuda_graph_gib(request, resolved, fitted)
        deducted = graphs if request.behaviour.graphs_deducted else 0.0
        return (
            activation_gib(request, resolved, fitted)
            + non_torch_gib(request, self.weights, fitted)
            + deducted
        )

    def kv(self, fitted: Fitted) -> float:
        """Return the estimate of the KV memory in GiB, negative where there is none."""
        return self.taken.requested_gib - self.weights - self.over(fitted)


def samples(found: Sequence[Case]) -> list[Sample]:
    """Return the runs that can be estimated."""
    result: list[Sample] = []
    for case in found:
        if case.request is None:
            continue
        try:
            taken = measure(case.request)
        except ProblemsError:
            continue
        if taken.weights_gib is None:
            continue
        seen = _kv_seen(case, taken)
        result.append(Sample(case=case, taken=taken, weights=taken.weights_gib, kv_seen=seen))
    return result


def _kv_seen(case: Case, taken: Measure) -> float | None:
    """Return the observed KV memory in GiB, from tokens where the log has no bytes."""
    stated = case.number("kv_cache_gib")
    if stated is None:
        stated = case.number("available_kv_gib")
    tokens = case.number("kv_cache_tokens")
    if stated is not None or not tokens:
        return stated
    plan = taken.plan
    if taken.request.behaviour.reports == "capacity":
        return tokens / taken.resolved.max_model_len * plan.need_bytes / GIB
    each = min(group.block for group in plan.groups)
    return tokens / each * len(plan.groups) * plan.block_bytes / GIB


def _typical(values: Sequence[tuple[str, float]], otherwise: float) -> float:
    """Return the median of what the threads imply; `otherwise` without any.

    Runs of one thread share its machine and its writer, so that a thread has one vote: the median
    of its runs.
    """
    threads: dict[str, list[float]] = {}
    for thread, value in values:
        threads.setdefault(thread, []).append(value)
    if not threads:
        return otherwise
    return statistics.median(statistics.median(found) for found in threads.values())


def fit(found: Sequence[Sample]) -> Fitted:
    """Fit each constant by itself: the median of what the runs imply for it.

    A term that a log states is taken from there (sampler, contexts, communication); one that it
    does not state from what is left of the budget. Constants that no run tells alone (the factors
    of a layer and an encoder, the floors, the graphs' form, the load cache) are kept. Runs that
    state neither their release nor their utilisation teach no term: their budget is not known.
    """
    start, everything = FITTED, found
    found = [sample for sample in found if _teaches(sample)]
    first = [s for s in found if s.taken.request.behaviour.first_engine]
    second = [s for s in found if not s.taken.request.behaviour.first_engine]
    fitted = replace(
        start,
        sampler_sorts=_typical(_copies(found, "sorts", _stated_activation), start.sampler_sorts),
        context_first=_typical(_non_torch(first, ranks=1), start.context_first),
        context=_typical(_non_torch(second, ranks=1), start.context),
    )
    fitted = replace(
        fitted, communication=_typical(_communication(second, fitted), start.communication)
    )
    fitted = replace(
        fitted,
        sampler_fused=_typical(
            _copies(found, "fused", lambda s: _left_over(s, fitted)), start.sampler_fused
        ),
        context_rocm=_typical(_more(found, fitted, rocm=True), start.context_rocm),
    )
    return fit_bound(everything, fitted)


def _teaches(sample: Sample) -> bool:
    request = sample.taken.request
    return not request.behaviour.assumed or request.arguments.gpu_memory_utilization is not None


def _sampler_bytes(sample: Sample) -> float:
    resolved = sample.taken.resolved
    sequences = min(resolved.max_num_seqs, resolved.batched_tokens)
    return sequences * sample.taken.request.architecture.vocab_size * 4


def _sampler_leads(sample: Sample) -> bool:
    """Tell whether the sampler sets the peak, by the committed constants."""
    behaviour = sample.taken.request.behaviour
    copies = FITTED.sampler_sorts if behaviour.sampler == "sorts" else FITTED.sampler_fused
    said = activation_gib(sample.taken.request, sample.taken.resolved)
    return abs(said - FITTED.activation_floor - copies * _sampler_bytes(sample) / GIB) < 1e-6


def _copies(
    found: Sequence[Sample], sampler: str, activation: Callable[[Sample], float | None]
) -> list[tuple[str, float]]:
    values: list[tuple[str, float]] = []
    for sample in found:
        seen = activation(sample)
        if seen is None or sample.taken.request.behaviour.sampler != sampler:
            continue
        if _sampler_leads(sample):
            copies = (seen - FITTED.activation_floor) * GIB / _sampler_bytes(sample)
            values.append((sample.case.source, copies))
    return values


def _stated_activation(sample: Sample) -> float | None:
    return sample.case.number("activation_peak_gib")


def _left_over(sample: Sample, fitted: Fitted) -> float | None:
    """Return what of the budget is neither weights, KV, context nor graphs, GiB."""
    if sample.kv_seen is None or not _is_plain(sample):
        return None
    over = sample.over(fitted) - activation_gib(sample.taken.request, sample.taken.resolved, fitted)
    return sample.taken.requested_gib - sample.weights - sample.kv_seen - over


def _non_torch(found: Sequence[Sample], ranks: int) -> list[tuple[str, float]]:
    values: list[tuple[str, float]] = []
    for sample in found:
        seen = sample.case.number("non_torch_gib")
        asked = sample.taken.request.arguments
        have = asked.tensor * asked.pipeline
        if seen is not None and (have == 1 if ranks == 1 else have > 1):
            values.append((sample.case.source, seen))
    return values


def _communication(found: Sequence[Sample], fitted: Fitted) -> list[tuple[str, float]]:
    """Return what communication takes: as stated, or what is left of the budget without it."""
    values = [(thread, seen - fitted.context) for thread, seen in _non_torch(found, ranks=2)]
    none = replace(fitted, communication=0.0)
    for sample in found:
        asked = sample.taken.request.arguments
        stated = sample.case.number("non_torch_gib") is not None
        if sample.kv_seen is None or stated or asked.tensor * asked.pipeline == 1:
            continue
        if _is_plain(sample):
            values.append((sample.case.source, sample.kv(none) - sample.kv_seen))
    return values


def _is_plain(sample: Sample) -> bool:
    """Tell whether all else of a run's budget is known well: its weights, peak and graphs.

    Hybrid models and graphs inside the budget are estimated too roughly to tell another term.
    """
    request = sample.taken.request
    logged = sample.case.number("weights_gib")
    if logged is not None and abs(logged - sample.weights) > 0.02 * logged:
        return False
    graphs = request.behaviour.graphs_deducted and not request.arguments.enforce_eager
    quantised = request.architecture.quantisation
    named = quantised is not None and (quantised.online or quantised.assumed)
    return not (request.architecture.is_hybrid or graphs or named) and _sampler_leads(sample)


def _more(found: Sequence[Sample], fitted: Fitted, *, rocm: bool) -> list[tuple[str, float]]:
    bare = replace(fitted, context_rocm=0.0)
    return [
        (s.case.source, s.kv(bare) - s.kv_seen)
        for s in found
        if s.kv_seen is not None and s.taken.request.card.rocm == rocm
    ]


def fit_bound(found: Sequence[Sample], fitted: Fitted) -> Fitted:
    """Scale the bound as a whole so that it holds for 49 of 50 runs, and a little beyond.

    One run in fifty may be further out: that of 50 runs whose budget its inputs tell least (they
    state neither its release nor its utilisation) would stretch the bound of all others fourfold.
    """
    names = [f.name for f in fields(Fitted) if f.name.startswith("bound")]
    shape = replace(fitted, **{name: asdict(SHAPE)[name] for name in names})
    reached = sorted(
        (sample.kv(fitted) - sample.kv_seen) / (sample.kv(shape) - low(sample, shape))
        for sample in found
        if sample.kv_seen is not None
    )
    worst = reached[-1 - round(len(reached) / 50)] if reached else 1.0
    scale = max(0.1, worst) * BEYOND
    return replace(fitted, **{name: asdict(SHAPE)[name] * scale for name in names})


def low(sample: Sample, fitted: Fitted) -> float:
    """Return the conservative KV memory in GiB."""
    over = sample.over(fitted)
    return sample.kv(fitted) - slack_gib(
        sample.taken.request, sample.taken.resolved, sample.weights, over, fitted
    )


def held(found: Sequence[Sample], fitted: Fitted) -> float:
    """Return the share of runs whose KV memory is not below the bound."""
    seen = [sample for sample in found if sample.kv_seen is not None]
    if not seen:
        return 1.0
    return sum(low(s, fitted) <= (s.kv_seen or 0.0) + 0.005 for s in seen) / len(seen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Accuracy over runs: errors of KV memory in GiB, and verdicts."""

    compared: int
    median: float
    p90: float
    largest: float
    held: float
    distance: float
    judged: int
    false_fits: tuple[str, ...]
    false_refusals: tuple[str, ...]
    running: int


def figures(found: Sequence[Sample], fitted_for: Callable[[Sample], Fitted]) -> Figures:
    """Return the accuracy with the constants that `fitted_for` gives each run."""
    errors: list[float] = []
    distances: list[float] = []
    inside = 0
    for sample in found:
        fitted = fitted_for(sample)
        if sample.kv_seen is None:
            continue
        errors.append(abs(max(0.0, sample.kv(fitted)) - max(0.0, sample.kv_seen)))
        distances.append(sample.kv(fitted) - low(sample, fitted))
        inside += low(sample, fitted) <= sample.kv_seen + 0.005
    refused = {s.case.id: _is_refused(s, fitted_for(s)) for s in found}
    errors.sort()
    return Figures(
        compared=len(errors),
        median=statistics.median(errors),
        p90=errors[min(len(errors) - 1, int(0.9 * len(errors)))],
        largest=errors[-1],
        held=inside / len(errors),
        distance=statistics.median(distances),
        judged=len(found),
        false_fits=tuple(s.case.id for s in found if not s.case.started and not refused[s.case.id]),
        false_refusals=tuple(s.case.id for s in found if s.case.started and refused[s.case.id]),
        running=sum(s.case.started for s in found),
    )


def _is_refused(sample: Sample, fitted: Fitted) -> bool:
    taken = measure(sample.taken.request, fitted)
    return bool(taken.refusals) or any(byte_refusals(taken))


def out_of_sample(found: Sequence[Sample]) -> Figures:
    """Return the accuracy when each thread's runs are judged by constants fitted without it."""
    threads = {sample.case.source for sample in found}
    without = {
        thread: fit([sample for sample in found if sample.case.source != thread])
        for thread in threads
    }
    return figures(found, lambda sample: without[sample.case.source])


def by_kind(found: Sequence[Sample], fitted: Fitted) -> str:
    """Return a Markdown table of the KV memory's error by class of model."""
    rows = ["| class | runs | median error GiB | largest | median distance to the bound |"]
    rows.append("|---|---|---|---|---|")
    kinds: dict[str, list[Sample]] = {}
    for sample in found:
        if sample.kv_seen is not None:
            kinds.setdefault(sample.case.kind, []).append(sample)
    for kind, members in sorted(kinds.items()):
        errors = [abs(s.kv(fitted) - (s.kv_seen or 0.0)) for s in members]
        distance = statistics.median(s.kv(fitted) - low(s, fitted) for s in members)
        rows.append(
            f"| {kind} | {len(members)} | {statistics.median(errors):.2f} | {max(errors):.2f} "
            f"| {distance:.2f} |"
        )
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> None:
    """Print the figures, and a new block of constants if asked for."""
    everything = cases()
    found = samples(everything)
    fitted = fit(found) if "--refit" in arguments else FITTED
    print(f"{len(everything)} runs, {len(found)} judged")
    print("in sample     ", figures(found, lambda _: fitted))
    logged = [
        s for s in found if s.case.number("kv_cache_gib") or s.case.number("available_kv_gib")
    ]
    print("GiB in the log", figures(logged, lambda _: fitted))
    print(by_kind(found, fitted))
    if "--refit" in arguments:
        print("out of sample ", out_of_sample(found))
        for name, value in asdict(fitted).items():
            print(f"    {name}={value:.3g},")


if __name__ == "__main__":
    main(sys.argv[1:])
