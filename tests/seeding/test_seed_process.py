"""The seeding program as a process against a moto S3 server: what a Job does, end to end."""

import dataclasses
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from catalog.loader import program
from catalog.programs.seed.errors import ConfigError, SeedError
from catalog.programs.seed.run import seed
from catalog.programs.seed.settings import read_settings
from catalog.programs.seed.source import Source, connect
from tests.helpers.seeding.server import (
    MIB,
    PATIENCE_SEC,
    PROGRAM,
    SECRET,
    Lab,
    Request,
    data,
    eventually,
    free_port,
    sums,
    tensors,
)

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

BIG = tensors(4 * MIB + 12345, salt=1)
SMALL = b'{"model_type": "tiny"}'
STALE = {"TRIPLANE_LOCK_STALE_SEC": "3"}


def overlap(requests: Sequence[Request], kept: Sequence[range]) -> int:
    """Count the bytes that were asked for although they were on the volume."""
    return sum(
        max(0, min(r.span.stop, k.stop) - max(r.span.start, k.start))
        for r in requests
        for k in kept
    )


def interrupt(lab: Lab) -> list[range]:
    """Upload two files, kill a run in the middle of the large one; return what it has of that."""
    lab.upload({"a.json": SMALL, "big.safetensors": BIG})
    lab.proxy.hold_after = 2 * MIB
    run = lab.start(STALE)
    assert lab.proxy.held.wait(PATIENCE_SEC), run.output
    small, etag = lab.etag("a.json"), lab.etag("big.safetensors")
    eventually("the small file is on the volume", lambda: bool(lab.on_disk().get(small)))
    eventually(
        "a mebibyte of the large one is on the volume",
        lambda: sum(map(len, lab.on_disk().get(etag, ()))) >= MIB,
    )
    run.process.kill()
    assert run.end() == -signal.SIGKILL
    kept = lab.on_disk()[etag]
    assert MIB <= sum(map(len, kept)) < len(BIG), "the kill must hit the file in its middle"
    assert not (lab.target / "r1").exists(), "an interrupted run published something"
    lab.proxy.clear()
    return kept


def test_weights_arrive_whole_verified_and_published_by_one_link(lab: Lab) -> None:
    """Engines read `current`; a file that is missing, cut or unreadable there fails every start."""
    listed = {"big.safetensors": BIG, "tokenizer/vocab.json": SMALL}
    lab.upload({**listed, "SHA256SUMS": sums(listed), "config.json": SMALL, "empty.txt": b""})
    lab.upload_in_parts("extra.bin", SMALL)
    lab.upload({"": b"", "tokenizer/": b""})  # the markers that consoles leave behind
    run = lab.run()

    files = lab.published()
    assert files.pop("SHA256SUMS") == sums(listed)
    assert files == {**listed, "config.json": SMALL, "empty.txt": b"", "extra.bin": SMALL}
    assert str((lab.target / "current").readlink()) == "r1", "relative: every mount point must do"
    assert sorted(p.name for p in lab.target.iterdir()) == ["current", "r1"], "nothing left over"
    for path in (lab.target / "r1").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o755 if path.is_dir() else 0o644), f"{path} is not readable by engines"

    manifest = lab.manifest()
    verified = {entry["name"]: entry["verified"] for entry in manifest["files"]}
    assert verified["big.safetensors"] == "SHA256SUMS"
    assert verified["config.json"] == "S3 MD5"
    assert verified["extra.bin"] == "size only"
    assert manifest["unverified"] == ["extra.bin"]
    assert "NOT verified by a checksum, only by size: 1 files:\n  - extra.bin" in run.output
    entry = next(e for e in manifest["files"] if e["name"] == "big.safetensors")
    assert (entry["size"], entry["etag"]) == (len(BIG), lab.etag("big.safetensors"))
    assert entry["sha256"] in sums(listed).decode()
    assert SECRET not in json.dumps(manifest), "every engine pod can read it"

    lab.proxy.log.clear()
    again = lab.run()
    assert "is complete: 6 files, sizes match" in again.output
    assert not lab.proxy.log, "a run with nothing to do must not even need the store"
    assert again.seconds < 5


