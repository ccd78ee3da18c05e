"""`triplane calibrate`: logs of several releases, profiles, and what they predict."""

from pathlib import Path
from typing import Any

import pytest

from catalog.loader import load
from catalog.readers.names import model_names
from catalog.readers.profiles import load_profiles, profile_text
from models.cases.asking import Sources, ask
from models.cases.cards import CardNames
from models.cases.cases import case_of
from models.cases.profiles import fitting
from models.engine.arguments import EngineArguments
from models.engine.startup_log import read_log
from tests.helpers.cli.command import ROOT, budget, triplane
from tests.helpers.cli.logs import HUNGRY, log, start

pytestmark = pytest.mark.pure

RELEASES = ("0.33.0", "0.31.0", "0.24.0", "0.10.2", "0.7.2")
FIRST = EngineArguments(
    max_model_len=8192, max_num_seqs=64, gpu_memory_utilization=0.9, max_num_batched_tokens=2048
)
OTHERS = (
    FIRST.model_copy(update={"max_model_len": 4096}),
    FIRST.model_copy(update={"max_model_len": 12288}),
    FIRST.model_copy(update={"max_num_seqs": 16}),
    FIRST.model_copy(update={"max_num_seqs": 256}),
    FIRST.model_copy(update={"max_num_seqs": 128, "max_model_len": 2048}),
    FIRST.model_copy(update={"gpu_memory_utilization": 0.95}),
)


def calibrated(tmp_path: Path, text: str, *more: str) -> dict[str, Any]:
    file = tmp_path / "start.log"
    file.write_text(text)
    folder = str(tmp_path / "profiles")
    ran = triplane("calibrate", str(file), "--profiles", folder, "--write", "--json", *more)
    assert ran.code == 0, ran.err
    return ran.row


