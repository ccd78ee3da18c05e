"""The seeding program's decisions without a process: names, sums, settings, space, the lock."""

import ast
import hashlib
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.programs import seed
from catalog.programs.seed.errors import ConfigError, SeedError
from catalog.programs.seed.keys import parse_sums, unsafe_names
from catalog.programs.seed.lock import Lock
from catalog.programs.seed.settings import read_settings
from catalog.programs.seed.source import Source
from catalog.programs.seed.volume import disk_error

pytestmark = pytest.mark.pure

PROGRAM = Path(seed.__file__).parent


def environment(folder: Path, **changes: str) -> dict[str, str]:
    """Return variables that are accepted."""
    return {
        "TRIPLANE_MODEL": "tiny",
        "TRIPLANE_REVISION": "0123abcd",
        "TRIPLANE_SOURCE": "s3://weights/tiny/0123abcd/",
        "TRIPLANE_TARGET": str(folder / "tiny"),
        **changes,
    }


def test_the_program_is_one_folder_for_an_old_python() -> None:
    """It reaches the pod as one ConfigMap, into an image that we did not build."""
    files = sorted(PROGRAM.glob("*.py"))
    assert sum(path.stat().st_size for path in files) < 256 * 1024, "one MiB at most, and etcd pays"
    assert [path for path in PROGRAM.rglob("*.py") if path not in files] == [], (
        "keys have no folders"
    )
    imported: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(), feature_version=(3, 10))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    own = {f"{seed.__name__}.{path.stem}" for path in files}
    roots = {name.partition(".")[0] for name in imported - own}
    typing_only = {"mypy_boto3_s3"}
    foreign = roots - sys.stdlib_module_names - {"boto3", "botocore"} - typing_only
    assert not foreign, f"the image has no {foreign}"


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["../x"], "'.' or '..' part"),
        (["a/../../x"], "'.' or '..' part"),
        (["a/./x"], "'.' or '..' part"),
        (["a//x"], "has an empty"),
        (["a/"], "has an empty"),
        (["/etc/passwd"], "is absolute"),
        (["a\\b"], "backslash"),
        (["a\nb"], "control character"),
        (["a\x00b"], "control character"),
        (["x" * 256], "longer than 255 bytes"),
        (["ä" * 128], "longer than 255 bytes"),
        ([".triplane-lock"], "reserved"),
        (["Model.bin", "model.bin"], "collides with"),
        (["ä.bin", "a\u0308.bin"], "collides with"),
        (["a", "a/b"], "lies below the file 'a'"),
        (["a/b", "A"], "lies below the file 'A'"),
    ],
)
def test_a_name_that_cannot_be_a_file_is_refused(names: list[str], reason: str) -> None:
    """Keys come from whoever may write to the bucket."""
    problems = unsafe_names(names)
    assert len(problems) == 1
    assert reason in problems[0]


def test_ordinary_names_are_accepted() -> None:
    """A refusal of a real checkpoint's names would stop a model from being served."""
    names = ["model-00001-of-00002.safetensors", ".gitattributes", "a/b c/ü.json", "a/b", "..a"]
    assert unsafe_names([n for n in names if n != "a/b"]) == []


@given(st.sets(st.text(alphabet="aA./\\\n\u0308é", max_size=6), max_size=4))
def test_accepted_names_stay_below_and_apart(names: set[str]) -> None:
    """Whatever passes must be distinct files below the directory, on any volume."""
    if unsafe_names(names):
        return
    root = "/models/tiny/r1.partial/files"
    paths = [os.path.normpath(f"{root}/{name}") for name in names]
    assert all(path.startswith(f"{root}/") for path in paths)
    assert len({path.casefold() for path in paths}) == len(names)


def test_sums_are_read_as_sha256sum_writes_them() -> None:
    """Both modes of sha256sum, './' from find, Windows line ends, and names with spaces."""
    one, two = "a" * 64, "B" * 64
    text = f"# made by hand\n{one}  a b.bin\r\n\n{two} *./dir/b.bin\n{one}  a b.bin\n"
    assert parse_sums(text) == {"a b.bin": one, "dir/b.bin": "b" * 64}


