"""Fit the bound of the KV memory: how far it lies below the estimate in the worst runs.

The base comes from runs of which nothing is known badly; each part that widens it from the runs of
its own kind. All are fitted anew with the terms, so that a thread left out leaves nothing behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from benchmarks.fit.samples import Sample
from models.memory.terms.constants import Fitted

PARTS: Final = (
    "bound_fused",
    "bound_layer",
    "bound_tower",
    "bound_assumed",
    "bound_hybrid",
    "bound_oldest",
)
"""From the best known to the worst: a run counts for the last one that it has."""

EXEMPT: Final = 50
"""One run in so many may be further out than the bound that is fitted."""

BEYOND: Final = 2.449 / 2.141
"""What the bound is wider than the worst run: the 99 % quantile over the 98 % one, of Student's t
for 33 threads (32 degrees of freedom). An assumption about the shape; 50 runs cannot tell it."""

LEAST: Final = 0.25
"""What of the base a kind that is known worse has at least beside it. An assumption as well."""

LEAST_GIB: Final = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """A run with what it lacks of the estimate, GiB."""

    sample: Sample
    lacks: float
    sizes: dict[str, float]


def fit_bound(runs: Sequence[Sample], terms: Fitted) -> Fitted:
    """Return the terms with a bound.

    A kind's part is what its worst run lacks beyond the other parts, a little widened, and never
    less than `LEAST` of the base. Of a kind that one thread tells, or none, nothing is known: it is
    taken to be as bad as the worst of the others.
    """
    kinds = _by_kind(runs, terms)
    known = sorted(kinds[""], key=lambda run: run.lacks)
    known = known[: len(known) - round(sum(map(len, kinds.values())) / EXEMPT)]
    base = max(LEAST_GIB, known[-1].lacks if known else 0.0) * BEYOND
    fitted = replace(terms, bound=base)
    worst = LEAST * base
    for name in PARTS:
        least = LEAST * base / _size(kinds[name], name)
        if _threads(kinds[name]) < 2:
            continue
        lacking = [(run.lacks - run.sample.slack(fitted), run.sizes[name]) for run in kinds[name]]
        need = max(gib / size for gib, size in lacking) * BEYOND
        worst = max(worst, *(gib * BEYOND for gib, _ in lacking))
        fitted = replace(fitted, **{name: max(need, least)})
    for name in PARTS:
        if _threads(kinds[name]) < 2:
            fitted = replace(fitted, **{name: worst / _size(kinds[name], name)})
    return fitted


def _by_kind(runs: Sequence[Sample], terms: Fitted) -> dict[str, list[_Run]]:
    kinds: dict[str, list[_Run]] = {name: [] for name in ("", *PARTS)}
    for sample in runs:
        if sample.kv_seen is None:
            continue
        sizes = dict(sample.loosely_known(terms))
        kind = next((name for name in reversed(PARTS) if sizes[name]), "")
        lacks = sample.kv(terms) - sample.kv_seen
        kinds[kind].append(_Run(sample=sample, lacks=lacks, sizes=sizes))
    return kinds


def _threads(runs: Sequence[_Run]) -> int:
    return len({run.sample.case.source for run in runs})


def _size(runs: Sequence[_Run], name: str) -> float:
    """Return how much of a part a run of its kind usually has, 1 without any run."""
    return median([run.sizes[name] for run in runs] or [1.0])
