"""The driver of mutation testing: what it changes, whom it asks, what it counts."""

import signal
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from benchmarks.mutants import codes, equivalents, forks, report, settings
from benchmarks.mutants.candidates import Candidate, Mutant, function_at
from benchmarks.mutants.judging import MutantVerdict, Outcome, chosen_anew, outcome_of
from benchmarks.mutants.reach import Reach, names_given, words_changed
from benchmarks.mutants.recording import Recording

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
PRICE: Final = """
LIMIT = 10

class Order:
    least: int = 1

    def total(self, count):
        return min(count * self.least, LIMIT)
"""


def mutant(*, line: int = 8, was: str = "a", became: str = "b", path: str = "price.py") -> Mutant:
    candidate = Candidate(
        path=Path("/tree") / path, line=line, column=0, operator="NumberReplacer", occurrence=0
    )
    return Mutant(candidate=candidate, function="f", was=was, became=became, source="")


def test_every_pattern_of_the_project_names_files() -> None:
    """A renamed folder must not leave `make mutants` without anything to change."""
    table = settings.read(ROOT)
    assert len(table.packages) >= 6
    for package, entry in table.packages.items():
        assert table.files(package, ROOT)
        assert all((ROOT / name).exists() for name in (*entry.tests, *table.callers)), package


def test_a_pattern_that_names_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.mutants]\nsample=1\nminutes=1\nseconds_per_mutant=1\nequivalents="e"\ncallers=[]\n'
        '[tool.mutants.packages.shop]\nfiles=["shop"]\ntests=["tests"]\n'
    )
    table = settings.read(tmp_path)
    with pytest.raises(settings.SettingsError, match="shop names no Python file"):
        table.files("shop", tmp_path)


def test_a_change_in_a_method_is_found_there_and_a_change_of_a_constant_is_not() -> None:
    """What runs at import cannot be replaced in a running process."""
    path = Path("/tree/price.py")
    inside = codes.changed_functions(path, PRICE, PRICE.replace("count *", "count +"))
    assert inside is not None
    assert [name for name, _ in inside] == ["Order.total"]
    assert codes.changed_functions(path, PRICE, PRICE.replace("LIMIT = 10", "LIMIT = 11")) is None
    assert codes.changed_functions(path, PRICE, PRICE.replace("int = 1", "int = 2")) is None
    assert codes.changed_functions(path, PRICE, PRICE.replace("= 10", "= 10.0")) is None


def test_functions_that_others_already_hold_run_the_change(tmp_path: Path) -> None:
    path = tmp_path / "price.py"
    names: dict[str, type] = {}
    exec(compile(PRICE, str(path), "exec", dont_inherit=True), names)
    held = names["Order"]().total
    different = codes.changed_functions(path, PRICE, PRICE.replace("count *", "count +")) or {}
    assert held(4) == 4
    assert codes.replace(path, PRICE, different) == 1
    assert held(4) == 5


def test_a_function_is_named_with_its_class_and_decorators_belong_to_it() -> None:
    source = "class A:\n    @property\n    def b(self):\n        return 1\nC = 2\n"
    assert function_at(source, 2) == "A.b"
    assert function_at(source, 4) == "A.b"
    assert function_at(source, 5) == ""


def test_a_field_is_looked_for_by_its_own_name_and_its_class() -> None:
    assert names_given(PRICE, 2) == ("LIMIT",)
    assert names_given(PRICE, 5) == ("least", "Order")


def test_tests_of_the_function_come_first_by_how_little_else_they_run(tmp_path: Path) -> None:
    price = tmp_path / "price.py"
    price.write_text(PRICE)
    recording = Recording(
        seconds={"t::wide": 0.1, "t::narrow": 0.1, "t::case[a]": 0.1, "t::case[b]": 0.2},
        functions={
            "price.py": {
                "Order.total": ("t::case[a]", "t::case[b]", "t::narrow", "t::wide"),
                "other": ("t::wide", "t::case[a]"),
            }
        },
    )
    reach = Reach(tmp_path, [recording], [price])
    by_function = reach.tests(price, "Order.total", ())
    assert by_function[0] == "t::narrow"
    assert by_function[-1] == "t::case[b]", "a second case of one test comes last"
    assert set(reach.tests(price, "", ("LIMIT",))) == set(by_function), "total mentions LIMIT"