@pytest.mark.parametrize(
    "line", ["nonsense", f"{'a' * 63}  x", f"\\{'a' * 64}  x", f"{'a' * 64} x"]
)
def test_a_malformed_sum_is_refused_not_skipped(line: str) -> None:
    """A skipped line would be a file that is silently not verified."""
    with pytest.raises(ConfigError, match="line 2"):
        parse_sums(f"{'b' * 64}  good.bin\n{line}\n")


def test_two_sums_for_one_name_are_refused() -> None:
    """One of them is wrong, and nobody can say which."""
    with pytest.raises(ConfigError, match="a second, different sum"):
        parse_sums(f"{'a' * 64}  x\n{'b' * 64}  x\n")


def test_settings_have_the_documented_defaults(tmp_path: Path) -> None:
    """docs/seeding.md and the Job's manifest rely on them."""
    settings = read_settings(environment(tmp_path, TRIPLANE_SOURCE="s3://weights/tiny"))
    assert (settings.bucket, settings.prefix) == ("weights", "tiny/"), "never s3://weights/tiny2/"
    assert (settings.parallel, settings.chunk, settings.reserve) == (8, 64 * 1024**2, 1024**3)
    assert (settings.verify_full, settings.stale_sec, settings.endpoint) == (False, 60, "")
    for endpoint in ("http://minio.minio.svc:9000", "https://[::1]:9000/s3", "http://minio_1"):
        accepted = read_settings(environment(tmp_path, S3_ENDPOINT_URL=endpoint))
        assert accepted.endpoint == endpoint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRIPLANE_REVISION", "current"),
        ("TRIPLANE_REVISION", "r1.partial"),
        ("TRIPLANE_REVISION", ".."),
        ("TRIPLANE_REVISION", "a/b"),
        ("TRIPLANE_MODEL", "a b"),
        ("TRIPLANE_SOURCE", "s3://weights"),
        ("TRIPLANE_SOURCE", "s3://weights//x"),
        ("TRIPLANE_TARGET", "models/tiny"),
        ("TRIPLANE_TARGET", "/models/../etc"),
        ("TRIPLANE_TARGET", "/no-such-mount/tiny"),
        ("TRIPLANE_PARALLEL", "65"),
        ("TRIPLANE_CHUNK_MIB", "nan"),
        ("TRIPLANE_RESERVE_GIB", "1e3"),
        ("TRIPLANE_LOCK_STALE_SEC", "0"),
        ("S3_ENDPOINT_URL", "minio:9000"),
        ("S3_ENDPOINT_URL", "ftp://minio"),
        ("S3_ENDPOINT_URL", "http://minio:port"),
        ("S3_ENDPOINT_URL", "http://[::1"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(tmp_path: Path, name: str, value: str) -> None:
    """Each of these would otherwise fail later, or write to the wrong place."""
    with pytest.raises(ConfigError, match=name) as caught:
        read_settings(environment(tmp_path, **{name: value}))
    assert caught.value.code == 2


class _Client:
    """Answers HeadObject only."""

    def __init__(self, head: Mapping[str, object]) -> None:
        self.head = head

    def head_object(self, **_: object) -> Mapping[str, object]:
        return self.head


MD5 = f'"{"0" * 32}"'
SHA256_OF_X = "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE="


@pytest.mark.parametrize(
    ("etag", "head", "algorithm", "proof"),
    [
        (MD5, {}, "md5", "S3 MD5"),
        (MD5, {"ServerSideEncryption": "AES256"}, "md5", "S3 MD5"),
        (MD5, {"ServerSideEncryption": "aws:kms"}, "sha256", "size only"),
        (MD5, {"ServerSideEncryption": "aws:kms:dsse"}, "sha256", "size only"),
        (MD5, {"SSECustomerAlgorithm": "AES256"}, "sha256", "size only"),
        (f'"{"0" * 32}-7"', {}, "sha256", "size only"),
        (MD5, {"ChecksumSHA256": SHA256_OF_X}, "sha256", "S3 SHA-256"),
        (f'"{"0" * 32}-7"', {"ChecksumSHA256": f"{SHA256_OF_X}-7"}, "sha256", "size only"),
    ],
)
def test_only_a_sum_of_the_whole_bytes_counts_as_one(
    tmp_path: Path, etag: str, head: Mapping[str, object], algorithm: str, proof: str
) -> None:
    """An ETag under KMS or of several parts is no MD5: taking it for one refuses good weights."""
    settings = read_settings(environment(tmp_path))
    source = Source(cast("Any", _Client(head)), settings)
    (remote,) = source.remotes({"x": (1, etag)})
    assert (remote.algorithm, remote.proof) == (algorithm, proof)
    if proof == "S3 SHA-256":
        assert remote.expected == hashlib.sha256(b"x").hexdigest()


def test_a_write_that_is_forbidden_is_a_configuration_error(tmp_path: Path) -> None:
    """No retry gives a user the right to write; a full volume may be enlarged."""
    forbidden = disk_error(PermissionError(13, "Permission denied", "/models/tiny"), "")
    assert forbidden.code == 2
    assert "set the pod's fsGroup" in str(forbidden)
    assert disk_error(OSError(28, "No space left on device"), "").code == 1
    assert disk_error(OSError(5, "Input/output error"), "").code == 1
    assert tmp_path.exists()


@pytest.mark.parametrize(("waiters", "guarded"), [(6, False), (1, True)])
def test_only_one_of_many_takes_a_dead_owners_lock(
    tmp_path: Path, waiters: int, guarded: bool
) -> None:
    """All waiters see at the same moment that it is dead; a waiter may die in the takeover, too."""
    path = tmp_path / "lock"
    path.write_text("dead", encoding="utf-8")
    if guarded:
        (tmp_path / "lock.evict").touch()
    inside: list[str] = []
    worst: list[int] = []

    def enter() -> None:
        lock = Lock(path, stale_sec=0.5 if guarded else 1.2)
        lock.acquire()
        inside.append(lock.owner)
        worst.append(len(inside))
        time.sleep(0.01)
        inside.remove(lock.owner)
        lock.release()

    threads = [threading.Thread(target=enter) for _ in range(waiters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert worst == [1] * waiters
    assert list(tmp_path.iterdir()) == []


def test_a_waiter_that_judged_too_late_leaves_the_new_lock_alone(tmp_path: Path) -> None:
    """Between judging and removing, another waiter may have taken over: that lock lives."""
    path = tmp_path / "lock"
    path.write_text("living", encoding="utf-8")
    Lock(path, stale_sec=60).evict(("dead", 0))
    assert path.read_text(encoding="utf-8") == "living"
    assert [p.name for p in tmp_path.iterdir()] == ["lock"]


def test_a_lock_that_beats_is_not_taken_over(tmp_path: Path) -> None:
    """A slow download is not a dead one."""
    lock = Lock(tmp_path / "lock", stale_sec=0.6)
    lock.acquire()
    waiter = Lock(tmp_path / "lock", stale_sec=0.6)
    thread = threading.Thread(target=waiter.acquire, daemon=True)
    thread.start()
    thread.join(1.4)
    assert thread.is_alive(), "the waiter took a living lock"
    lock.release()
    thread.join(10)
    assert not thread.is_alive()
    waiter.release()


def test_an_owner_whose_lock_was_taken_stops_writing(tmp_path: Path) -> None:
    """A node that was paused for minutes must not write beside the one that took over."""
    path = tmp_path / "lock"
    lock = Lock(path, stale_sec=60)
    lock.acquire()
    lock.check()
    path.write_text("other", encoding="utf-8")
    lock.beat()
    with pytest.raises(SeedError, match="lost the lock"):
        lock.check()
    lock.release()
    assert path.read_text(encoding="utf-8") == "other", "released somebody else's lock"


def test_an_owner_that_cannot_refresh_stops_before_others_take_over(tmp_path: Path) -> None:
    """A hanging volume hides the takeover; only the own clock can tell."""
    lock = Lock(tmp_path / "lock", stale_sec=0.05)
    lock.acquire()
    lock.release()  # ends the heartbeat
    time.sleep(0.045)
    with pytest.raises(SeedError, match="lost the lock"):
        lock.check()
