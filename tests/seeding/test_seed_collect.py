"""Removing retired revisions: what is in use, and what is not ours, is never touched."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from catalog.programs.seed import collect as module
from catalog.programs.seed.collect import Collection, collect, read_collection
from catalog.programs.seed.errors import ConfigError
from catalog.programs.seed.keys import MANIFEST
from tests.helpers.seeding.server import PATIENCE_SEC, Lab, Run, eventually

CONTENT = b"weights"
OLD, NEW = 1_000_000.0, 2_000_000.0


def publish(model: Path, revision: str, at: float) -> None:
    """Make a complete revision as the program leaves it, published at a time (seconds)."""
    folder = model / revision
    (folder / "sub").mkdir(parents=True)
    (folder / "a.bin").write_bytes(CONTENT)
    (folder / "sub" / "b.bin").write_bytes(CONTENT)
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({"revision": revision, "files": []}))
    os.utime(manifest, (at, at))


def partial(model: Path, revision: str, at: float) -> None:
    """Make a revision under way, last touched at a time (seconds)."""
    folder = model / f"{revision}.partial"
    (folder / "state").mkdir(parents=True)
    (folder / "files").mkdir()
    os.utime(folder, (at, at))


def volume(root: Path) -> Path:
    """Make a model with the revision in use, an older, a newer, and other people's folders."""
    model = root / "tiny"
    publish(model, "used", NEW)
    publish(model, "old", OLD)
    publish(model, "newer", NEW + 10)
    partial(model, "old2", OLD)
    partial(model, "coming", NEW + 10)
    (model / "by-hand").mkdir()
    (model / "by-hand" / "precious.bin").write_bytes(CONTENT)
    (model / "current").symlink_to("used")
    return model


def told(root: Path, *, everything: bool = False, **keep: str) -> Collection:
    """Return what to keep: revisions by model."""
    named = {model: frozenset({revision}) for model, revision in keep.items()}
    return Collection(root, named, everything, 2)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def whole(folder: Path) -> bool:
    """Whether a revision is as it was published."""
    files = (folder / "a.bin", folder / "sub" / "b.bin")
    return all(path.read_bytes() == CONTENT for path in files)


@pytest.mark.pure
def test_only_what_is_older_ours_and_unnamed_goes(tmp_path: Path) -> None:
    """A newer revision is on its way in; a folder without our manifest is somebody's."""
    model = volume(tmp_path)
    (tmp_path / "lost+found").mkdir(mode=0)
    collect(told(tmp_path, tiny="used"))
    assert names(model) == ["by-hand", "coming.partial", "current", "newer", "used"]
    assert whole(model / "used")
    assert whole(model / "newer")


@pytest.mark.pure
def test_a_model_whose_current_is_not_named_is_left_alone(tmp_path: Path) -> None:
    """Another update is at work: what it has made current is not for this one to judge."""
    model = volume(tmp_path)
    before = names(model)
    collect(told(tmp_path, tiny="newer"))
    assert names(model) == before


@pytest.mark.pure
def test_a_model_that_nobody_names_goes_only_when_all_may(tmp_path: Path) -> None:
    """A model of a neighbor that shares the volume is not named here either."""
    model, other = volume(tmp_path), tmp_path / "other"
    publish(other, "r1", NEW)
    (other / "current").symlink_to("r1")
    collect(told(tmp_path, tiny="used"))
    assert names(other) == ["current", "r1"]
    collect(told(tmp_path, everything=True, tiny="used"))
    assert not other.exists()
    assert "used" in names(model)


