"""The comparison with other estimators: fair inputs, right formulas, honest scores."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import compare as peers
from benchmarks.peers import questions as peer_questions
from benchmarks.peers import worker as peer_worker
from benchmarks.peers.answers import LEFT_OUT, OURS, TEXTBOOK, Answer, calculator, ours, textbook
from benchmarks.peers.checkpoint import header
from benchmarks.peers.compare import Comparison
from benchmarks.peers.goldens import from_goldens
from benchmarks.peers.questions import (
    CASES,
    NEEDED,
    OPEN,
    Question,
    Seen,
    from_cases,
    missing_data,
    question,
)
from benchmarks.peers.scores import TOTAL, errors_of, score
from benchmarks.peers.tables import shown, table
from benchmarks.shared import memory_cases
from models.architecture import architecture
from models.core.base import GIB
from models.engine.arguments import EngineArguments
from models.memory import BudgetRequest, Card
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

with_data = pytest.mark.skipif(missing_data() is not None, reason="lacking ../shared/data")

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
BASE = EngineArguments(max_model_len=8192, gpu_memory_utilization=0.9)
PARAMETERS = 8_030_261_248
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1, "I8": 1, "I32": 4}


def llama(memory_gib: float | None = 80.0, **arguments: Any) -> Question:
    """Return Llama 3 8B as a question."""
    card = Card(memory_gib=memory_gib or 80.0, capability=(9, 0))
    request = BudgetRequest(
        architecture=architecture(LLAMA),
        card=card,
        behavior=behavior_of("0.33.0"),
        arguments=BASE.model_copy(update=arguments),
    )
    return question("llama", "dense", LLAMA, request, card if memory_gib else None)


def test_the_textbook_formula_is_the_textbooks() -> None:
    """128 KiB per token for Llama 3 8B; what weights leave is KV."""
    said = textbook(llama())
    weights = PARAMETERS * 2 / GIB
    assert said.bytes_per_token == 2 * 32 * 8 * 128 * 2
    assert said.weights_gib == pytest.approx(weights)
    assert said.kv_gib == pytest.approx(0.9 * 80 - weights)
    assert said.need_gib == pytest.approx(1.0)
    assert said.fits is True


def test_the_textbook_formula_divides_by_gpus_and_takes_the_cache_dtype() -> None:
    said = textbook(llama(tensor_parallel_size=4, kv_cache_dtype="fp8"))
    assert said.bytes_per_token == 2 * 32 * 2 * 128
    assert said.weights_gib == pytest.approx(PARAMETERS * 2 / 4 / GIB)


def test_the_old_calculator_is_32_times_too_small() -> None:
    """Its faults are kept: otherwise the comparison would flatter nobody."""
    simple, old = textbook(llama()), calculator(llama())
    assert simple.bytes_per_token is not None
    assert old.bytes_per_token == pytest.approx(simple.bytes_per_token / 32)
    assert old.fits is True


def test_without_a_card_only_the_layout_is_answered() -> None:
    """A stand-in card's memory must not become a prediction."""
    for method in (ours, textbook, calculator):
        said = method(llama(memory_gib=None))
        assert said.bytes_per_token is not None
        assert (said.kv_gib, said.fits) == (None, None)


def test_too_small_a_card_is_refused() -> None:
    for method in (ours, textbook, calculator):
        assert method(llama(memory_gib=8.0)).fits is False


def test_the_header_counts_what_a_checkpoint_holds() -> None:
    assert header(architecture(LLAMA), "bfloat16") == {"BF16": PARAMETERS}
    awq = llama(quantization="awq")
    assert awq.header is not None
    assert awq.header["I32"] * 8 == PARAMETERS - 2 * 128256 * 4096 - 65 * 4096


@with_data
def test_headers_weigh_what_the_engine_allocates() -> None:
    """Peers get their weights from it: a wrong header would make them look bad."""
    off: dict[str, float] = {}
    for asked, seen in from_goldens():
        if asked.header and seen.weights_gib and asked.gpus == 1 and not asked.method:
            size = sum(SIZES[name] * number for name, number in asked.header.items())
            off[asked.id] = abs(size / GIB / seen.weights_gib - 1)
    assert len(off) > 20
    small = off.pop("g:gemma3-1b")
    assert small < 0.05, "the engine's rounding weighs most in the smallest model"
    assert max(off.values()) < 0.01


