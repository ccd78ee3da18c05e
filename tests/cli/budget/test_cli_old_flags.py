"""The old calculator's flags: its command lines work, its number stands beside ours."""

import re
import shlex
from pathlib import Path

import pytest

from tests.helpers.cli.command import FIELDS, budget, shared, triplane

pytestmark = pytest.mark.pure

LLAMA8 = ("--total-vram", "24", "--model-size", "16.06", "--quant", "fp16", "--gpu", "L4")
SHAPE = ("--batch", "1", "--context", "8192", "--layers", "32", "--heads", "32")


def seeds() -> list[list[str]]:
    """Return the arguments of every command line of the old tool in the source document."""
    text = shared("seeds/000_85bf3fc7fa9c7c7f.txt").read_text()
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = re.findall(r"^\./target/release/vram-budget-calc .*$", joined, re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


def test_the_old_command_lines_are_found() -> None:
    assert len(seeds()) >= 1
    assert all("--json" in line for line in seeds())


def test_the_old_command_lines_work() -> None:
    """Its own README's example was refused by the old tool (`--quant awq`)."""
    for line in seeds():
        ran = triplane("budget", *line)
        assert ran.code in (0, 1), ran.err
        assert tuple(ran.row) == (*FIELDS, "old_calculator")
        old = ran.row["old_calculator"]
        assert old["kv_cache_gb"] == pytest.approx(0.0084, abs=1e-4)
        assert old["fits"] is True
        assert ran.row["weights_gib"] == pytest.approx(4.7e9 / 2**30, abs=0.001)


def test_what_the_old_flags_leave_open_is_named_when_the_verdict_depends_on_it() -> None:
    line = seeds()[0]
    open_ = triplane("budget", *line).row
    assert open_["verdict"] == "unknown"
    assert "--kv-heads and --head-dim" in open_["reasons"][0]
    few = triplane("budget", *line, "--kv-heads", "8", "--head-dim", "128").row
    assert few["verdict"] == "fits"
    assert few["kv_bytes_per_token"] == 2 * 32 * 8 * 128 * 2
    all_ = triplane("budget", *line, "--kv-heads", "32", "--head-dim", "128").row
    assert all_["verdict"] == "cannot-serve"


def test_a_verdict_that_does_not_depend_on_it_is_given() -> None:
    assert budget("--total-vram", "80", *LLAMA8[2:6], "--gpu", "H100", *SHAPE).row["verdict"] == (
        "fits"
    )
    small = budget("--total-vram", "8", *LLAMA8[2:6], "--gpu", "RTX A2000", *SHAPE).row
    assert small["verdict"] == "cannot-start"


def test_the_old_number_is_32_times_too_small_for_llama_3_8b() -> None:
    """Its formula: no head size, query heads for KV heads, weight bytes for KV bytes."""
    shape = ("--kv-heads", "8", "--head-dim", "128")
    row = budget(*LLAMA8, *SHAPE, *shape).row
    old = row["old_calculator"]["kv_cache_gb"]
    assert row["needed_kv_gib"] * 2**30 / 1e9 / old == pytest.approx(32, rel=0.01)
    assert "32 times" in row["old_calculator"]["why"]
    assert "head size" in row["old_calculator"]["why"]


def test_a_nominal_size_means_what_cuda_reports() -> None:
    row = budget(*LLAMA8, *SHAPE).row
    assert any("22.16" in reason for reason in row["reasons"])


def test_a_model_may_stand_beside_the_old_flags() -> None:
    """Then its configuration decides, and the flags only give memory, length and sequences."""
    row = budget("qwen3-8b", *LLAMA8, *SHAPE).row
    plain = budget("qwen3-8b", "--gpu", "L4", "--max-model-len", "8192", "--max-num-seqs", "1").row
    assert row["weights_gib"] == plain["weights_gib"]
    assert row["needed_kv_gib"] == plain["needed_kv_gib"]
    assert row["old_calculator"]["kv_cache_gb"] > 0


@pytest.mark.parametrize("left_out", ["--model-size", "--layers", "--heads"])
def test_what_is_missing_is_named(left_out: str) -> None:
    line = [*LLAMA8, *SHAPE]
    at = line.index(left_out)
    ran = budget(*line[:at], *line[at + 2 :])
    assert ran.code == 1
    assert ran.row["verdict"] == "unknown"
    assert left_out in ran.row["reasons"][0]
    assert left_out in ran.row["old_calculator"]["why"]


def test_people_see_both_numbers(tmp_path: Path) -> None:
    ran = triplane("budget", *LLAMA8, *SHAPE)
    assert "the old calculator: KV cache 0.034 GB" in ran.out
