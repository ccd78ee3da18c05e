"""`triplane budget --cases`: real runs, lines that cannot be used, and random options."""

import json
import random
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.cli.command import FIELDS, budget, qwen, shared, triplane

pytestmark = pytest.mark.pure

CASE: dict[str, Any] = {"id": "a", "model": "qwen3-8b", "gpu": "L4", "max_model_len": 8192}


def asked(tmp_path: Path, *lines: str | dict[str, Any], more: tuple[str, ...] = ()) -> Any:
    file = tmp_path / "cases.jsonl"
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(text))
    return budget("--cases", str(file), *more)


@pytest.fixture(scope="module", name="real")
def real_runs() -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Return the lines of the data, the answers, and the exit code."""
    lines = [json.loads(text) for text in shared("data/vram_cases.jsonl").read_text().splitlines()]
    configs = str(shared("data/model_configs.json"))
    ran = budget("--cases", str(shared("data/vram_cases.jsonl")), "--model-configs", configs)
    return lines, cast("list[dict[str, Any]]", ran.json), ran.code


def test_real_runs_get_a_verdict_or_the_missing_input(
    real: tuple[list[dict[str, Any]], list[dict[str, Any]], int],
) -> None:
    lines, rows, code = real
    assert code == 1
    assert [row["id"] for row in rows] == [line["id"] for line in lines]
    assert all(tuple(row) == FIELDS for row in rows)
    unknown = [row for row in rows if row["verdict"] == "unknown"]
    assert len(rows) - len(unknown) >= 59
    for row in unknown:
        first = row["reasons"][0]
        assert any(word in first for word in ("model:", "gpu:", "n_gpus", "missing:")), first


def test_no_run_that_failed_is_called_fitting(
    real: tuple[list[dict[str, Any]], list[dict[str, Any]], int],
) -> None:
    lines, rows, _ = real
    for line, row in zip(lines, rows, strict=True):
        if line["observed"]["oom"]:
            assert row["verdict"] != "fits", row["id"]


def test_what_was_observed_is_never_read(
    real: tuple[list[dict[str, Any]], list[dict[str, Any]], int], tmp_path: Path
) -> None:
    """An answer that leant on the observation would be no prediction."""
    lines, rows, _ = real
    changed = [{**line, "observed": {"oom": None, "kv_cache_gib": -1}} for line in lines]
    configs = ("--model-configs", str(shared("data/model_configs.json")))
    assert asked(tmp_path, *changed, more=configs).json == rows


def test_a_record_without_its_gpus_is_not_refused_for_want_of_them(tmp_path: Path) -> None:
    """Its run may have had several: only a fit on one GPU is certain."""
    big = {"model": "llama33-70b-instruct", "gpu": "H100", "max_model_len": 8192}
    nulls = {"n_gpus": None, "tp": None}
    recorded, wondered, told = asked(tmp_path, {**big, **nulls}, big, {**big, "tp": 1}).json
    assert recorded["verdict"] == "unknown"
    assert "n_gpus and tp" in recorded["reasons"][0]
    assert (wondered["verdict"], told["verdict"]) == ("cannot-start", "cannot-start")
    assert asked(tmp_path, {**CASE, **nulls}).json[0]["verdict"] == "fits"


def test_another_make_gets_a_verdict_with_a_wider_bound(tmp_path: Path) -> None:
    """Its memory is given and the model's need is known; its overheads are not."""
    npu = {**CASE, "gpu": "Ascend NPU 64GB", "gpu_mem_gib": 60.96}
    other, named = asked(tmp_path, npu, {**npu, "gpu_mem_gib": None}).json
    assert other["verdict"] == "fits"
    assert other["kv_cache_gib"] - other["kv_cache_gib_low"] > 12
    assert "not CUDA" in " ".join(other["reasons"])
    assert named["verdict"] == "unknown"
    assert "gpu_mem_gib" in named["reasons"][0]