@with_data
def test_what_was_observed_reaches_no_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the comparison would be with answers that know the outcome."""
    before = [asked for asked, _ in from_cases()[0]]
    data = tmp_path / "data"
    shutil.copytree(memory_cases.DATA, data, ignore=lambda folder, names: set(names) - set(NEEDED))
    lines = [json.loads(line) for line in (data / CASES).read_text().splitlines()]
    blank = [{**line, "observed": {"oom": False}} for line in lines]
    (data / CASES).chmod(0o644)
    (data / CASES).write_text("\n".join(json.dumps(line) for line in blank))
    monkeypatch.setattr(memory_cases, "DATA", data)
    monkeypatch.setattr(peer_questions, "DATA", data)
    after = from_cases()[0]
    assert [asked for asked, _ in after] == before
    assert all(seen == Seen(started=True, is_open=seen.is_open) for _, seen in after)


@with_data
def test_runs_set_aside_exist() -> None:
    """A stale entry would hide nothing, but would say something untrue."""
    ids = [str(line["id"]) for line in peer_questions.read_lines(CASES)]
    assert all(any(name.startswith(start) for name in ids) for start in OPEN)


def test_ours_beats_the_textbook_on_the_same_inputs(comparison: Comparison) -> None:
    total = {each.method: each for each in comparison.runs if each.kind == TOTAL}
    mine, simple = total[OURS], total[TEXTBOOK]
    assert mine.judged == simple.judged
    assert mine.false_fits == 0
    assert mine.wrong_refusals <= simple.wrong_refusals
    assert (mine.kv.median or 0.0) < 0.1 * (simple.kv.median or 0.0)
    goldens = {each.method: each for each in comparison.goldens if each.kind == TOTAL}
    assert goldens[OURS].block.largest == 0
    assert (goldens[TEXTBOOK].block.largest or 0.0) > 100


def test_ours_is_told_in_and_out_of_sample(comparison: Comparison) -> None:
    """A method that was fitted on the runs it is judged by must say so."""
    total = {each.method: each for each in comparison.runs if each.kind == TOTAL}
    inside, outside = total[OURS], total[LEFT_OUT]
    assert (outside.judged, outside.kv.n) == (inside.judged, inside.kv.n)
    assert (outside.kv.median or 0.0) > (inside.kv.median or 0.0)
    assert outside.per_token == inside.per_token, "no constant enters the bytes of a token"
    assert "in sample" in peers.shown(comparison)


def test_a_class_is_a_part_of_the_whole(comparison: Comparison) -> None:
    for method in (OURS, TEXTBOOK):
        mine = [each for each in comparison.runs if each.method == method]
        whole = next(each for each in mine if each.kind == TOTAL)
        assert sum(each.judged for each in mine) == 2 * whole.judged


def test_scores_count_false_fits_and_wrong_refusals() -> None:
    asked = llama()
    outcomes = ((True, True), (True, False), (False, True), (False, False), (True, None))
    rows = [
        ((asked, Seen(started=started, kv_gib=10.0)), Answer(fits=fits, kv_gib=12.0))
        for started, fits in outcomes
    ]
    found = score("dense", "method", rows)
    assert (found.judged, found.failed, found.running) == (4, 2, 2)
    assert (found.false_fits, found.wrong_refusals) == (1, 1)
    assert (found.kv.n, found.kv.median) == (5, 2.0)


def test_errors_of_nothing_are_no_zeros() -> None:
    """A method that answers nothing must not look exact."""
    assert errors_of([]).median is None
    assert shown(None) == "-"
    assert errors_of([3.0, 1.0, 2.0]).largest == 3.0


def test_tables_are_aligned() -> None:
    lines = table(("name", "number"), [("a", "1"), ("long name", "1000")]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "|-----------|-------:|"


def test_missing_data_is_said_and_nothing_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = missing_data(tmp_path) or ""
    assert all(name in said for name in NEEDED)
    monkeypatch.setattr(peers, "missing_data", lambda: said)
    monkeypatch.setattr("sys.argv", ["peers"])
    assert peers.main() == 2
    assert "error: lacking vram_cases.jsonl" in capsys.readouterr().err


def test_packages_get_the_runs_dtype_and_quantization() -> None:
    """What a summary lacks is filled in, and the question itself is not changed."""
    asked = {"config": dict(LLAMA), "dtype": "float16", "method": "awq", "bits": 4}
    config = peer_worker.config_of(asked)
    assert config["torch_dtype"] == "float16"
    assert config["quantization_config"] == {"quant_method": "awq", "bits": 4}
    assert asked["config"] == LLAMA


def test_a_failing_package_is_an_answer_with_a_reason() -> None:
    """One model that a tool does not know must not end the comparison."""

    def failing(asked: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("head_dim")

    assert peer_worker.answered(failing, {}) == {"why": "KeyError: 'head_dim'"}


def test_questions_hold_no_observed_field() -> None:
    names = {field.name for field in dataclasses.fields(Question)}
    assert names.isdisjoint({"observed", "kv_gib", "started", "weights_gib", "block_bytes"})
