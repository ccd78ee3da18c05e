"""What a checkpoint says of itself: safetensors headers and the index over the shards."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.programs.seed.tensors import index_problems, layout_problem, tensors_of
from tests.helpers.seeding.server import Lab, data, tensors

GOOD = tensors(4000, salt=1)
ALLOWED = (HealthCheck.function_scoped_fixture,)


def made(header: Any, body: int) -> bytes:
    """Return a file with that header and that many bytes of tensors."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(body)


def span(*offsets: Any) -> dict[str, Any]:
    return {"dtype": "U8", "shape": [1], "data_offsets": list(offsets)}


@pytest.mark.pure
@settings(suppress_health_check=ALLOWED)
@given(cut=st.integers(0, len(GOOD) - 1))
def test_a_file_that_was_cut_anywhere_is_noticed(tmp_path: Path, cut: int) -> None:
    """A broken download that was uploaded again has the right size in the store, and an MD5."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(GOOD[:cut])
    assert layout_problem(path) is not None


@pytest.mark.pure
@settings(suppress_health_check=ALLOWED)
@given(content=st.binary(max_size=64) | st.binary(max_size=64).map(lambda b: GOOD[:8] + b))
def test_no_content_makes_the_check_raise(tmp_path: Path, content: bytes) -> None:
    """Objects come from whoever may write to the bucket."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    assert layout_problem(path) is not None


@pytest.mark.pure
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD, None),
        (GOOD + b"x", "it was cut, or something was added"),
        (made({"a": span(0, 4), "b": span(4, 9)}, 9), None),
        (made({"b": span(4, 9), "a": span(0, 4), "__metadata__": {"x": "y"}}, 9), None),
        (made({}, 0), None),
        (made({"a": span(0, 4), "b": span(5, 9)}, 9), "hole or overlap at byte 5"),
        (made({"a": span(0, 5), "b": span(4, 9)}, 9), "hole or overlap at byte 4"),
        (made({"a": span(0, 10)}, 9), "take 10 bytes and the file has 9"),
        (made({"a": span(0, "9")}, 9), "cannot be read (TypeError)"),
        (made({"a": {}}, 9), "cannot be read (KeyError)"),
        (made([1], 9), "cannot be read (AttributeError)"),
        (b"\xff" * 8 + b"{}", "header cannot be"),
        (b"version https://git-lfs.github.com/spec/v1\n", "header cannot be"),
    ],
)
def test_header_and_file_must_fit(tmp_path: Path, content: bytes, says: str | None) -> None:
    """The last one is what a checkout without Git LFS leaves in the place of the weights."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    found = layout_problem(path)
    assert found is None if says is None else says in (found or "")


@pytest.mark.pure
def test_other_files_are_not_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"anything")
    assert layout_problem(path) is None


@pytest.mark.pure
def test_an_index_names_what_must_be_there(tmp_path: Path) -> None:
    """A shard that was never uploaded has neither a size nor a sum."""
    (tmp_path / "deep").mkdir()
    one = tmp_path / "deep" / "one.safetensors"
    one.write_bytes(GOOD)
    (held,) = tensors_of(one)
    name = "deep/model.safetensors.index.json"

    def problems(weight_map: Any) -> list[str]:
        (tmp_path / name).write_text(json.dumps({"weight_map": weight_map}))
        return index_problems(tmp_path, [name, "deep/one.safetensors"])

    assert problems({held: "one.safetensors"}) == []
    (absent,) = problems({held: "one.safetensors", "x": "two.safetensors"})
    assert absent == f"deep/two.safetensors is named by {name} and is not there"
    (lacking,) = problems({held: "one.safetensors", "x": "one.safetensors"})
    assert lacking == "deep/one.safetensors lacks 1 tensors, such as 'x'"
    (unreadable,) = problems(["one.safetensors"])
    assert "is no index of shards" in unreadable


@pytest.mark.engine
@pytest.mark.timeout(120)
def test_a_cut_file_with_a_right_md5_is_refused(lab: Lab) -> None:
    """The store's sums are of what was uploaded, whatever that was."""
    lab.upload({"a.safetensors": tensors(60_000, salt=3)[:-1], "config.json": b"{}"})
    run = lab.run(expect=1)
    assert "a.safetensors: its tensors take" in run.output
    assert not (lab.target / "r1").exists()


@pytest.mark.engine
@pytest.mark.timeout(120)
def test_an_incomplete_checkpoint_is_refused_and_then_continues(lab: Lab) -> None:
    """Uploads of hundreds of gigabytes end in the middle."""
    index = {"weight_map": {"weight4": "1.safetensors", "weight5": "2.safetensors"}}
    lab.upload(
        {
            "1.safetensors": tensors(60_000, salt=4),
            "model.safetensors.index.json": json.dumps(index).encode(),
        }
    )
    run = lab.run(expect=1)
    assert "2.safetensors is named by model.safetensors.index.json" in run.output
    assert not (lab.target / "r1").exists()
    lab.upload({"2.safetensors": tensors(50_000, salt=5)})
    lab.proxy.clear()
    lab.run()
    assert not lab.proxy.gets("1.safetensors"), "what had arrived was fetched again"
    assert len(lab.published()) == 3


@pytest.mark.engine
@pytest.mark.timeout(120)
def test_checksums_can_be_demanded(lab: Lab) -> None:
    """Without one, a byte that went wrong in the store is nobody's finding."""
    lab.upload({"config.json": b"{}"})
    lab.upload_in_parts("big.safetensors", tensors(60_000, salt=6))
    demand = {"TRIPLANE_REQUIRE": "checksum"}
    run = lab.run(demand, expect=2)
    assert "no checksum vouches for 1 files" in run.output
    assert "- big.safetensors" in run.output
    assert not lab.proxy.gets()
    run = lab.run()
    assert "only by size, 1 of them by their headers too: 1 files" in run.output
    verified = {each["name"]: each["verified"] for each in lab.manifest()["files"]}
    assert verified["big.safetensors"] == "size and header"


@pytest.mark.engine
@pytest.mark.timeout(120)
def test_the_bucket_stands_in_the_path_where_it_is_asked_for(lab: Lab) -> None:
    """A store without a DNS name for each bucket answers on one name only."""
    lab.upload({"weights.bin": data(1000)})
    lab.run({"S3_ADDRESSING_STYLE": "path"})
    assert lab.proxy.log
    assert all(request.path.startswith(f"/{lab.bucket}") for request in lab.proxy.log)
    wrong = lab.run({"S3_ADDRESSING_STYLE": "subdomain"}, expect=2)
    assert "S3_ADDRESSING_STYLE is 'subdomain'; it must be auto, path or virtual" in wrong.output
