"""Finding a golden, writing files, comparing them: without the engine."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from catalog.readers.goldens import load_goldens
from goldens import environment
from goldens.cases import GoldenCase, cases
from goldens.compare import differences, drift, plain
from goldens.files import FOLDER, failed, golden, text_of, write
from models.core.problems import ProblemsError
from models.facts.golden import Goldens
from tests.helpers.models.goldens import VERSION, catalog

pytestmark = pytest.mark.pure

CONFIG: dict[str, JsonValue] = {"hidden_size": 8}
CASE = GoldenCase(
    model="tiny",
    card="h100-80gb",
    capability=(9, 0),
    tensor=2,
    kv_cache_dtype="auto",
    arguments={"dtype": "auto", "kv_cache_dtype": "auto", "block_size": 16},
    asks=((4096, 1024),),
)
GROUP = {"kind": "FullAttentionSpec", "layers": 2, "block_size": 16, "page_bytes": 64}
ANSWER: dict[str, Any] = {
    "id": f"tiny/{CASE.name}",
    "seconds": 3.1,
    "engine": {
        "architecture": "LlamaForCausalLM",
        "dtype": "bfloat16",
        "quantization": None,
        "max_model_len": 4096,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "kv_cache_dtype": "auto",
        "prefix_caching": True,
        "mamba_cache_mode": "none",
    },
    "weights": {"raw_bytes": 10, "alloc_old_bytes": 512, "alloc_new_bytes": 512},
    "kernel_backends": [],
    "process_failures": ["X: RuntimeError: no /usr/local/cuda/bin/nvcc here"],
    "attention": ["FLASH_ATTN"],
    "layout": "LBNHC",
    "groups": [GROUP, GROUP],
    "pool_bytes_per_block": 128,
    "need_bytes": {"4096": 32768},
    "plans": [{"max_model_len": 4096, "kv_bytes": 1024, "refusal": "To serve at least one ..."}],
}


def written(folder: Path, answer: dict[str, Any]) -> Goldens:
    """Return the goldens of one case, through a file."""
    text = text_of("1.2.3", "tiny", CONFIG, [golden(CASE, answer)])
    write("1.2.3", {"tiny": text}, folder)
    return load_goldens("1.2.3", folder)


def test_every_case_has_its_own_name_and_a_fixed_place() -> None:
    """Two cases of one name would overwrite each other; another order would churn the files."""
    found = cases(catalog(), VERSION)
    names = [(case.model, case.name) for case in found]
    assert len(set(names)) == len(names)
    assert found == cases(catalog(), VERSION)


def test_committed_files_are_as_the_generator_writes_them() -> None:
    """A file edited by hand is no golden."""
    for path in sorted((FOLDER / VERSION).glob("*.json")):
        text = path.read_text(encoding="utf-8")
        held = json.loads(text)
        config = catalog().models[path.stem].config
        assert text == text_of(VERSION, path.stem, config, held["cases"]), path.name


def test_files_hold_no_machine_paths_and_no_timings(tmp_path: Path) -> None:
    """They must be equal whoever makes them."""
    written(tmp_path, ANSWER)
    text = (tmp_path / "1.2.3" / "tiny.json").read_text(encoding="utf-8")
    assert "seconds" not in text
    assert "/usr" not in text
    assert "<path>" in text


def test_groups_that_are_alike_are_kept_once(tmp_path: Path) -> None:
    """A window model has a dozen of them."""
    (case,) = written(tmp_path, ANSWER).models["tiny"].cases
    assert [(group.times, group.layers) for group in case.groups] == [(2, 2)]


def test_goldens_of_another_configuration_are_not_given(tmp_path: Path) -> None:
    """A golden of another configuration would be believed without being true."""
    goldens = written(tmp_path, ANSWER)
    found = goldens.of("tiny", CONFIG)
    assert found is not None
    assert found.cases[0].weights is not None
    assert found.cases[0].weights.raw_bytes == 10
    assert goldens.of("tiny", {**CONFIG, "hidden_size": 16}) is None
    assert goldens.of("other", CONFIG) is None


def test_a_refusal_keeps_the_engines_words_only(tmp_path: Path) -> None:
    """Pydantic's frame holds addresses and excerpts that change with everything."""
    error = "ValidationError: 1 validation error for X Value error, 4 heads [type=value_error, ...]"
    (case,) = written(tmp_path, {"id": "x", "error": error}).models["tiny"].cases
    assert case.refused == "4 heads"


def test_cases_that_took_too_long_are_no_goldens() -> None:
    """A slow machine must not write itself into the catalog."""
    late: dict[str, dict[str, JsonValue]] = {f"tiny/{CASE.name}": {"error": "took more than 9 s"}}
    assert failed(late, [CASE]) == [f"tiny/{CASE.name}: took more than 9 s"]
    assert failed({}, [CASE]) == [f"tiny/{CASE.name}: no answer"]
    assert not failed({f"tiny/{CASE.name}": ANSWER}, [CASE])


def test_a_sample_that_differs_says_where(tmp_path: Path) -> None:
    """Exit code 1 alone would not tell what changed."""
    (case,) = written(tmp_path, ANSWER).models["tiny"].cases
    assert not list(differences(plain(case), golden(CASE, ANSWER)))
    changed = golden(CASE, {**ANSWER, "pool_bytes_per_block": 256})
    assert list(differences(plain(case), changed)) == [
        "pool_bytes_per_block: committed 128, now 256"
    ]
    assert list(differences(None, changed)) == ["is not committed"]


def test_drift_tells_what_another_release_does_differently(tmp_path: Path) -> None:
    """An upgrade of the engine changes these numbers silently."""
    old = written(tmp_path / "a", ANSWER)
    weights = {**ANSWER["weights"], "alloc_new_bytes": 1024}
    new = written(tmp_path / "b", {**ANSWER, "weights": weights, "layout": "LBHNC"})
    assert not drift(old, old)
    lines = drift(old, new)
    assert any("alloc_new_bytes 512 -> 1024 (+100.000%)" in line for line in lines)
    assert any('layout "LBNHC" -> "LBHNC"' in line for line in lines)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """A traceback of pydantic would not say which file."""
    (tmp_path / "1.2.3").mkdir()
    (tmp_path / "1.2.3" / "tiny.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ProblemsError, match=r"goldens/1\.2\.3/tiny\.json"):
        load_goldens("1.2.3", tmp_path).models["tiny"]


def test_a_missing_compiler_or_lock_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason must be readable where the oracle cannot be set up."""

    def no_driver(name: str) -> None:
        raise OSError(name)

    def no_tool(name: str) -> None:
        return None

    monkeypatch.setenv("TRIPLANE_CACHE", str(tmp_path))
    monkeypatch.setattr(environment.ctypes, "CDLL", no_driver)
    monkeypatch.setattr(shutil, "which", no_tool)
    with pytest.raises(environment.OracleError, match="no C compiler"):
        environment.driver_of("1.2.3")
    with pytest.raises(environment.OracleError, match=r"1\.2\.3\.txt is missing"):
        environment.python_of("1.2.3")