def test_lines_that_cannot_be_used_are_told_by_number_and_the_others_go_on(tmp_path: Path) -> None:
    bad = ["not json", "[1, 2]", '{"model": "qwen3-8b", "tp": "two"}', '{"gpu_mem_gib": NaN}']
    bad += ['{"max_num_seqs": -3, "gpu_memory_utilization": 90}', '{"model": ["a"]}', "[" * 5000]
    ran = asked(tmp_path, CASE, *bad, "", {**CASE, "id": "z"})
    assert ran.code == 2
    assert [row["id"] for row in ran.json] == ["a", *(f"line-{n}" for n in range(2, 9)), "z"]
    assert [row["verdict"] for row in ran.json] == ["fits", *["unknown"] * 7, "fits"]
    for number in range(2, 9):
        assert f"cases.jsonl line {number}:" in ran.err
    assert "tp" in ran.json[3]["reasons"][0]
    assert "Traceback" not in ran.err


def test_fields_that_are_not_known_are_told_and_not_used(tmp_path: Path) -> None:
    ran = asked(tmp_path, {**CASE, "max_model_length": 99, "notes": "n", "source": "s"})
    assert ran.code == 0
    assert "line 1: not used: max_model_length" in ran.err
    assert "notes" not in ran.err


def test_a_file_of_one_line_gives_a_list_too(tmp_path: Path) -> None:
    ran = asked(tmp_path, CASE)
    assert ran.code == 0
    assert len(ran.json) == 1


def test_an_empty_file_cannot_be_used(tmp_path: Path) -> None:
    assert asked(tmp_path, "", "").code == 2


def test_null_and_absent_mean_the_same(tmp_path: Path) -> None:
    whole = {"gpu_mem_gib": None, "tp": None, "quant": "", "dtype": "auto", "block_size": None}
    plain, nulled = asked(tmp_path, CASE, {**CASE, **whole}).json
    assert plain == nulled


def test_a_line_without_a_release_takes_the_pinned_one_a_record_says_what_is_assumed(
    tmp_path: Path,
) -> None:
    left_out, null = asked(tmp_path, CASE, {**CASE, "vllm_version": None}).json
    alone = budget("qwen3-8b", "--gpu", "L4", "--max-model-len", "8192").row
    assert {**left_out, "id": ""} == {**alone, "id": ""}
    assert "is assumed" in " ".join(null["reasons"])


def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    written = {"max_model_len": "8192", "tp": 1.0, "gpu_memory_utilization": "0.9", "ep": 0}
    plain, other = asked(
        tmp_path, {**CASE, "tp": 1, "gpu_memory_utilization": 0.9}, {**CASE, **written}
    ).json
    assert plain == other


def test_options_fill_in_what_lines_leave_out(tmp_path: Path) -> None:
    more = ("--gpu-memory-utilization", "0.5")
    plain, own = asked(tmp_path, CASE, {**CASE, "gpu_memory_utilization": 0.9}, more=more).json
    assert plain["verdict"] == "cannot-start"
    assert own["verdict"] == "fits"


def test_several_versions_in_a_name_are_told(tmp_path: Path) -> None:
    row = asked(tmp_path, {**CASE, "model": "Qwen2/3-8B"}).json[0]
    assert row["verdict"] in ("fits", "unknown")
    assert row["verdict"] == "unknown" or "is read as" in " ".join(row["reasons"])