def test_a_killed_run_continues_in_the_middle_of_the_file(lab: Lab) -> None:
    """Nodes die during hours of download; what was fetched must not be fetched again.

    The lock that the dead one leaves must neither stop the next run forever nor be believed
    younger than it is.
    """
    kept = interrupt(lab)
    # In the future, as a node with a wrong clock writes it: ages must not be computed.
    os.utime(lab.target / ".triplane-lock", (time.time() + 9999, time.time() + 9999))
    run = lab.run(STALE)
    assert "took over the lock" in run.output
    assert not lab.proxy.gets("a.json"), "a finished file was fetched again"
    again = lab.proxy.gets("big.safetensors")
    assert overlap(again, kept) == 0, "bytes on the volume were fetched again"
    assert {r.condition for r in again} == {lab.etag("big.safetensors")}, "only of the same object"
    assert sum(r.sent for r in again) == len(BIG) - sum(map(len, kept))
    assert lab.published() == {"a.json": SMALL, "big.safetensors": BIG}


def test_an_object_that_changed_after_an_interruption_begins_anew(lab: Lab) -> None:
    """Half of the old file and half of the new one would be a file that nobody ever wrote."""
    interrupt(lab)
    changed = tensors(len(BIG), salt=2)
    lab.upload({"big.safetensors": changed})
    (lab.target / ".triplane-lock").unlink()  # taking it over is another test's subject
    lab.run()
    assert sum(r.sent for r in lab.proxy.gets("big.safetensors")) == len(BIG)
    assert not lab.proxy.gets("a.json"), "the unchanged file was fetched again"
    assert lab.published() == {"a.json": SMALL, "big.safetensors": changed}


def test_an_object_that_changes_during_the_run_is_noticed(lab: Lab) -> None:
    """Two uploads at once must end in one consistent revision, whichever bytes it has."""
    lab.upload({"a.json": SMALL, "big.safetensors": BIG})
    lab.proxy.hold_after = 2 * MIB
    run = lab.start()
    assert lab.proxy.held.wait(PATIENCE_SEC), run.output
    changed = tensors(len(BIG) + 1, salt=3)
    lab.upload({"big.safetensors": changed})
    lab.proxy.clear()
    assert run.end() == 0, run.output
    assert "changed while it was fetched" in run.output
    assert lab.published() == {"a.json": SMALL, "big.safetensors": changed}


def test_sigterm_ends_in_order_and_leaves_what_was_fetched(lab: Lab) -> None:
    """A drained node sends SIGTERM: the next pod must not wait for a lock nor fetch anew."""
    lab.upload({"big.safetensors": BIG})
    lab.proxy.rate = 1_000_000
    run = lab.start({"TRIPLANE_PARALLEL": "1", "TRIPLANE_CHUNK_MIB": "8"})
    eventually("a mebibyte went over", lambda: sum(r.sent for r in lab.proxy.log) > MIB)
    run.process.terminate()
    assert run.end() == 143, run.output
    assert "stopped by a signal" in run.output
    assert not (lab.target / ".triplane-lock").exists()
    assert not (lab.target / "r1").exists()
    kept = lab.on_disk()[lab.etag("big.safetensors")]
    assert sum(map(len, kept)) >= MIB // 2, "less than a quarter of a chunk must be kept as well"
    lab.proxy.clear()
    lab.run()
    assert overlap(lab.proxy.gets(), kept) == 0
    assert lab.published() == {"big.safetensors": BIG}