@pytest.mark.pure
def test_other_peoples_files_keep_a_retired_models_folder(tmp_path: Path) -> None:
    model = volume(tmp_path)
    collect(told(tmp_path, everything=True))
    assert names(model) == ["by-hand"]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRIPLANE_ROOT", "models"),
        ("TRIPLANE_ROOT", "/no-such-mount"),
        ("TRIPLANE_KEEP", ""),
        ("TRIPLANE_KEEP", "{"),
        ("TRIPLANE_KEEP", "[]"),
        ("TRIPLANE_KEEP", '{"tiny": "r1"}'),
        ("TRIPLANE_KEEP", '{"tiny": []}'),
        ("TRIPLANE_COLLECT", "everything"),
    ],
)
def test_what_to_keep_must_be_clear(tmp_path: Path, name: str, value: str) -> None:
    """An empty list that is a slip would remove what engines run."""
    env = {"TRIPLANE_ROOT": str(tmp_path), "TRIPLANE_KEEP": '{"tiny": ["r1"]}'}
    assert read_collection(env).keep == {"tiny": {"r1"}}
    with pytest.raises(ConfigError, match=name) as caught:
        read_collection({**env, name: value})
    assert caught.value.code == 2


def killed_after(root: Path, removals: int) -> int:
    """Collect in a child process that is killed before its nth removal; return its end."""
    child = os.fork()
    if child == 0:
        left = [removals]
        real = os.unlink

        def unlink(*args: object, **kwargs: object) -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            real(*args, **kwargs)  # pyright: ignore[reportArgumentType, reportCallIssue] - passed on as they came

        os.__dict__["unlink"] = unlink  # only this process sees it
        try:
            collect(told(root, tiny="used"))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    (root / "tiny" / ".triplane-lock").unlink(missing_ok=True)  # for its growing stale
    return os.waitstatus_to_exitcode(status)


@pytest.mark.engine
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=(HealthCheck.function_scoped_fixture,),
)
@example(removals=[0, 1, 2])
@given(removals=st.lists(st.integers(0, 8), max_size=4))
def test_a_kill_leaves_no_half_of_a_revision(tmp_path: Path, removals: list[int]) -> None:
    """A revision that lost a file and kept its name would still look published."""
    root = tmp_path / "models"
    shutil.rmtree(root, ignore_errors=True)
    model = volume(root)
    for index, count in enumerate(removals):
        code = killed_after(root, count)
        assert code == -signal.SIGKILL or index or count > 2, "it removes three files at least"
        for folder in (path for path in model.iterdir() if (path / MANIFEST).exists()):
            assert folder.name.startswith(module.RETIRED) or whole(folder)
        assert (model / "current").is_symlink()
    collect(told(root, tiny="used"))
    assert names(model) == ["by-hand", "coming.partial", "current", "newer", "used"]


@pytest.mark.engine
@pytest.mark.timeout(180)
def test_nothing_is_removed_while_the_model_is_seeded(lab: Lab) -> None:
    """The two Jobs of an update that meets the next one are at work on one directory."""

    def start() -> Run:
        keep = {"TRIPLANE_KEEP": '{"tiny": ["r1"]}', "TRIPLANE_ROOT": str(lab.volume)}
        return lab.start(keep, arguments=["collect"])

    lab.upload({"config.json": b"{}"})
    lab.upload({"big.bin": bytes(2_000_000)}, prefix="tiny/r2/")
    lab.run()
    publish(lab.target, "r0", OLD)
    lab.proxy.hold_after = 100_000
    source = f"s3://{lab.bucket}/tiny/r2/"
    seeding = lab.start({"TRIPLANE_REVISION": "r2", "TRIPLANE_SOURCE": source})
    assert lab.proxy.held.wait(PATIENCE_SEC), seeding.output
    collecting = start()
    eventually("the collection waits", lambda: "waiting for " in collecting.output)
    time.sleep(0.3)
    assert whole(lab.target / "r0"), "removed beside a seeding that is under way"
    lab.proxy.clear()
    assert seeding.end() == 0, seeding.output
    assert collecting.end() == 0, collecting.output
    assert "current is 'r2', which is not named; left alone" in collecting.output
    assert whole(lab.target / "r0")

    lab.run()  # back to r1, as a rollback does
    again = start()
    assert again.end() == 0, again.output
    assert f"removed {lab.target}/r0" in again.output
    assert sorted(p.name for p in lab.target.iterdir()) == ["current", "r1", "r2"]