def test_many_answers_make_a_table_and_a_count(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(CASE) + "\n" + json.dumps({**CASE, "gpu": None}))
    ran = triplane("budget", "--cases", str(file), "--plot", str(tmp_path / "many.svg"))
    assert ran.code == 1
    assert "1 fits; 0 cannot-start; 0 cannot-serve; 1 unknown" in ran.out
    assert "unknown" in (tmp_path / "many.svg").read_text()


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 1 << 70),
    st.integers(1, 70000),
    st.floats(),
    st.floats(0.01, 1),
    st.text(max_size=8),
    st.sampled_from(["fp8", "auto", "awq", "bfloat16", "0.33.0", "0.6.3 (V0)", "H100", "L4"]),
    st.lists(st.integers(), max_size=2),
)
NAMES = st.sampled_from([*CASE, "tp", "pp", "dp", "ep", "n_gpus", "dtype", "quant", "block_size",
    "kv_cache_dtype", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization",
    "enforce_eager", "enable_prefix_caching", "kv_cache_memory_bytes", "vllm_version",
    "gpu_mem_gib", "nonsense"])  # fmt: skip  # a list of words


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=8))
def test_no_line_is_a_fault_of_ours(changes: list[dict[str, Any]], tmp_path: Path) -> None:
    """Whatever is in a line: an answer or a reason, no traceback, no NaN, no negative term."""
    ran = asked(tmp_path, *({**CASE, **change} for change in changes))
    assert ran.code in (0, 1, 2), ran.err
    for row in ran.json:
        for name in FIELDS[2:13]:
            assert row[name] is None or row[name] >= 0, (name, row)


OPTIONS = (
    "--tp", "--pp", "--dp", "--n-gpus", "--gpu-mem-gib", "--max-model-len", "--max-num-seqs",
    "--gpu-memory-utilization", "--max-num-batched-tokens", "--block-size", "--total-vram",
    "--kv-cache-memory-bytes", "--model-size", "--batch", "--context", "--layers", "--heads",
    "--kv-heads", "--head-dim", "--quant", "--dtype", "--kv-cache-dtype", "--gpu",
    "--vllm-version", "--model-config",
)  # fmt: skip  # a list of words
WORDS = ("0", "1", "2", "7", "0.5", "-1", "64", "8192", "1e9", "nan", "x", "", "fp8", "awq", "l4",
    "H200", "0.24.0", "main (Aug 2026)", "99999999999999999999")  # fmt: skip  # a list of words


def test_random_command_lines_never_trace_back(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(150):
        line = ["qwen3-8b"] if chance.random() < 0.5 else []
        for option in chance.sample(OPTIONS, k=chance.randint(0, 7)):
            line += [option, chance.choice(WORDS)]
        line += [flag for flag in ("--enforce-eager", "--ep") if chance.random() < 0.2]
        ran = budget(*line)
        assert ran.code in (0, 1, 2), (line, ran.err)
        assert "Traceback" not in ran.err
        if ran.code < 2:
            assert ran.row["verdict"] in ("fits", "cannot-start", "cannot-serve", "unknown")


def test_random_configurations_never_trace_back(tmp_path: Path) -> None:
    chance = random.Random(11)
    odd: list[Any] = [None, 0, -1, 1, 3, 2.5, "x", [], {}, True, 1 << 40]
    file = tmp_path / "config.json"
    names = [name for name in qwen() if name != "num_hidden_layers"]
    for _ in range(60):
        config = qwen(**{name: chance.choice(odd) for name in chance.sample(names, 2)})
        file.write_text(json.dumps(config))
        ran = budget("--model-config", str(file), "--gpu", "l4")
        assert ran.code in (0, 1), (config, ran.err)


def test_a_line_that_cannot_be_used_keeps_its_name(tmp_path: Path) -> None:
    """Answers are matched by their ids."""
    (row,) = asked(tmp_path, {**CASE, "max_model_len": "eight"}).json
    assert row["id"] == "a"
    assert row["verdict"] == "unknown"
    assert "max_model_len" in row["reasons"][0]


def test_what_was_not_used_is_said_in_the_answer(tmp_path: Path) -> None:
    """A program that reads the answer does not see standard error."""
    (row,) = asked(tmp_path, {**CASE, "swap_space": 4}).json
    assert any("not used: swap_space" in reason for reason in row["reasons"])


def test_flags_in_a_line_are_the_engines(tmp_path: Path) -> None:
    line = {"id": "a", "model": "qwen3-8b", "gpu": "L4"}
    flags = {**line, "args": "vllm serve --max-model-len 8192 --kv-cache-dtype fp8"}
    fields = {**line, "id": "b", "max_model_len": 8192, "kv_cache_dtype": "fp8"}
    first, second = asked(tmp_path, flags, fields).json
    assert {**first, "id": "b"} == second