def test_a_test_that_fails_already_is_not_asked(tmp_path: Path) -> None:
    price = tmp_path / "price.py"
    price.write_text(PRICE)
    recording = Recording(
        seconds={"t::good": 0.1, "t::bad": 0.1},
        functions={"price.py": {"Order.total": ("t::good", "t::bad")}},
        failed=("t::bad",),
    )
    assert Reach(tmp_path, [recording], [price]).tests(price, "Order.total", ()) == ["t::good"]


def test_a_change_keeps_its_key_when_lines_are_added_or_the_file_moves() -> None:
    assert mutant().key == mutant(line=99, path="plan/price.py").key
    assert mutant().key != mutant(became="c").key


def test_the_score_leaves_out_what_means_the_same_and_what_does_not_import() -> None:
    outcomes = [
        *[Outcome.KILLED] * 3,
        Outcome.TIMED_OUT,
        Outcome.SURVIVED,
        *[Outcome.EQUIVALENT] * 2,
        Outcome.BROKEN,
    ]
    verdicts = [MutantVerdict(mutant=mutant(), outcome=each) for each in outcomes]
    assert report.score(verdicts) == "80%"
    text = report.summary({"shop": verdicts}, Path("/tree"), "7")
    assert "| shop | 7 | 4 | 1 | 2 | 80% |" in text
    assert text.count("price.py:8") == 1, "only what was not noticed is listed"


@pytest.mark.parametrize(
    ("lines", "by", "outcome"),
    [
        (("started t::a", "failed t::a"), 0, Outcome.KILLED),
        (("started t::a", "started t::b", "done"), 0, Outcome.SURVIVED),
        (("started t::a", "bound"), 0, Outcome.SURVIVED),
        (("broken",), 0, Outcome.BROKEN),
        (("started t::a",), signal.SIGPROF, Outcome.TIMED_OUT),
        (("started t::a",), signal.SIGKILL, Outcome.SURVIVED),
        (("started t::a",), signal.SIGSEGV, Outcome.KILLED),
    ],
)
def test_how_a_copy_ended_says_what_became_of_the_change(
    lines: tuple[str, ...], by: int, outcome: Outcome
) -> None:
    """A machine too busy to finish in time must not count as a test that noticed."""
    ended = forks.Ended(lines=lines, signal=by, status=0, seconds=1.0)
    assert outcome_of(ended)[0] is outcome


def test_every_recorded_equivalent_is_about_lines_that_exist() -> None:
    """A record whose line is gone would hide a later change of the same words."""
    table = settings.read(ROOT)
    files = [file for package in table.packages for file in table.files(package, ROOT)]
    texts = [[line.strip() for line in file.read_text().splitlines()] for file in files]
    for key, entry in equivalents.read(ROOT / table.equivalents).items():
        wanted = Counter(entry.was.splitlines())
        assert any(not wanted - Counter(text) for text in texts), f"{key}: no file has the line"


def test_tests_that_name_the_changed_row_of_a_table_come_first(tmp_path: Path) -> None:
    """A table of a hundred rows is read by a thousand tests; few of them ask for one row."""
    (tmp_path / "t.py").write_text('MODEL = "opt"\n')
    (tmp_path / "u.py").write_text('MODEL = "gpt2"\n')
    reach = Reach(tmp_path, [], [])
    tests = ["t.py::one", "u.py::two", "t.py::three[gpt2-1]"]
    expected = ["t.py::three[gpt2-1]", "u.py::two", "t.py::one"]
    assert reach.naming_first(tests, ("gpt2",)) == expected
    assert reach.naming_first(tests, ()) == tests


def test_a_row_is_told_by_its_key() -> None:
    table = 'SINCE = {\n    "opt": 3,\n    "gpt2": 4,\n}\n'
    assert words_changed(table, table.replace("gpt2", "gpt20"), 3) == ("gpt2",)
    assert words_changed(table, table.replace("4", "5"), 3) == ("gpt2",)


def test_of_very_many_tests_the_nearest_are_collected_again_and_then_the_broadest() -> None:
    tests = [str(number) for number in range(1000)]
    chosen = chosen_anew(tests)
    assert chosen[:150] == tests[:150]
    assert chosen[150:152] == ["999", "998"]
    assert len(chosen) == 250
    assert chosen_anew(tests[:200]) == [*tests[:150], *tests[150:200][::-1]]