def test_a_corrupt_object_is_fetched_twice_and_then_refused(lab: Lab) -> None:
    """Damaged weights load without an error and answer nonsense."""
    good = {"big.safetensors": BIG, "bad.safetensors": data(MIB, salt=4)}
    wrong = data(MIB, salt=5)
    lab.upload({**good, "bad.safetensors": wrong, "SHA256SUMS": sums(good)})
    run = lab.run(expect=1)
    assert sum(r.sent for r in lab.proxy.gets("bad.safetensors")) == 2 * MIB
    for part in (f"s3://{lab.bucket}/tiny/r1/bad.safetensors", "nothing was published"):
        assert part in run.output
    expected, found = sums({"": good["bad.safetensors"]})[:64], sums({"": wrong})[:64]
    assert f"sha256 is {found.decode()}, but SHA256SUMS says {expected.decode()}" in run.output
    assert not (lab.target / "r1").exists()
    assert not list(lab.target.glob("**/bad.safetensors")), "the corrupt file is still there"

    lab.upload({"bad.safetensors": good["bad.safetensors"]})
    lab.proxy.clear()
    lab.run()
    assert not lab.proxy.gets("big.safetensors"), "the good file was fetched again"
    assert lab.published() == {**good, "SHA256SUMS": sums(good)}


def test_a_volume_without_room_is_refused_before_the_download(lab: Lab) -> None:
    """A download that must fail should fail in its first second."""
    lab.upload({"big.safetensors": BIG})
    run = lab.run({"TRIPLANE_RESERVE_GIB": "900000"}, expect=1)
    assert not lab.proxy.gets()
    for part in ("needed 0.004 GiB", "free ", "900000.000 GiB must remain", "missing "):
        assert part in run.output
    assert not (lab.target / "r1").exists()
    assert not (lab.target / ".triplane-lock").exists()


def test_a_volume_that_fills_up_is_named_and_the_rest_is_kept(lab: Lab) -> None:
    """Others write to the volume too. The limit on file size fails a real write of the kernel."""
    lab.upload({"a.bin": data(MIB, salt=6), "big.safetensors": BIG})
    # One stream: with several, the one that fails may stop the others before their first byte.
    run = lab.run({"TRIPLANE_PARALLEL": "1"}, expect=1, file_size_limit=2 * MIB + 400_000)
    assert "the volume is full" in run.output
    assert "what is there is kept" in run.output
    assert not (lab.target / "r1").exists()
    assert not (lab.target / ".triplane-lock").exists()
    kept = lab.on_disk()[lab.etag("big.safetensors")]
    assert kept
    lab.proxy.clear()
    lab.run()
    assert overlap(lab.proxy.gets("big.safetensors"), kept) == 0
    assert lab.published() == {"a.bin": data(MIB, salt=6), "big.safetensors": BIG}


def test_two_at_once_download_once(lab: Lab) -> None:
    """Two Jobs on one volume must neither mix their writes nor load everything twice."""
    lab.upload({"big.safetensors": BIG})
    lab.proxy.hold_after = MIB
    first = lab.start()
    assert lab.proxy.held.wait(PATIENCE_SEC), first.output
    second = lab.start()
    eventually("the second waits", lambda: "waiting for " in second.output)
    lab.proxy.clear()
    assert (first.end(), second.end()) == (0, 0), first.output + second.output
    assert "published" in first.output
    assert "is complete" in second.output
    assert "published" not in second.output
    fetched = [r.span for r in lab.proxy.log if r.asked]
    assert sum(map(len, fetched)) <= len(BIG), "something was fetched twice"
    assert lab.published() == {"big.safetensors": BIG}


def test_a_key_with_dots_ends_the_process_as_a_configuration_error(lab: Lab) -> None:
    """Whoever may write to the bucket must not be able to write elsewhere on the volume."""
    lab.upload({"config.json": SMALL})
    key = "tiny/r1/../../escape"
    page = (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<IsTruncated>false</IsTruncated><Contents><Key>{key}</Key><Size>5</Size>"
        "<ETag>&quot;e&quot;</ETag></Contents></ListBucketResult>"
    )
    lab.proxy.answer = lambda r: (200, page.encode()) if "list-type" in r.path else None
    run = lab.run(expect=2)
    assert "'../../escape' has an empty, '.' or '..' part" in run.output
    assert not list(lab.volume.rglob("*escape*"))
    assert not list(lab.target.iterdir())


DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
BAD_KEY = b"<Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>"


REFUSALS = [
    ((403, DENIED), "AccessDenied (Access Denied); allow s3:ListBucket"),
    ((403, BAD_KEY), "InvalidAccessKeyId (unknown key); set AWS_ACCESS_KEY_ID"),
    ((404, b"<html>no such page</html>"), "is no S3 store; correct S3_ENDPOINT_URL"),
    ((200, b"<ListBucketResult/>"), "has no objects; upload the weights"),
]


def test_what_the_store_refuses_says_how_to_mend_it(lab: Lab) -> None:
    """An operator reads one line of a Job's log: it must name the setting to change."""
    settings = read_settings(lab.environment)
    source = Source(connect(settings), settings)
    for answer, words in REFUSALS:
        lab.proxy.answer = lambda _, made=answer: made
        with pytest.raises(ConfigError) as caught:
            seed(settings, lambda: source)
        for part in (words, lab.proxy.address, f"s3://{lab.bucket}/tiny/r1/"):
            assert part in str(caught.value)
    lab.proxy.answer = lambda _: None
    other = dataclasses.replace(settings, bucket="misspelt-bucket")
    with pytest.raises(ConfigError, match="create the bucket or correct TRIPLANE_SOURCE"):
        Source(lab.client, other).identity()


def test_a_store_that_cannot_be_reached_may_be_retried(lab: Lab) -> None:
    """The store may come up after the Job: retryable, and with the address that failed."""
    address = f"http://127.0.0.1:{free_port()}"
    run = lab.run({"S3_ENDPOINT_URL": address}, expect=1)
    assert f"cannot list s3://{lab.bucket}/tiny/r1/ at {address}" in run.output
    assert "check S3_ENDPOINT_URL or run again" in run.output


def test_missing_credentials_are_named(lab: Lab) -> None:
    """Without a secret in the namespace the message must say which variables are missing."""
    none = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), "")
    run = lab.run({**none, "HOME": str(lab.volume)}, expect=2)
    assert "Unable to locate credentials; set AWS_ACCESS_KEY_ID" in run.output


def test_an_unfinished_upload_is_not_published(lab: Lab) -> None:
    """SHA256SUMS that names an absent file proves that the upload has not ended."""
    lab.upload({"a.bin": SMALL, "SHA256SUMS": sums({"a.bin": SMALL, "b.bin": SMALL})})
    settings = read_settings(lab.environment)
    with pytest.raises(SeedError, match=r"SHA256SUMS names 1 files that") as caught:
        seed(settings, lambda: Source(lab.client, settings))
    assert "- b.bin" in str(caught.value)
    assert caught.value.code == 1, "the upload may be under way"
    assert list(lab.target.iterdir()) == [], "nothing may be left behind"


def test_a_damaged_revision_is_repaired_and_only_where_it_is_damaged(lab: Lab) -> None:
    """A full check finds a flipped bit; the rest of a large model must not be fetched again."""
    lab.upload({"a.bin": data(MIB, salt=7), "big.safetensors": BIG, "config.json": SMALL})
    lab.run()
    with (lab.target / "r1" / "a.bin").open("r+b") as file:
        file.write(b"\x00\x00\x00\x00")
    (lab.target / "r1" / "config.json").unlink()
    lab.proxy.clear()
    run = lab.run({"TRIPLANE_VERIFY": "full"})
    assert "is damaged in 2 files:\n  - a.bin\n  - config.json" in run.output
    assert sum(r.sent for r in lab.proxy.gets("a.bin")) == MIB
    assert not lab.proxy.gets("big.safetensors"), "a good file was fetched again"
    run = lab.run({"TRIPLANE_VERIFY": "full"})
    assert "sizes and sums match" in run.output
    assert lab.published()["a.bin"] == data(MIB, salt=7)


