"""The cache of parsed files: it may only ever save time."""

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import JsonValue

from catalog.loader import load
from catalog.readers.cache import keep_parsed, read_parsed
from catalog.readers.contents import Contents, digest_of_code
from catalog.readers.own import HERE, own_parsed
from models.core.problems import ProblemsError
from models.facts.catalog import Catalog

pytestmark = pytest.mark.pure


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache; whatever the process had read from another is forgotten."""
    monkeypatch.setenv("TRIPLANE_CACHE", str(tmp_path / "cache"))
    own_parsed.cache_clear()
    yield tmp_path / "cache" / "catalog"
    own_parsed.cache_clear()


def contents_of(catalog: Catalog) -> list[object]:
    """Return everything that a catalog holds, as plain dictionaries."""
    return [
        catalog.revision,
        dict(catalog.models),
        dict(catalog.accelerators),
        dict(catalog.instance_types),
        dict(catalog.engines),
        dict(catalog.images),
        dict(catalog.charts),
        dict(catalog.prices),
        dict(catalog.monthly_prices),
        list(catalog.goldens),
    ]


def test_what_was_kept_is_the_catalog_that_the_files_make(folder: Path) -> None:
    cold = contents_of(load())
    (kept,) = folder.iterdir()
    before = kept.stat().st_mtime_ns
    own_parsed.cache_clear()
    assert own_parsed() is not None, "the second run must find what the first one kept"
    assert contents_of(load()) == cold
    assert contents_of(load(HERE)) == cold, "a folder that is named is read without the cache"
    assert kept.stat().st_mtime_ns == before


def test_an_engine_is_read_when_its_release_is_asked_for(folder: Path) -> None:
    _ = load()
    own_parsed.cache_clear()
    engines = load().engines
    assert "0.33.0" in engines
    assert engines.get("0.99.0") is None
    assert engines["0.33.0"] is engines["0.33.0"]
    assert list(engines) == list(load(HERE).engines), "oldest first, as without the cache"


def test_only_its_own_digest_is_found(folder: Path) -> None:
    keep_parsed("one", {"a.yaml": [1]})
    assert read_parsed("one") == {"a.yaml": [1]}
    assert read_parsed("two") is None


def test_a_changed_file_and_changed_code_have_other_digests(tmp_path: Path) -> None:
    _ = shutil.copytree(HERE, tmp_path / "catalog")
    before = Contents(tmp_path / "catalog").digest
    assert before == Contents(HERE).digest
    file = tmp_path / "catalog" / "profiles" / "new.yaml"
    _ = file.write_text("a: 1\n")
    assert Contents(tmp_path / "catalog").digest != before
    code = digest_of_code([tmp_path / "catalog"])
    _ = (tmp_path / "catalog" / "loader.py").write_text("\n")
    assert digest_of_code([tmp_path / "catalog"]) != code


@pytest.mark.parametrize("text", ["", '{"a.yaml": ', "[]", "\0"])
def test_a_damaged_file_is_as_good_as_none(folder: Path, text: str) -> None:
    keep_parsed("one", {"a.yaml": 1})
    _ = (folder / "one.json").write_text(text)
    assert read_parsed("one") is None


def test_somebody_elses_file_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shared cache anybody could leave another catalog under our digest."""
    keep_parsed("one", {"a.yaml": 1})
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert read_parsed("one") is None


def test_a_cache_that_cannot_be_written_or_found_is_done_without(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ = (tmp_path / "cache").write_text("a file where the folder would be")
    assert contents_of(load()) == contents_of(load(HERE))

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("TRIPLANE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    keep_parsed("one", {})
    assert read_parsed("one") is None


def test_whoever_reads_while_others_write_sees_a_whole_file(folder: Path) -> None:
    rows: list[JsonValue] = [*range(2000)]
    data: dict[str, JsonValue] = {f"{number}.yaml": rows for number in range(20)}
    keep_parsed("one", data)
    with ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(keep_parsed, "one", data) for _ in range(20)]
        reads = [pool.submit(read_parsed, "one") for _ in range(20)]
        assert all(read.result() == data for read in reads)
        assert [write.result() for write in writes] == [None] * 20
    assert [path.name for path in folder.iterdir()] == ["one.json"], "nothing half written is left"
    assert json.loads((folder / "one.json").read_text()) == data


def test_only_the_newest_few_are_kept(folder: Path) -> None:
    for number in range(12):
        keep_parsed(str(number), {})
        os.utime(folder / f"{number}.json", (number, number))
    assert sorted(int(path.stem) for path in folder.iterdir()) == list(range(4, 12))


def test_a_catalog_with_problems_is_told_every_time(tmp_path: Path) -> None:
    _ = shutil.copytree(HERE, tmp_path / "catalog")
    (tmp_path / "catalog" / "models" / "qwen3-8b.config.json").unlink()
    for _ in range(2):
        with pytest.raises(ProblemsError):
            _ = load(tmp_path / "catalog")
