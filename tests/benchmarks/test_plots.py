"""Drawings and tables in the documents are what the scripts make."""

import re
from xml.etree import ElementTree

import pytest

from benchmarks.memory.plots import IMAGES, results
from benchmarks.peers.answers import CALCULATOR, LEFT_OUT, OURS, TEXTBOOK
from benchmarks.peers.compare import Comparison
from benchmarks.peers.questions import missing_data
from benchmarks.peers.tables import score_rows
from benchmarks.shared.documents import DOCUMENT, place, renewed
from benchmarks.shared.drawing import Drawing, LogScale
from benchmarks.shared.memory_cases import ROOT

pytestmark = pytest.mark.pure

with_data = pytest.mark.skipif(missing_data() is not None, reason="lacking ../shared/data")

RENEW = "run `python -m benchmarks.memory.plots` and commit what it writes"
RENEW_PEERS = "run `python -m benchmarks.peers.compare --write` and commit what it writes"


@with_data
def test_committed_files_are_what_the_script_makes() -> None:
    """Figures in a document that no run gives are worse than none."""
    stale = [
        str(path.relative_to(ROOT))
        for path, text in results().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"{', '.join(stale)}: {RENEW}"


def test_the_peers_table_has_the_scores_of_today(comparison: Comparison) -> None:
    """Only methods that need no package can be checked here; the others have the same cases."""
    written = {cells(line) for line in place(DOCUMENT.read_text(), "peers").splitlines()}
    rows = {tuple(row) for row in score_rows(comparison.runs)}
    assert {row[1] for row in rows} == {OURS, LEFT_OUT, TEXTBOOK, CALCULATOR}
    assert rows <= written, RENEW_PEERS


def cells(line: str) -> tuple[str, ...]:
    """Return a table line's cells."""
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def test_the_document_says_when_and_with_which_versions() -> None:
    text = place(DOCUMENT.read_text(), "peers")
    assert re.search(r"^\d{4}-\d\d-\d\d, \d+ runs", text)
    assert re.search(r"^llm-d-planner \d+\.\d+\.\d+$", text, flags=re.MULTILINE)
    assert re.search(r"^hf-mem \d+\.\d+\.\d+$", text, flags=re.MULTILINE)


def test_images_are_svg_without_anything_from_elsewhere() -> None:
    images = sorted(IMAGES.glob("*.svg"))
    assert len(images) == 2
    for path in images:
        text = path.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "href" not in text
        assert f"images/{path.name}" in DOCUMENT.read_text(encoding="utf-8")


def test_a_scale_keeps_values_on_the_drawing() -> None:
    scale = LogScale(0.5, 200, 0, 100)
    assert [scale.at(value) for value in (0.0, 0.5, 10.0, 200.0, 1e9)] == [
        0,
        0,
        pytest.approx(50),
        100,
        100,
    ]
    assert scale.ticks() == [0.5, 1, 2, 5, 10, 20, 50, 100, 200]


def test_words_are_escaped() -> None:
    drawing = Drawing(10, 10, "<title> & more")
    drawing.text((0, 0), "a < b")
    assert ElementTree.fromstring(drawing.svg()) is not None


def test_a_place_that_is_not_marked_once_is_an_error() -> None:
    """A table that nobody finds again would go stale unseen."""
    marked = "<!-- a:begin -->\nold\n<!-- a:end -->\n"
    assert renewed(marked, {"a": r"new \1"}) == "<!-- a:begin -->\nnew \\1\n<!-- a:end -->\n"
    assert place(marked, "a") == "old\n"
    with pytest.raises(ValueError, match="2 places are marked a"):
        renewed(marked * 2, {"a": "new"})