def test_current_follows_the_revision_that_ran_last(lab: Lab) -> None:
    """A rollback is a Job for the old revision: it must switch without fetching anything."""
    lab.upload({"config.json": SMALL})
    lab.upload({"config.json": b"{}"}, prefix="tiny/r2/")
    second = {"TRIPLANE_REVISION": "r2", "TRIPLANE_SOURCE": f"s3://{lab.bucket}/tiny/r2"}
    lab.run()
    lab.run(second)
    assert (lab.target / "current" / "config.json").read_bytes() == b"{}"
    lab.proxy.clear()
    lab.run()
    assert (lab.target / "current" / "config.json").read_bytes() == SMALL
    assert not lab.proxy.log
    assert lab.published("r2") == {"config.json": b"{}"}


def test_a_directory_that_is_not_ours_is_left_alone(lab: Lab) -> None:
    """Somebody may have copied weights by hand; replacing them would lose data."""
    lab.upload({"config.json": SMALL})
    foreign = lab.target / "r1" / "precious.bin"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"precious")
    run = lab.run(expect=2)
    assert "did not make it and does not replace it; move it away" in run.output
    assert foreign.read_bytes() == b"precious"


def test_every_wrong_variable_is_named_at_once(lab: Lab) -> None:
    """Mending one variable per Job run would take an afternoon."""
    wrong = {
        "TRIPLANE_MODEL": "",
        "TRIPLANE_REVISION": "../up",
        "TRIPLANE_SOURCE": "http://bucket/x",
        "TRIPLANE_TARGET": f"{lab.volume}/absent/tiny",
        "TRIPLANE_PARALLEL": "many",
        "TRIPLANE_CHUNK_MIB": "0",
        "TRIPLANE_RESERVE_GIB": "-1",
        "TRIPLANE_VERIFY": "maybe",
        "S3_ENDPOINT_URL": "http://user:planted-password@store",
    }
    run = lab.run(wrong, expect=2)
    for name, value in {
        "TRIPLANE_MODEL": "is not set",
        "TRIPLANE_REVISION": "is '../up'",
        "TRIPLANE_SOURCE": "is 'http://bucket/x'; it must be s3://bucket/prefix/",
        "TRIPLANE_TARGET": "is no directory; mount the volume there",
        "TRIPLANE_PARALLEL": "is 'many'; it must be a number from 1 to 64",
        "TRIPLANE_CHUNK_MIB": "is '0'",
        "TRIPLANE_RESERVE_GIB": "is '-1'",
        "TRIPLANE_VERIFY": "is 'maybe'; it must be size or full",
        "S3_ENDPOINT_URL": "without credentials",
    }.items():
        line = next((line for line in run.lines if f"- {name}" in line), "")
        assert value in line, f"{name}: {run.output}"
    assert "planted-password" not in run.output


def test_a_message_of_the_store_cannot_carry_a_credential_into_the_log(lab: Lab) -> None:
    """Some stores repeat the request in their error; logs are read by more people than secrets."""
    secret = lab.credentials["AWS_SECRET_ACCESS_KEY"]
    error = f"<Error><Code>AccessDenied</Code><Message>for {secret}</Message></Error>"
    lab.proxy.answer = lambda _: (403, error.encode())
    run = lab.run(expect=2)  # end() looks for the secret
    assert "for [hidden]" in run.output


def test_the_folder_runs_below_another_root(tmp_path: Path) -> None:
    """In the pod nothing of this project is there but the folder itself."""
    home = tmp_path / PROGRAM.replace(".", "/")
    home.mkdir(parents=True)
    for name, text in program("seed").items():
        (home / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", PROGRAM],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "TRIPLANE_MODEL is not set" in done.stdout
