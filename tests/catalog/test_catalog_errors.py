"""Every way that a file of the catalog can be wrong is said, with file and key, all at once."""

from pathlib import Path
from typing import Any

import pytest

from catalog.loader import load, load_charts
from models.core.problems import ProblemsError
from tests.helpers.catalog.copies import copied, problems_of, read_yaml, write_yaml

pytestmark = pytest.mark.pure


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a sound copy of the catalog."""
    return copied(tmp_path)


def test_a_sound_copy_has_the_same_revision_elsewhere(root: Path) -> None:
    """The revision must not depend on the machine: path, or the line ends of a checkout."""
    before = load().revision
    assert load(root).revision == before
    file = root / "instances.yaml"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert load(root).revision == before
    file.write_text(file.read_text() + "# a change\n")
    assert load(root).revision != before


def test_problems_of_all_files_are_told_at_once(root: Path) -> None:
    """One file at a time costs a run per mistake."""
    (root / "instances.yaml").write_text("instance_types: [")
    (root / "images.yaml").unlink()
    entry = read_yaml(root / "models" / "qwen3-8b.yaml")
    write_yaml(root / "models" / "qwen3-8b.yaml", {**entry, "status": "READY", "color": "red"})
    text = "\n".join(map(str, problems_of(root)))
    assert "instances.yaml: not YAML" in text
    assert "images.yaml: the file is missing" in text
    assert "models/qwen3-8b.yaml: status" in text
    assert "allowed: 'LIVE', 'STAGED' or 'RETIRED'" in text
    assert "models/qwen3-8b.yaml: color" in text


def test_a_name_that_is_not_its_files_is_refused(root: Path) -> None:
    (root / "models" / "qwen3-8b.yaml").rename(root / "models" / "other.yaml")
    (root / "models" / "qwen3-8b.config.json").rename(root / "models" / "other.config.json")
    (problem,) = problems_of(root)
    assert problem.path == "models/other.yaml: name"
    assert problem.allowed == "'other'"


def test_an_engine_file_must_hold_the_release_it_is_named_for(root: Path) -> None:
    contract = read_yaml(root / "engines" / "0.24.0.yaml")
    write_yaml(root / "engines" / "0.24.0.yaml", {**contract, "version": "0.25.0"})
    write_yaml(root / "engines" / "newest.yaml", contract)
    paths = {problem.path for problem in problems_of(root)}
    assert paths == {"engines/0.24.0.yaml: version", "engines/newest.yaml"}


def test_two_cards_must_not_answer_to_one_name(root: Path) -> None:
    """`accelerator_of` would return whichever stands first."""
    file = read_yaml(root / "accelerators.yaml")
    file["accelerators"][1]["aliases"].append("h-100")
    write_yaml(root / "accelerators.yaml", file)
    (problem,) = problems_of(root)
    assert problem.value == "'H100'", "the other spelling of the same name"
    assert "this name also means t4" in problem.message


def test_a_row_that_is_there_twice_is_refused(root: Path) -> None:
    file = read_yaml(root / "instances.yaml")
    file["instance_types"].append(file["instance_types"][0])
    write_yaml(root / "instances.yaml", file)
    (problem,) = problems_of(root)
    assert "twice" in problem.message
    assert problem.value == "'m7i.xlarge'"


def test_a_key_given_twice_is_refused(root: Path) -> None:
    """YAML would take the second without a word."""
    file = root / "models" / "qwen3-8b.yaml"
    file.write_text(file.read_text() + "status: RETIRED\n")
    (problem,) = problems_of(root)
    assert problem.path == "models/qwen3-8b.yaml: status"
    assert "twice" in problem.message


def test_a_model_without_its_config_is_refused(root: Path) -> None:
    (root / "models" / "qwen3-8b.config.json").unlink()
    (problem,) = problems_of(root)
    assert problem.path == "models/qwen3-8b.config.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "must hold an object"),
        ('{"time_step_limit": [0.0, Infinity]}', "not JSON"),
    ],
)
def test_a_config_that_is_no_object_of_json_is_refused(root: Path, text: str, message: str) -> None:
    (root / "models" / "qwen3-8b.config.json").write_text(text)
    (problem,) = problems_of(root)
    assert problem.path == "models/qwen3-8b.config.json"
    assert message in problem.message


def test_a_model_whose_engine_has_no_contract_is_refused(root: Path) -> None:
    entry = read_yaml(root / "models" / "qwen3-8b.yaml")
    write_yaml(root / "models" / "qwen3-8b.yaml", {**entry, "engine": "0.99.0"})
    (problem,) = problems_of(root)
    assert problem.path == "models/qwen3-8b.yaml: engine"
    assert "0.33.0" in str(problem.allowed)


@pytest.mark.parametrize("what", ["flags", "metrics"])
def test_an_engine_without_its_lists_is_refused(root: Path, what: str) -> None:
    (root / "engines" / f"0.24.0.{what}.json").unlink()
    assert f"engines/0.24.0.{what}.json" in {problem.path for problem in problems_of(root)}
    (root / "engines" / f"0.24.0.{what}.json").write_text("{}")
    assert f"engines/0.24.0.yaml: {what}" in {problem.path for problem in problems_of(root)}


def test_a_number_must_be_finite_and_not_text(root: Path) -> None:
    file = read_yaml(root / "accelerators.yaml")
    file["accelerators"][0]["memory_gib"] = "11.63"
    write_yaml(root / "accelerators.yaml", file)
    (problem,) = problems_of(root)
    assert problem.path == "accelerators.yaml: accelerators[0].memory_gib"
    file["accelerators"][0]["memory_gib"] = float("inf")
    write_yaml(root / "accelerators.yaml", file)
    (problem,) = problems_of(root)
    assert "not finite" in problem.message


def test_a_price_must_name_a_source_that_exists(root: Path) -> None:
    file = read_yaml(root / "prices.yaml")
    file["prices"][0]["source"] = "hearsay"
    file["prices"][1]["usd"] = "about 4"
    write_yaml(root / "prices.yaml", file)
    paths = [problem.path for problem in problems_of(root)]
    assert any(path.startswith("prices.yaml: prices[1].usd") for path in paths)
    file["prices"][1]["usd"] = "unresolved"
    write_yaml(root / "prices.yaml", file)
    (problem,) = problems_of(root)
    assert problem.path == "prices.yaml: prices[0].source"


@pytest.mark.parametrize("text", ["", "just words", "- a list"])
def test_a_file_of_another_shape_is_refused(root: Path, text: str) -> None:
    (root / "images.yaml").write_text(text)
    assert [problem.path.split(":")[0] for problem in problems_of(root)] == ["images.yaml"]


def test_a_file_that_is_not_text_is_refused(root: Path) -> None:
    (root / "images.yaml").write_bytes(b"\xff\xfe\x00")
    (problem,) = problems_of(root)
    assert "cannot be read" in problem.message


def test_charts_report_like_the_rest(root: Path) -> None:
    file: dict[str, Any] = read_yaml(root / "charts.yaml")
    file["charts"][0]["version"] = "latest"
    file["charts"][1]["repository"] = "http://example.test"
    write_yaml(root / "charts.yaml", file)
    with pytest.raises(ProblemsError) as caught:
        load_charts(root)
    assert {problem.path for problem in caught.value.problems} == {
        "charts.yaml: charts[0].version",
        "charts.yaml: charts[1].repository",
    }
