"""The command itself: exit codes, output for people, drawing, completion, cold start."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.helpers.cli.command import budget, triplane

pytestmark = pytest.mark.pure

L4 = ("qwen3-8b", "--gpu", "l4", "--max-model-len", "8192")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("qwen3-8b", "--tp", "0"),
        ("qwen3-8b", "--tp", "two"),
        ("qwen3-8b", "--no-such-option"),
        ("qwen3-8b", "--gpu", "l4", "--gpu-memory-utilization", "1.5"),
        ("qwen3-8b", "--gpu-mem-gib", "nan"),
        ("qwen3-8b", "--gpu-mem-gib", "inf"),
        ("--model-config", "no-such-file.json", "--gpu", "l4"),
        ("--cases", "no-such-file.jsonl"),
        ("qwen3-8b", "--cases", "x.jsonl"),
        ("qwen3-8b", "--model-config", "x.json"),
        ("qwen3-8b", "--gpu", "l4", "--plot", "drawing.png"),
        ("--total-vram", "-1"),
    ],
)
def test_input_that_cannot_be_used_exits_with_two(arguments: tuple[str, ...]) -> None:
    ran = budget(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.strip()


def test_a_fault_of_ours_exits_with_three_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("invented")

    monkeypatch.setattr("cli.commands.budget.answer", broken)
    ran = budget(*L4)
    assert ran.code == 3
    assert "ZeroDivisionError: invented" in ran.err
    assert "report" in ran.err
    assert "Traceback" not in ran.err
    monkeypatch.setenv("TRIPLANE_DEBUG", "1")
    debugged = budget(*L4)
    assert debugged.code == 3
    assert "Traceback" in debugged.err


def test_people_get_a_table_with_terms_reasons_and_remedies() -> None:
    ran = triplane("budget", "qwen3-8b", "--gpu", "l4")
    assert ran.code == 1
    for words in ("cannot-serve", "weights", "KV cache tokens", "remedy: set max_model_len"):
        assert words in ran.out


def test_the_plot_is_a_drawing_of_every_term(tmp_path: Path) -> None:
    file = tmp_path / "budget.svg"
    assert triplane("budget", *L4, "--plot", str(file)).code == 0
    text = file.read_text()
    ElementTree.fromstring(text)
    for words in ("weights: 15.27 GiB", "KV cache", "activation peak", "CUDA graphs", "qwen3-8b"):
        assert words in text


def test_help_lists_the_exit_codes_and_every_command() -> None:
    assert "Exit codes" in triplane("--help").out
    assert "calibrate" in triplane("--help").out
    assert triplane("budget", "--help").code == 0
