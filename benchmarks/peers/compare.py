"""Compares our memory model with others on the same inputs: real runs and the engine's answers.

    python -m benchmarks.peers.compare [--json] [--offline] [--write]

Methods: ours; the textbook's formula; the old calculator; llm-d-planner and hf-mem, whose
published code runs in a virtual environment of its own (`--offline` leaves both out). All get the
configuration, the arguments with the release's defaults filled in, the card's memory as CUDA
reports it, and the checkpoint's element counts; what was observed is used for scoring only.
`--write` also renews the tables in docs/memory-model.md.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.fit.constants import without_each
from benchmarks.fit.samples import samples
from benchmarks.peers.answers import (
    CALCULATOR,
    LEFT_OUT,
    OURS,
    TEXTBOOK,
    Answer,
    calculator,
    ours,
    textbook,
)
from benchmarks.peers.goldens import from_goldens
from benchmarks.peers.packages import PackagesError, ask
from benchmarks.peers.questions import OPEN, Asked, Question, from_cases, missing_data
from benchmarks.peers.scores import GoldenScore, Score, golden_scores, scores, shared_scores
from benchmarks.peers.tables import (
    DETERMINED_HEAD,
    GOLDEN_HEAD,
    SCORE_HEAD,
    determined_rows,
    golden_rows,
    score_rows,
    table,
)
from benchmarks.shared.documents import DOCUMENT, renewed
from benchmarks.shared.memory_cases import cases
from models.memory.terms.constants import FITTED

PURE = {OURS: ours, TEXTBOOK: textbook, CALCULATOR: calculator}
"""The methods that need nothing installed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """All scores, and what was left out."""

    runs: list[Score]
    shared: list[Score]
    determined: list[tuple[str, ...]]
    goldens: list[GoldenScore]
    asked: int
    left: dict[str, int]
    versions: dict[str, str]
    problem: str | None = None


def pure_answers(questions: Sequence[Question]) -> dict[str, Sequence[Answer]]:
    """Return the answers of the methods that need nothing installed."""
    return {name: [method(asked) for asked in questions] for name, method in PURE.items()}


def left_out(asked: Sequence[Asked]) -> list[Answer]:
    """Return our answers with constants that were fitted without each run's source thread."""
    runs = cases()
    fits = without_each(samples(runs))
    threads = {run.id: run.source for run in runs}
    # A thread that taught nothing changes nothing.
    return [ours(question, fits.get(threads[question.id], FITTED)) for question, _ in asked]


def compare(*, offline: bool = False) -> Comparison:
    """Ask every method every question and score the answers."""
    asked, left = from_cases()
    goldens = from_goldens()
    both: list[Asked] = [*asked, *goldens]
    questions = [question for question, _ in both]
    answers = pure_answers(questions)
    versions: dict[str, str] = {}
    problem = "not asked for (--offline)" if offline else None
    if not offline:
        try:
            found = ask(questions)
            answers.update(found.answers)
            versions.update(found.versions)
        except PackagesError as error:
            problem = str(error)
    of_cases = {name: said[: len(asked)] for name, said in answers.items()}
    with_left_out = {OURS: of_cases[OURS], LEFT_OUT: left_out(asked), **of_cases}
    of_goldens = {name: said[len(asked) :] for name, said in answers.items()}
    return Comparison(
        runs=scores(asked, with_left_out),
        shared=shared_scores(asked, with_left_out),
        determined=determined_rows(asked, of_cases),
        goldens=golden_scores(goldens, of_goldens),
        asked=len(asked),
        left=left,
        versions=versions,
        problem=problem,
    )


def shown(found: Comparison) -> str:
    """Return the comparison as text."""
    total = found.asked + sum(found.left.values())
    reasons = "; ".join(f"{number} {why}" for why, number in found.left.items())
    common = found.shared[0].judged
    parts = [
        f"{datetime.datetime.now(tz=datetime.UTC).date()}, {total} runs, {found.asked} asked"
        + (f" ({reasons})" if reasons else ""),
        "\n".join(f"{name} {version}" for name, version in found.versions.items())
        or f"llm-d-planner and hf-mem: {found.problem}",
        "Real runs, absolute errors. KV per token is that of the log, or one request's need where "
        "the log states it; KV GiB is per GPU where the log states it. `ours` is in sample: its "
        f"constants were fitted on these very runs. `{LEFT_OUT}` judges each run with all "
        "constants fitted without its source thread.",
        table(SCORE_HEAD, score_rows(found.runs)),
        f"Only the {common} runs that every method judges.",
        table(SCORE_HEAD, score_rows(found.shared)),
        "KV per token of the runs whose inputs determine it, % (without "
        + "; ".join(f"{name}*: {why}" for name, why in OPEN.items())
        + ").",
        table(DETERMINED_HEAD, found.determined),
        "The engine's own answers (vLLM 0.33.0 without a GPU), absolute errors. The others are "
        "told the engine's tokens per block, ours is not.",
        table(GOLDEN_HEAD, golden_rows(found.goldens)),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--offline", action="store_true", help="leave out installed packages")
    parser.add_argument("--write", action="store_true", help="renew docs/memory-model.md")
    options = parser.parse_args()
    lacking = missing_data()
    if lacking is not None:
        print(f"error: {lacking}", file=sys.stderr)
        return 2
    found = compare(offline=options.offline)
    if options.write:
        if found.problem is not None:
            print(f"error: the document is not written: {found.problem}", file=sys.stderr)
            return 1
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(renewed(text, {"peers": shown(found)}), encoding="utf-8")
    print(json.dumps(asdict(found), indent=2) if options.json else shown(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
