"""Scores answers against what was observed."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.peers.answers import Answer
from benchmarks.peers.questions import CLASSES, Asked, Seen

TOTAL: Final = "all"

Rows = Sequence[tuple[Asked, Answer]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """Absolute errors: how many, the median, the 90th percentile, the largest."""

    n: int
    median: float | None = None
    p90: float | None = None
    largest: float | None = None


def errors_of(values: Sequence[float]) -> Errors:
    """Summarise absolute errors."""
    if not values:
        return Errors(n=0)
    ordered = sorted(values)
    return Errors(
        n=len(ordered),
        median=statistics.median(ordered),
        p90=ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))],
        largest=ordered[-1],
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One method on real runs of one class. Errors of `per_token` in per cent, of `kv` in GiB."""

    kind: str
    method: str
    judged: int
    per_token: Errors
    kv: Errors
    false_fits: int
    failed: int
    wrong_refusals: int
    running: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenScore:
    """One method on the engine's own answers of one class; all errors in per cent."""

    kind: str
    method: str
    weights: Errors
    block: Errors
    need: Errors


def _percent(said: float | None, seen: float | None) -> float | None:
    return None if said is None or not seen else abs(said / seen - 1) * 100


def per_token_error(seen: Seen, said: Answer) -> float | None:
    """Return the error of KV bytes: of one request's need where a log states it, else per token."""
    if seen.need_gib:
        return _percent(said.need_gib, seen.need_gib)
    return _percent(said.bytes_per_token, seen.bytes_per_token)


def _kv(seen: Seen, said: Answer) -> float | None:
    if said.kv_gib is None or seen.kv_gib is None:
        return None
    return abs(said.kv_gib - max(0.0, seen.kv_gib))


def present(values: Sequence[float | None]) -> list[float]:
    """Return the values that are there."""
    return [value for value in values if value is not None]


def score(kind: str, method: str, rows: Rows) -> Score:
    """Score one method on real runs."""
    judged = [(seen.started, said.fits) for (_, seen), said in rows if said.fits is not None]
    return Score(
        kind=kind,
        method=method,
        judged=len(judged),
        per_token=errors_of(present([per_token_error(seen, said) for (_, seen), said in rows])),
        kv=errors_of(present([_kv(seen, said) for (_, seen), said in rows])),
        false_fits=sum(fits is True for started, fits in judged if not started),
        failed=sum(not started for started, _ in judged),
        wrong_refusals=sum(fits is False for started, fits in judged if started),
        running=sum(started is True for started, _ in judged),
    )


def golden_score(kind: str, method: str, rows: Rows) -> GoldenScore:
    """Score one method on the engine's own answers."""
    return GoldenScore(
        kind=kind,
        method=method,
        weights=errors_of(
            present([_percent(said.weights_gib, seen.weights_gib) for (_, seen), said in rows])
        ),
        block=errors_of(
            present([_percent(said.block_bytes, seen.block_bytes) for (_, seen), said in rows])
        ),
        need=errors_of(
            present([_percent(said.need_gib, seen.need_gib) for (_, seen), said in rows])
        ),
    )


Answers = Mapping[str, Sequence[Answer]]


def scores(asked: Sequence[Asked], answers: Answers) -> list[Score]:
    """Score every method by class and in total."""
    return [score(*group) for group in _groups(asked, answers)]


def golden_scores(asked: Sequence[Asked], answers: Answers) -> list[GoldenScore]:
    """Score every method on the engine's own answers by class and in total."""
    return [golden_score(*group) for group in _groups(asked, answers)]


def shared_scores(asked: Sequence[Asked], answers: Answers) -> list[Score]:
    """Score every method on the runs alone that every method can judge."""
    kept = [
        index
        for index in range(len(asked))
        if all(said[index].fits is not None for said in answers.values())
    ]
    return [
        score(TOTAL, method, [(asked[index], said[index]) for index in kept])
        for method, said in answers.items()
    ]


def _groups(asked: Sequence[Asked], answers: Answers) -> list[tuple[str, str, Rows]]:
    groups: list[tuple[str, str, Rows]] = []
    for kind in (*CLASSES, TOTAL):
        for method, said in answers.items():
            pairs = list(zip(asked, said, strict=True))
            rows = [each for each in pairs if kind in (TOTAL, each[0][0].kind)]
            groups.append((kind, method, rows))
    return groups
