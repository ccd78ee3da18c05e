"""The command itself: exit codes, output for people, drawing, completion, cold start."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Final

import pytest

from tests.cli.cli_lab import ROOT, budget, triplane

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

    monkeypatch.setattr("cli.budget.answer", broken)
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
    for words in ("cannot-serve", "weights", "KV cache tokens", "mend: set max_model_len"):
        assert words in ran.out


def test_the_plot_is_a_drawing_of_every_term(tmp_path: Path) -> None:
    file = tmp_path / "budget.svg"
    assert triplane("budget", *L4, "--plot", str(file)).code == 0
    text = file.read_text()
    ElementTree.fromstring(text)
    for words in ("weights: 15.27 GiB", "KV cache", "activation peak", "CUDA graphs", "qwen3-8b"):
        assert words in text


def test_completion_knows_models_and_cards() -> None:
    environment = {"_TRIPLANE_COMPLETE": "complete_bash", "COMP_CWORD": "4"}
    ran = subprocess.run(
        [sys.executable, "-m", "cli"],
        env={**os.environ, **environment, "COMP_WORDS": "triplane budget qwen3-8b --gpu h1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "h100-80gb" in ran.stdout


def test_help_lists_the_exit_codes_and_every_command() -> None:
    assert "Exit codes" in triplane("--help").out
    assert "calibrate" in triplane("--help").out
    assert triplane("budget", "--help").code == 0


HEAVY: Final = (
    *("pulumi", "grpc", "boto3", "botocore", "moto", "policy_sentry", "requests", "numpy"),
    *("psutil", "hypothesis", "pytest"),
)
"""Packages that no answer about memory needs, each of them slower to import than the answer."""


def test_an_answer_imports_nothing_that_it_does_not_need() -> None:
    """What a cold start takes is measured by `make bench`; what it loads is held here."""
    program = (
        "import sys; from cli.__main__ import main;"
        "code = main(['budget', 'qwen3-8b', '--gpu', 'l4', '--max-model-len', '8192', '--json']);"
        f"print(code, [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stderr.strip() == "0 []"
    assert json.loads(ran.stdout)["verdict"] == "fits"
