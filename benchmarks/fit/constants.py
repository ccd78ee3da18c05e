"""Fit the learnt constants of the memory model on real runs, with leave-one-thread-out figures.

    python -m benchmarks.fit.constants [--refit]

Without `--refit` it reports the committed constants (`models/memory/terms/constants.py`); with it,
it fits them again and prints the block to put there. Figures are given in-sample and, refitting all
of it without each source thread in turn, out of sample. Runs that no constant explains are kept:
medians bear them, and the figures count them in full.
"""

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.fit.bound import fit_bound
from benchmarks.fit.samples import Sample, samples
from benchmarks.fit.terms import fit_terms
from benchmarks.shared.memory_cases import cases
from models.memory.terms.constants import FITTED, Fitted
from models.memory.verdict.limits import byte_refusals
from models.memory.verdict.measure import measure


def fit(runs: Sequence[Sample]) -> Fitted:
    """Fit every learnt constant, the terms first, then the bound on what they leave."""
    return fit_bound(runs, fit_terms(runs))


def without_each(runs: Sequence[Sample]) -> Mapping[str, Fitted]:
    """Return by source thread what is fitted without its runs: nothing is kept from them."""
    threads = dict.fromkeys(run.case.source for run in runs)
    return {name: fit([run for run in runs if run.case.source != name]) for name in threads}


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
        distances.append(sample.kv(fitted) - sample.low(fitted))
        inside += sample.low(fitted) <= sample.kv_seen + 0.005
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
    without = without_each(found)
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
        distance = statistics.median(s.kv(fitted) - s.low(fitted) for s in members)
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
    logged = [sample for sample in found if sample.is_stated]
    print("GiB in the log", figures(logged, lambda _: fitted))
    print(by_kind(found, fitted))
    if "--refit" in arguments:
        print("out of sample ", out_of_sample(found))
        for name, value in asdict(fitted).items():
            print(f"    {name}={value:.3g},")


if __name__ == "__main__":
    main(sys.argv[1:])
