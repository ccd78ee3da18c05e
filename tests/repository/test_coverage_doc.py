"""docs/coverage.md says what is skipped, and which charts' values are held against nothing."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from catalog.loader import load
from catalog.readers.chart_values import default_values
from components.render.operators import VALUES
from tests.helpers.repository.skip_guard import SHARED, allowed_skips, may_skip

pytestmark = pytest.mark.pure
pytest_plugins = ["pytester"]

ROOT: Final = Path(__file__).resolve().parents[2]
TEXT: Final = (ROOT / "docs" / "coverage.md").read_text()
HELD: Final = "keys and types, against upstream's default values"
NOTHING: Final = "nothing: no default values of this chart are at hand"
NONE: Final = "we give it no values"


def rows(heading: str) -> list[tuple[str, ...]]:
    """Return the cells of the table below a heading, without its head."""
    section = TEXT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def told_of_charts() -> dict[str, str]:
    """Return what the document says of each chart's values."""
    return {cells[0]: cells[1] for cells in rows("Values of charts")}


def test_the_document_names_every_skip_that_is_allowed() -> None:
    wanted = [
        (f"`{each.reason}`", "always" if each.always else "without the shared data", each.why)
        for each in allowed_skips()
    ]
    assert rows("What is skipped") == wanted


def test_beside_the_shared_data_only_four_reasons_are_allowed() -> None:
    """Three charts without default values, and the engine's own source tree."""
    assert len([each for each in allowed_skips() if each.always]) == 4
    folder = "/x/shared/data/chart-values has no default values of"
    assert may_skip(f"{folder} cluster-autoscaler", beside_shared=True)
    assert not may_skip(f"{folder} keda", beside_shared=True)
    assert may_skip(f"{folder} keda", beside_shared=False)
    assert not may_skip("the shared tables are not here", beside_shared=True)
    assert not may_skip("too slow", beside_shared=False)


@pytest.mark.parametrize(
    ("body", "passed", "skipped", "failed"),
    [
        ("pass", 1, 0, 0),
        ("pytest.skip('VLLM_SOURCE does not name a vLLM source tree')", 0, 1, 0),
        ("pytest.skip('too slow today')", 0, 0, 1),
    ],
)
def test_a_skip_for_another_reason_fails_the_run(
    pytester: pytest.Pytester, body: str, passed: int, skipped: int, failed: int
) -> None:
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makepyfile(f"import pytest\n\ndef test_one():\n    {body}\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=passed, skipped=skipped, failed=failed)


def test_a_module_that_is_skipped_whole_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makepyfile("import pytest\npytest.skip('no such thing', allow_module_level=True)\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*does not name: *no such thing*"])


def test_the_document_says_of_every_chart_what_its_values_are_held_against() -> None:
    """A chart that is in no row would be thought of as checked."""
    told = told_of_charts()
    charts = load().charts
    assert set(told) == set(charts)
    assert {name for name, text in told.items() if text == NONE} == set(charts) - set(VALUES)
    assert set(told.values()) == {HELD, NOTHING, NONE}


def test_the_charts_that_are_held_are_those_whose_defaults_are_at_hand() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared tables are not here")
    told = told_of_charts()
    defaults = default_values()
    charts = load().charts
    held = {name for name in VALUES if charts[name].chart in defaults}
    assert {name for name, text in told.items() if text == HELD} == held
    assert {name for name, text in told.items() if text == NOTHING} == set(VALUES) - held


def test_the_memory_document_counts_the_configurations_that_were_asked() -> None:
    asked = json.loads(
        (ROOT / "tests" / "models" / "architecture" / "engine_families.json").read_text()
    )
    kinds = {each["config"]["model_type"] for each in asked}
    text = (ROOT / "docs" / "memory-model.md").read_text()
    assert f"{len(asked)} configurations of {len(kinds)} model types" in text


def test_the_tiers_of_the_document_are_the_markers_in_use() -> None:
    """A tier that has no test yet must not be counted among those that run."""
    used: set[str] = set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        used |= set(re.findall(r"pytest\.mark\.(pure|mocks|engine|dataplane)\b", path.read_text()))
    tiers = [cells[0] for cells in rows("Tiers") if not cells[0].startswith("(")]
    assert tiers == ["pure", "mocks", "engine"]
    assert used == set(tiers)
