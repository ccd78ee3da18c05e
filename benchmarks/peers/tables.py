"""Scores as aligned Markdown tables, to be read as text and pasted into documents."""

from collections.abc import Sequence
from typing import Final

from benchmarks.peers.questions import CLASSES, Asked
from benchmarks.peers.scores import (
    TOTAL,
    Answers,
    GoldenScore,
    Score,
    errors_of,
    per_token_error,
    present,
)


def determined_rows(asked: Sequence[Asked], answers: Answers) -> list[tuple[str, ...]]:
    """Return errors of KV bytes per token by class, of the runs whose inputs determine them.

    Cells are the number of runs, the median and the 90th percentile in per cent.
    """
    rows: list[tuple[str, ...]] = []
    for method, said in answers.items():
        cells = [method]
        for kind in (*CLASSES, TOTAL):
            pairs = [
                (seen, each)
                for (question, seen), each in zip(asked, said, strict=True)
                if kind in (TOTAL, question.kind) and not seen.is_open
            ]
            found = errors_of(present([per_token_error(*pair) for pair in pairs]))
            cells.append(f"{found.n} / {shown(found.median)} / {shown(found.p90)}")
        rows.append(tuple(cells))
    return rows


DETERMINED_HEAD: Final = ("method", *(f"{kind}: n / median / p90" for kind in (*CLASSES, TOTAL)))

SCORE_HEAD: Final = (
    "class",
    "method",
    "judged",
    "KV per token: n",
    "median %",
    "p90 %",
    "KV GiB: n",
    "median",
    "p90",
    "false fits",
    "wrong refusals",
)
GOLDEN_HEAD: Final = (
    "class",
    "method",
    "n",
    "weights: median %",
    "largest %",
    "bytes per block: median %",
    "largest %",
    "one request: median %",
    "largest %",
)


def score_rows(found: Sequence[Score]) -> list[tuple[str, ...]]:
    """Return scores as cells of a table."""
    return [
        (
            each.kind,
            each.method,
            str(each.judged),
            str(each.per_token.n),
            shown(each.per_token.median),
            shown(each.per_token.p90),
            str(each.kv.n),
            shown(each.kv.median),
            shown(each.kv.p90),
            f"{each.false_fits} of {each.failed}",
            f"{each.wrong_refusals} of {each.running}",
        )
        for each in found
    ]


def golden_rows(found: Sequence[GoldenScore]) -> list[tuple[str, ...]]:
    """Return scores on goldens as cells of a table."""
    return [
        (
            each.kind,
            each.method,
            str(max(each.weights.n, each.block.n)),
            *(
                cell
                for errors in (each.weights, each.block, each.need)
                for cell in (shown(errors.median), shown(errors.largest))
            ),
        )
        for each in found
    ]


def shown(value: float | None) -> str:
    """Return a number as tables show it: two digits after the point below 100."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned Markdown table: numbers to the right, words to the left."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    words = [not any(cell[:1].isdigit() for cell in column) for column in zip(*rows, strict=True)]
    rule = "|".join(
        "-" * (width + 1) + ("-" if left else ":")
        for width, left in zip(widths, words, strict=True)
    )
    return "\n".join(
        [_line(head, widths, words), f"|{rule}|", *(_line(row, widths, words) for row in rows)]
    )


def _line(row: Sequence[str], widths: Sequence[int], words: Sequence[bool]) -> str:
    cells = [
        cell.ljust(width) if left else cell.rjust(width)
        for cell, width, left in zip(row, widths, words, strict=True)
    ]
    return "| " + " | ".join(cells) + " |"
