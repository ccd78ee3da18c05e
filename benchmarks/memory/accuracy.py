"""Our accuracy on the real runs: in all, by class, by engine release, and what gets no verdict.

    python -m benchmarks.memory.accuracy

KV memory is compared where the log states it or where it follows from its tokens. The constants are
the committed ones; `benchmarks.fit.constants --refit` tells how they do on threads left out.
"""

import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.fit.constants import figures, without_each
from benchmarks.fit.samples import Sample, samples
from benchmarks.peers.questions import missing_data
from benchmarks.peers.scores import errors_of
from benchmarks.peers.tables import shown, table
from benchmarks.shared.memory_cases import MeasuredCase, cases
from models.memory import budget
from models.memory.terms.constants import FITTED, Fitted

HEAD: Final = ("runs", "median error GiB", "p90", "largest", "distance to the bound", "outside it")


def compared() -> list[Sample]:
    """Return the runs whose KV memory was observed."""
    return [sample for sample in samples(cases()) if sample.kv_seen is not None]


def said(sample: Sample) -> float:
    """Return the KV memory that is predicted, GiB, not below 0."""
    return max(0.0, sample.kv(FITTED))


def seen(sample: Sample) -> float:
    """Return the KV memory that was observed, GiB, not below 0."""
    return max(0.0, sample.kv_seen or 0.0)


def low_of(sample: Sample) -> float:
    """Return the bound of the KV memory, GiB, not below 0."""
    return max(0.0, sample.low(FITTED))


def error(sample: Sample) -> float:
    """Return the absolute error of the KV memory, GiB."""
    return abs(said(sample) - seen(sample))


def kind_of(sample: Sample) -> str:
    """Return a run's class as the data names it."""
    return sample.case.kind


def release_of(sample: Sample) -> str:
    """Return the release that a run is taken for."""
    behavior = sample.taken.request.behavior
    major, minor = behavior.release
    return "not stated" if behavior.assumed else f"{major}.{minor}"


def by(found: Sequence[Sample], name: str, group: Callable[[Sample], str]) -> str:
    """Return a table of the errors by what `group` gives."""
    groups: dict[str, list[Sample]] = {}
    for sample in found:
        groups.setdefault(group(sample), []).append(sample)
    ordered = sorted(groups.items(), key=lambda item: _numbers(item[0]))
    return table((name, *HEAD), [(key, *_cells(members)) for key, members in ordered])


def _numbers(text: str) -> tuple[int, tuple[int, ...], str]:
    parts = text.split(".")
    if all(part.isdigit() for part in parts):
        return 0, tuple(map(int, parts)), ""
    return 1, (), text


def _cells(members: Sequence[Sample]) -> tuple[str, ...]:
    errors = errors_of([error(sample) for sample in members])
    distance = statistics.median(sample.slack(FITTED) for sample in members)
    outside = sum(sample.low(FITTED) > seen(sample) + 0.005 for sample in members)
    return (
        str(errors.n),
        shown(errors.median),
        shown(errors.p90),
        shown(errors.largest),
        shown(distance),
        str(outside),
    )


def summary() -> str:
    """Return the figures in sample, and with constants fitted without each run's thread."""
    found = samples(cases())
    stated = [sample for sample in found if sample.is_stated]
    without = without_each(found)

    def inside(_: Sample) -> Fitted:
        return FITTED

    def outside(sample: Sample) -> Fitted:
        return without[sample.case.source]

    columns = [_summary(found, stated, fitted) for fitted in (inside, outside)]
    rows = [(name, columns[0][name], columns[1][name]) for name in columns[0]]
    return table(
        (
            "what",
            "committed constants, in sample",
            f"all fitted anew, leaving out one of {len(without)} threads",
        ),
        rows,
    )


def _summary(
    found: Sequence[Sample], stated: Sequence[Sample], fitted: Callable[[Sample], Fitted]
) -> dict[str, str]:
    whole, logged = figures(found, fitted), figures(stated, fitted)
    failed = whole.judged - whole.running
    return {
        f"KV GiB where the log states it ({logged.compared} runs): median, p90": (
            f"{logged.median:.2f}, {logged.p90:.2f}"
        ),
        f"KV GiB also where tokens tell it ({whole.compared} runs): median, p90": (
            f"{whole.median:.2f}, {whole.p90:.2f}"
        ),
        "runs within the bound": f"{whole.held:.0%}",
        "median distance to the bound, GiB: stated, all": (
            f"{logged.distance:.2f}, {whole.distance:.2f}"
        ),
        "failed runs called fits": f"{len(whole.false_fits)} of {failed}",
        "running runs refused": f"{len(whole.false_refusals)} of {whole.running}",
    }


def unknown() -> str:
    """Return what the runs without a verdict lack."""
    everything = cases()
    judged = {sample.case.id for sample in samples(everything)}
    lacking = Counter(_lacks(case) for case in everything if case.id not in judged)
    rows = [(what, str(number)) for what, number in lacking.most_common()]
    return table(
        ("what lacks", "runs"), [*rows, (f"verdict for {len(judged)} of", str(len(everything)))]
    )


def _lacks(case: MeasuredCase) -> str:
    if case.request is None:
        return (case.missing or "").split(";")[0]
    return "; ".join(budget(case.request).reasons)


def tables() -> dict[str, str]:
    """Return all tables by the names of their places in the document."""
    found = compared()
    return {
        "summary": summary(),
        "unknown": unknown(),
        "by-class": by(found, "class", kind_of),
        "by-release": by(found, "release", release_of),
    }


def main() -> int:
    """Print the tables."""
    lacking = missing_data()
    if lacking is not None:
        print(f"error: {lacking}", file=sys.stderr)
        return 2
    print("\n\n".join(tables().values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
