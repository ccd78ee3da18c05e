"""Draws docs/images and writes the tables of docs/memory-model.md.

    python -m benchmarks.memory.plots [--check]

Both come from the data folder (docs/sources.md) and the committed constants alone; the drawings use
nothing but the standard library. `--check` writes nothing and fails where a file differs. The
tables of peers need their packages: `python -m benchmarks.peers.compare --write` renews those.
"""

import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.memory.accuracy import compared, low_of, release_of, said, seen, tables
from benchmarks.peers.answers import textbook
from benchmarks.peers.questions import CLASSES, from_cases, missing_data
from benchmarks.shared.documents import DOCUMENT, renewed
from benchmarks.shared.drawing import COLORS, GREY, Drawing, LogScale
from benchmarks.shared.memory_cases import ROOT

IMAGES: Final = ROOT / "docs" / "images"
SCATTER: Final = "kv-predicted-observed.svg"
BY_CLASS: Final = "kv-error-by-class.svg"

_LEAST_GIB: Final = 0.5
_LEAST_ERROR: Final = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One run: KV GiB predicted, its bound, observed, and what the textbook's formula says.

    Its name is the model's type and the release, since ids of runs name people's repositories.
    """

    name: str
    kind: str
    said: float
    low: float
    seen: float
    simple: float | None
    stated: bool


def points() -> list[Point]:
    """Return the runs whose KV memory was observed, in order of their ids."""
    questions = {asked.id: asked for asked, _ in from_cases()[0]}
    found: list[Point] = []
    for sample in sorted(compared(), key=lambda sample: sample.case.id):
        case = sample.case
        asked = questions.get(case.id)
        if asked is None:
            continue
        stated = case.number("kv_cache_gib"), case.number("available_kv_gib")
        found.append(
            Point(
                name=f"{sample.taken.request.architecture.model_type}, {release_of(sample)}",
                kind=asked.kind,
                said=said(sample),
                low=low_of(sample),
                seen=seen(sample),
                simple=textbook(asked).kv_gib,
                stated=stated != (None, None),
            )
        )
    return found


def scatter(found: list[Point]) -> str:
    """Return the drawing of predicted against observed KV memory."""
    drawing = Drawing(740, 560, "KV cache memory per GPU: predicted against observed")
    most = max(max(point.said, point.seen) for point in found) * 1.15
    across = LogScale(_LEAST_GIB, most, 70, 540)
    up = LogScale(_LEAST_GIB, most, 500, 30)
    drawing.across(across, 30, 500)
    drawing.up(up, 70, 540)
    drawing.line((70, 500), (540, 30), GREY, ' stroke-dasharray="5 4"')
    for point in found:
        x, color = across.at(point.seen), COLORS[point.kind]
        whisker = ' stroke-opacity="0.45" stroke-width="1.5"'
        drawing.line((x, up.at(point.said)), (x, up.at(point.low)), color, whisker)
    for point in found:
        words = f"{point.name}: {point.said:.2f} predicted, {point.seen:.2f} observed"
        at = (across.at(point.seen), up.at(point.said))
        drawing.dot(at, COLORS[point.kind], hollow=not point.stated, says=words)
    drawing.text((305, 540), "observed KV GiB per GPU", "middle")
    drawing.text((22, 265), "predicted KV GiB per GPU", "middle", ' transform="rotate(-90 22 265)"')
    drawing.text((560, 36), _runs(len(found)), more=' font-weight="bold"')
    entries = [(kind, COLORS[kind], False) for kind in CLASSES]
    drawing.legend((566, 60), [*entries, ("from tokens, not stated", GREY, True)])
    drawing.text((560, 196), "line down: to the bound")
    drawing.text((560, 214), "dashed: equal")
    drawing.text((560, 232), f"below {_LEAST_GIB}: at the edge")
    return drawing.svg()


def _runs(number: int) -> str:
    return f"{number} run" + ("s" if number != 1 else "")


def by_class(found: list[Point]) -> str:
    """Return the drawing of absolute errors by class, ours beside the textbook's."""
    drawing = Drawing(720, 60 + 70 * len(CLASSES) + 50, "Error of the KV cache memory by class")
    bottom = 60 + 70 * len(CLASSES)
    ours = {kind: [(p, abs(p.said - p.seen)) for p in found if p.kind == kind] for kind in CLASSES}
    simple = {
        kind: [(p, abs(p.simple - p.seen)) for p, _ in rows if p.simple is not None]
        for kind, rows in ours.items()
    }
    most = max(error for group in (ours, simple) for row in group.values() for _, error in row)
    across = LogScale(_LEAST_ERROR, most * 1.15, 110, 690)
    drawing.across(across, 44, bottom)
    drawing.legend((116, 18), [("ours", "#333333", False)])
    drawing.legend((196, 18), [("textbook formula", GREY, True)])
    drawing.text((340, 22), "tall line: median")
    for row, kind in enumerate(CLASSES):
        top = 60 + 70 * row
        drawing.text((98, top + 22), kind, "end", ' font-weight="bold"')
        drawing.text((98, top + 38), _runs(len(ours[kind])), "end")
        _row(drawing, across, top + 16, COLORS[kind], ours[kind], hollow=False)
        _row(drawing, across, top + 42, GREY, simple[kind], hollow=True)
    drawing.text((400, bottom + 38), "absolute error of the KV memory per GPU, GiB", "middle")
    return drawing.svg()


def _row(
    drawing: Drawing,
    across: LogScale,
    y: float,
    color: str,
    errors: list[tuple[Point, float]],
    *,
    hollow: bool,
) -> None:
    for point, error in errors:
        says = f"{point.name}: {error:.2f} GiB"
        drawing.dot((across.at(error), y), color, hollow=hollow, says=says)
    if errors:
        middle = across.at(statistics.median(error for _, error in errors))
        drawing.line((middle, y - 11), (middle, y + 11), "#111111", ' stroke-width="2.5"')


def drawings() -> Mapping[str, str]:
    """Return the drawings by file name."""
    found = points()
    return {SCATTER: scatter(found), BY_CLASS: by_class(found)}


def results() -> Mapping[Path, str]:
    """Return what each file should hold."""
    images = {IMAGES / name: text for name, text in drawings().items()}
    return {**images, DOCUMENT: renewed(DOCUMENT.read_text(encoding="utf-8"), tables())}


def main(arguments: list[str]) -> int:
    """Write the files, or check them."""
    lacking = missing_data()
    if lacking is not None:
        print(f"error: {lacking}", file=sys.stderr)
        return 2
    stale = False
    for path, text in results().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale = True
        print(f"{path.relative_to(ROOT)}: {'differs' if '--check' in arguments else 'written'}")
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