def flags(arguments: EngineArguments) -> list[str]:
    given = arguments.model_dump(exclude_none=True, exclude_defaults=True)
    return [
        word
        for name, value in given.items()
        for word in (f"--{name}".replace("_", "-"), f"{value}")
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_a_log_of_each_release_is_read_whole(release: str, tmp_path: Path) -> None:
    run = start(release, FIRST)
    row = calibrated(tmp_path, log(run), "--gpu", "l4", "--set", "max_num_seqs=64")
    measured = row["profile"]["measured"]
    assert row["profile"]["model"] == "Qwen/Qwen3-8B"
    assert row["profile"]["version"] == release
    assert measured["weights_gib"] == pytest.approx(run.taken.weights_gib, abs=0.006)
    assert measured["kv_cache_gib"] == pytest.approx(run.kv_gib, abs=0.006)
    assert measured["cuda_graph_gib"] == pytest.approx(run.graphs_taken, abs=0.006)
    assert measured["total_gib"] == pytest.approx(22.18, abs=0.006)
    assert row["profile"]["arguments"]["max_model_len"] == 8192
    terms = {term["term"]: term for term in row["terms"]}
    for name, value in (
        ("non_torch_gib", run.taken.non_torch_gib),
        ("activation_gib", run.taken.activation_gib),
    ):
        assert terms[name]["measured"] == pytest.approx(value, abs=0.021)
        assert terms[name]["predicted"] != pytest.approx(value, abs=0.05)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("other", OTHERS, ids=lambda each: "-".join(flags(each)[1::2]))
def test_a_profile_predicts_another_run_within_one_per_cent(
    release: str, other: EngineArguments, tmp_path: Path
) -> None:
    """Another length, other sequences, another utilization: the same model, card and release."""
    seqs = ("--set", "max_num_seqs=64", "--set", "max_num_batched_tokens=2048")
    calibrated(tmp_path, log(start(release, FIRST)), "--gpu", "l4", *seqs)
    truth = start(release, other)
    where = ("--profiles", str(tmp_path / "profiles"), "--vllm-version", release)
    row = budget("qwen3-8b", "--gpu", "l4", *where, *flags(other)).row
    assert any("measured by profile" in reason for reason in row["reasons"])
    assert row["kv_cache_gib"] == pytest.approx(truth.kv_gib, rel=0.01)
    assert row["kv_cache_tokens"] == pytest.approx(truth.tokens, rel=0.01)
    assert row["kv_cache_gib_low"] <= truth.kv_gib
    assert row["weights_gib"] == pytest.approx(truth.taken.weights_gib, rel=0.01)


@pytest.mark.parametrize("release", ["0.33.0", "0.10.2"])
def test_a_peak_that_a_layer_sets_is_corrected_too(release: str, tmp_path: Path) -> None:
    """Many tokens and few sequences: holds for another length and other sequences."""
    wide = FIRST.model_copy(update={"max_num_seqs": 8, "max_num_batched_tokens": 8192})
    seqs = ("--set", "max_num_seqs=8", "--set", "max_num_batched_tokens=8192")
    calibrated(tmp_path, log(start(release, wide, HUNGRY)), "--gpu", "l4", *seqs)
    where = ("--profiles", str(tmp_path / "profiles"), "--vllm-version", release)
    for change in ({"max_model_len": 2048}, {"max_num_seqs": 16}, {"max_num_seqs": 4}):
        other = wide.model_copy(update=change)
        truth = start(release, other, HUNGRY)
        row = budget("qwen3-8b", "--gpu", "l4", *where, *flags(other)).row
        assert row["kv_cache_gib"] == pytest.approx(truth.kv_gib, rel=0.01)


def test_the_estimate_alone_would_be_off_by_more() -> None:
    """Else the test above would show nothing."""
    truth = start("0.33.0", FIRST)
    row = budget("qwen3-8b", "--gpu", "l4", *flags(FIRST)).row
    assert abs(row["kv_cache_gib"] / truth.kv_gib - 1) > 0.05


@pytest.mark.parametrize(
    "changed",
    [
        ("--gpu", "a10g"),
        ("--gpu", "l4", "--tp", "2"),
        ("--gpu", "l4", "--vllm-version", "0.24.0"),
        ("--gpu", "l4", "--kv-cache-dtype", "fp8"),
        ("--gpu", "l4", "--quant", "fp8"),
        ("--gpu", "l4", "--no-profiles"),
    ],
)
def test_a_profile_holds_for_nothing_else(changed: tuple[str, ...], tmp_path: Path) -> None:
    calibrated(tmp_path, log(start("0.33.0", FIRST)), "--gpu", "l4")
    where = ("--profiles", str(tmp_path / "profiles"))
    row = budget("qwen3-8b", *where, *flags(FIRST), *changed).row
    assert not any("measured by profile" in reason for reason in row["reasons"])


def test_a_card_that_no_line_names_is_known_by_its_memory(tmp_path: Path) -> None:
    row = calibrated(tmp_path, log(start("0.33.0", FIRST)))
    assert row["profile"]["gpu"] == "l4"
    assert any("by its memory" in note for note in row["notes"])


def test_a_run_of_our_own_is_known_by_the_name_it_serves(tmp_path: Path) -> None:
    """Engines of this platform load from /models/<name>/<revision>."""
    text = log(start("0.33.0", FIRST)).replace("model='Qwen/Qwen3-8B'", "model='/models/q/abc'")
    text = text.replace("'model': 'Qwen/Qwen3-8B'", "'model': '/models/q/abc'")
    text = text.replace("served_model_name=Qwen/Qwen3-8B", "served_model_name=qwen3-8b")
    assert calibrated(tmp_path, text)["profile"]["model"] == "Qwen/Qwen3-8B"


def test_the_worst_rank_is_kept() -> None:
    text = "\n".join(
        f"(Worker_TP{rank}) Model loading took {weights} GiB\n"
        f"(Worker_TP{rank}) Available KV cache memory: {kv} GiB"
        for rank, weights, kv in ((0, 13.90, 8.69), (1, 13.95, 5.10))
    )
    measured = read_log(text).measured
    assert (measured.weights_gib, measured.kv_cache_gib) == (13.95, 5.10)


def test_a_run_that_did_not_start_can_be_read_too() -> None:
    text = (
        "ValueError: To serve at least one request with the model's max seq len (131072), (17.64 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (9.67 GiB). "
        "Based on the available memory, the estimated maximum model length is 71872."
    )
    measured = read_log(text).measured
    assert (measured.needed_kv_gib, measured.kv_cache_gib) == (17.64, 9.67)


def test_weights_that_cannot_be_counted_are_taken_from_the_log(tmp_path: Path) -> None:
    """A quantization that nobody here knows: the log has the bytes."""
    text = "\n".join(
        [
            "Model loading took 6.10 GiB memory and 9.0 seconds",
            "Available KV cache memory: 12.30 GiB",
        ]
    )
    more = ("--model", "qwen3-8b", "--gpu", "l4", "--vllm-version", "0.33.0", "--set", "quant=exl3")
    calibrated(tmp_path, text, *more, "--set", "max_model_len=8192")
    where = ("--profiles", str(tmp_path / "profiles"))
    plain = ("qwen3-8b", "--gpu", "l4", "--quant", "exl3")
    row = budget(*plain, "--max-model-len", "4096", *where).row
    assert row["verdict"] == "fits"
    assert row["weights_gib"] == 6.10
    assert row["kv_cache_gib"] == pytest.approx(12.30, abs=0.01)
    assert budget(*plain).row["verdict"] == "unknown"


def test_a_profile_of_the_catalog_s_folder_is_used_and_well_formed(tmp_path: Path) -> None:
    calibrated(tmp_path, log(start("0.33.0", FIRST)), "--gpu", "l4", "--name", "mine")
    (profile,) = load_profiles(tmp_path / "profiles")
    assert profile.name == "mine"
    assert (tmp_path / "profiles" / "mine.yaml").read_text() == profile_text(profile)
    assert load_profiles() is not None
    assert (ROOT / "catalog" / "profiles" / "README.md").exists()


def test_the_nearest_profile_wins(tmp_path: Path) -> None:
    for seqs in (16, 256):
        run = start("0.33.0", FIRST.model_copy(update={"max_num_seqs": seqs}))
        calibrated(tmp_path, log(run), "--gpu", "l4", "--name", f"s{seqs}")
    asked = ask(
        case_of({"model": "qwen3-8b", "gpu": "l4", "max_num_seqs": 200}, load().engines)[0],
        Sources(
            catalog=load(),
            names=model_names({}),
            cards=CardNames(load().accelerators, (), ()),
        ),
    )
    found = fitting(load_profiles(tmp_path / "profiles"), asked, load().borders)
    assert found is not None
    assert found.name == "s256"


def test_a_broken_profile_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: other\nmodel: 3\n")
    ran = budget("qwen3-8b", "--gpu", "l4", "--profiles", str(tmp_path))
    assert ran.code == 2
    assert "bad.yaml" in ran.err


@pytest.mark.parametrize(
    ("text", "more", "named"),
    [
        ("nothing of the kind", (), "no line of it"),
        ("Model loading took 1.0 GiB", (), "model: not given"),
        ("Model loading took 1.0 GiB", ("--model", "qwen3-8b"), "gpu"),
        ("Model loading took 1.0 GiB", ("--set", "color=blue"), "--set color=blue"),
        ("Model loading took 1.0 GiB", ("--model", "qwen3-8b", "--set", "tp=two"), "tp"),
    ],
)
def test_a_log_that_does_not_suffice_says_what_is_missing(
    text: str, more: tuple[str, ...], named: str, tmp_path: Path
) -> None:
    file = tmp_path / "start.log"
    file.write_text(text)
    ran = triplane("calibrate", str(file), *more)
    assert ran.code == 2
    assert named in ran.err
    assert triplane("calibrate", str(tmp_path / "none.log")).code == 2


def test_people_see_predicted_beside_measured(tmp_path: Path) -> None:
    file = tmp_path / "start.log"
    file.write_text(log(start("0.33.0", FIRST)))
    ran = triplane("calibrate", str(file))
    assert ran.code == 0
    for words in ("predicted", "measured", "weights_gib", "kv_cache_tokens"):
        assert words in ran.out
    assert not (tmp_path / "profiles").exists()
