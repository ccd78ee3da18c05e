"""Copy one revision of a model's weights from S3-compatible storage onto the models volume.

Runs in a pod as `python3 /opt/triplane/seed.py`: one file, Python 3.10 or newer, boto3 and the
standard library. docs/seeding.md has the variables, the layout, the exit codes and the mends.

Owns `<target>/<revision>/`, `<target>/<revision>.partial/` and the link `<target>/current`. Does
not choose revisions and does not delete retired ones.

What would surprise: sums are taken by reading back what was written, behind the download, so a
volume that stores wrong bytes is noticed too. Locking uses no fcntl and compares no clocks:
neither can be trusted over NFS, where several nodes share the volume.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
import traceback
import unicodedata
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MANIFEST: Final = ".triplane-manifest.json"
SUMS: Final = "SHA256SUMS"
SIZE_ONLY: Final = "size only"
BLOCK: Final = 256 * 1024  # bytes in memory per stream
MIB: Final = 1024**2
GIB: Final = 1024**3
REPORT_SEC: Final = 5.0
ATTEMPTS: Final = 8  # per chunk
PAUSE_SEC: Final = 0.1  # doubled with every attempt: 25 s in all, beside the SDK's own attempts
ROUNDS: Final = 3  # how often the source may change under one run
DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
DISK_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
CREDENTIALS: Final = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
KEYS_MEND: Final = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to keys of this store"
RIGHT_MEND: Final = "allow s3:ListBucket on the bucket and s3:GetObject below the prefix"
REGION_MEND: Final = "set AWS_REGION to the bucket's region"
# What no retry can mend, and the mend. Everything else that a store answers may pass.
REFUSALS: Final[Mapping[str, str]] = {
    "NoSuchBucket": "create the bucket or correct TRIPLANE_SOURCE",
    "InvalidBucketName": "correct TRIPLANE_SOURCE",
    "AccessDenied": RIGHT_MEND,
    "403": RIGHT_MEND,
    "InvalidAccessKeyId": KEYS_MEND,
    "SignatureDoesNotMatch": KEYS_MEND,
    "PermanentRedirect": REGION_MEND,
    "AuthorizationHeaderMalformed": REGION_MEND,
    "404": "that address is no S3 store; correct S3_ENDPOINT_URL",
}


class SeedError(Exception):
    """The run failed; another run may succeed, and continues where this one ended."""

    code = 1


class ConfigError(SeedError):
    """Only a changed setting or a changed source can help."""

    code = 2


class SourceChangedError(Exception):
    """An object is not the one that was listed at the beginning of the run."""


class TransientError(Exception):
    """The store, or the way to it, failed in a manner that often passes."""


class Stopped(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt, no handler of errors may swallow it."""


def say(text: str) -> None:
    """Print at once, and without any credential that the environment holds."""
    for value in filter(None, map(os.environ.get, CREDENTIALS)):
        if len(value) >= 8:  # shorter ones are placeholders, and would blank ordinary words
            text = text.replace(value, "[hidden]")
    print(text, flush=True)


def listed(problems: Sequence[str]) -> str:
    """Lay problems out below a message, at most twenty."""
    more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
    return "".join(f"\n  - {problem}" for problem in [*problems[:20], *more])


@dataclass(frozen=True)
class Settings:
    """What to copy, from where, to where. Sizes in bytes, times in seconds."""

    model: str
    revision: str
    bucket: str
    prefix: str
    target: Path
    endpoint: str
    parallel: int
    chunk: int
    reserve: int
    verify_full: bool
    stale_sec: float

    @property
    def source(self) -> str:
        """The source as a person writes it."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def where(self) -> str:
        """The store as a person names it."""
        return self.endpoint or "AWS S3"


class Environment:
    """Reads variables and gathers every problem, so that one run shows all of them."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.problems: list[str] = []

    def text(self, name: str, pattern: str, wanted: str, default: str = "") -> str:
        """Read a string that must match the whole pattern."""
        value = self.env.get(name) or default
        if not re.fullmatch(pattern, value):
            # Whatever has an "@" may be an address with a password in it.
            shown = "not shown, for it has an '@'" if "@" in value else repr(value)
            self.problems.append(f"{name} is {shown if value else 'not set'}; it must be {wanted}")
        return value

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """Read a number; the narrow pattern refuses 'nan', '1e9' and '1_0', which are slips."""
        value = self.env.get(name) or f"{default:g}"
        if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value) and low <= float(value) <= high:
            return float(value)
        self.problems.append(f"{name} is {value!r}; it must be a number from {low:g} to {high:g}")
        return default


def read_settings(env: Mapping[str, str]) -> Settings:
    """Read the environment; raise one ConfigError that lists everything that is wrong."""
    read = Environment(env)
    name, wanted = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", "1 to 128 letters, digits, '.', '_', '-'"
    revision = rf"(?!current$)(?!.*\.partial$){name}"
    source = read.text(
        "TRIPLANE_SOURCE",
        r"s3://[A-Za-z0-9][A-Za-z0-9._-]{2,62}/[^/\s].*",
        "s3://bucket/prefix/, the folder that holds the weights",
    )
    bucket, _, prefix = source.removeprefix("s3://").partition("/")
    absolute = r"(?!.*/\.\.(/|$))/[^/].*"
    target = Path(read.text("TRIPLANE_TARGET", absolute, "absolute, such as /models/<name>"))
    if target.is_absolute() and not target.parent.is_dir():
        # Creating it would fill the container's own disk and lose the weights with the pod.
        folder = str(target.parent)
        read.problems.append(f"TRIPLANE_TARGET: {folder!r} is no directory; mount the volume there")
    settings = Settings(
        model=read.text("TRIPLANE_MODEL", name, wanted),
        revision=read.text("TRIPLANE_REVISION", revision, f"{wanted}, not 'current'"),
        bucket=bucket,
        prefix=prefix.rstrip("/") + "/",
        target=target,
        endpoint=read.text(
            "S3_ENDPOINT_URL",
            r"(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[1-9]\d{0,4})?(/[^@\s]*)?)?",
            "http(s)://host[:port], without credentials",
        ),
        parallel=int(read.number("TRIPLANE_PARALLEL", 8, 1, 64)),
        chunk=int(read.number("TRIPLANE_CHUNK_MIB", 64, 1, 1024) * MIB),
        reserve=int(read.number("TRIPLANE_RESERVE_GIB", 1, 0, 1e6) * GIB),
        verify_full=read.text("TRIPLANE_VERIFY", "size|full", "size or full", "size") == "full",
        stale_sec=read.number("TRIPLANE_LOCK_STALE_SEC", 60, 2, 3600),
    )
    if read.problems:
        raise ConfigError(f"unusable environment; nothing was done:{listed(read.problems)}")
    return settings


@dataclass(frozen=True)
class Remote:
    """One object below the prefix, and the sum that its bytes must have, if one is known."""

    name: str
    size: int
    etag: str
    algorithm: str = "sha256"
    expected: str | None = None
    proof: str = SIZE_ONLY

    @property
    def algorithms(self) -> set[str]:
        """What to compute: sha256 for the manifest, and what the expected sum is of."""
        return {"sha256", self.algorithm}


def unsafe_names(names: Iterable[str]) -> list[str]:
    """Say which names cannot become files below a directory, and why. Keys are untrusted."""
    # Compared as a volume does that ignores case or Unicode form: there one replaces the other.
    folded = {name: unicodedata.normalize("NFC", name).casefold() for name in sorted(names)}
    problems: list[str] = []
    seen: dict[str, str] = {}
    for name, fold in folded.items():
        parts = name.split("/")
        if name.startswith("/"):
            problems.append(f"{name!r} is absolute")
        elif not {"", ".", ".."}.isdisjoint(parts):
            problems.append(f"{name!r} has an empty, '.' or '..' part")
        elif "\\" in name or any(unicodedata.category(c) in {"Cc", "Cs"} for c in name):
            problems.append(f"{name!r} has a backslash or a control character")
        elif max(len(part.encode()) for part in parts) > 255:
            problems.append(f"{name[:40]!r}... has a part longer than 255 bytes")
        elif parts[0].startswith(".triplane"):
            problems.append(f"{name!r} begins with the reserved '.triplane'")
        elif fold in seen:
            problems.append(f"{name!r} collides with {seen[fold]!r}")
        seen.setdefault(fold, name)
    for name, fold in folded.items():
        above = [fold[: m.start()] for m in re.finditer("/", fold)]
        problems += [f"{name!r} lies below the file {seen[a]!r}" for a in above if a in seen]
    return problems


def parse_sums(text: str) -> dict[str, str]:
    """Read the output of sha256sum: names to lower-case hex sums."""
    sums: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        match = re.fullmatch(r"([0-9A-Fa-f]{64}) [ *](?:\./)?(.+)", line)
        if match and sums.setdefault(match[2], match[1].lower()) == match[1].lower():
            continue
        if line.strip() and not line.startswith("#"):
            what = "a second, different sum for a name" if match else "not a line of sha256sum"
            raise ConfigError(f"{SUMS}, line {number}, is {what}: {line[:200]!r}; correct it")
    return sums


def connect(settings: Settings) -> S3Client:
    """Make the S3 client, with credentials and region from boto3's usual chain."""
    # Newer SDKs ask every store for checksums of ranges, which some stores answer wrongly; ours
    # are taken over whole files. As a variable because older SDKs refuse the Config argument.
    os.environ.setdefault("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required")
    import boto3  # late: it takes a second, and a run with nothing to do ends without it
    from botocore.config import Config

    config = Config(
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=settings.parallel + 2,
        retries={"mode": "standard", "max_attempts": 3},
    )
    try:
        return boto3.client(  # pyright: ignore[reportUnknownMemberType] - services without stubs
            "s3",
            # Pods are given AWS_REGION, the SDK for Python reads only AWS_DEFAULT_REGION.
            region_name=os.environ.get("AWS_REGION") or None,
            endpoint_url=settings.endpoint or None,
            config=config,
        )
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(
            f"no client for {settings.where}: {error}; correct S3_ENDPOINT_URL or AWS_REGION"
        ) from error


class Source:
    """The prefix: what lies there, what its sums are, and its bytes by range."""

    def __init__(self, client: S3Client, settings: Settings) -> None:
        self.client = client
        self.settings = settings

    def identity(self) -> dict[str, tuple[int, str]]:
        """Name to (size, ETag) of every object; two equal answers mean an unchanged source."""
        found: dict[str, tuple[int, str]] = {}
        with self._asking("list", ""):
            paginator = self.client.get_paginator("list_objects_v2")
            pages = paginator.paginate(Bucket=self.settings.bucket, Prefix=self.settings.prefix)
            for item in (item for page in pages for item in page.get("Contents", ())):
                name = item.get("Key", "").removeprefix(self.settings.prefix)
                size = item.get("Size", 0)
                if size or (name and not name.endswith("/")):  # else a console's folder marker
                    found[name] = (size, item.get("ETag", ""))
        found.pop(MANIFEST, None)  # of the copy that was uploaded; ours is written anew
        return found

    def remotes(self, found: Mapping[str, tuple[int, str]]) -> list[Remote]:
        """Say what to fetch and how each file will be verified."""
        where = f"{self.settings.source} at {self.settings.where}"
        if not found:
            raise ConfigError(f"{where} has no objects; upload the weights or correct the source")
        if problems := unsafe_names(found):
            raise ConfigError(
                f"{len(problems)} object names in {where} cannot be file names; rename or delete"
                f" them:{listed(problems)}"
            )
        sums = parse_sums(self._read_sums(found)) if SUMS in found else {}
        if absent := sorted(sums.keys() - found.keys() - {MANIFEST}):
            raise SeedError(
                f"{SUMS} names {len(absent)} files that {where} lacks; finish the upload or correct"
                f" the list:{listed(absent)}"
            )
        return [
            Remote(name, *found[name], expected=sums[name], proof=SUMS)
            if name in sums
            else self._by_head(name, *found[name])
            for name in sorted(found)
        ]

    def blocks(self, remote: Remote, start: int, end: int) -> Generator[bytes]:
        """Yield the bytes from `start` up to `end`, only of the object that was listed."""
        key = self.settings.prefix + remote.name
        with self._asking("read", remote.name):
            answer = self.client.get_object(
                Bucket=self.settings.bucket,
                Key=key,
                Range=f"bytes={start}-{end - 1}",
                IfMatch=remote.etag,
            )
            # Compared as well, for a store that does not know If-Match.
            if answer.get("ETag", remote.etag).strip('"') != remote.etag.strip('"'):
                raise SourceChangedError(remote.name)
            if answer["ContentLength"] != end - start:
                raise SeedError(
                    f"{self.settings.where} sent {answer['ContentLength']} bytes of {key!r} for a"
                    f" range of {end - start}; the store must honour Range requests"
                )
            with contextlib.closing(answer["Body"]) as body:
                while block := body.read(BLOCK):
                    yield block

    def _read_sums(self, found: Mapping[str, tuple[int, str]]) -> str:
        remote, where = self._by_head(SUMS, *found[SUMS]), f"{self.settings.source}{SUMS}"
        if remote.size > 16 * MIB:
            raise ConfigError(f"{where} is too large for a list of sums; correct it")
        content = b"".join(self.blocks(remote, 0, remote.size)) if remote.size else b""
        digest = hashlib.new(remote.algorithm, content, usedforsecurity=False).hexdigest()
        if remote.expected not in {None, digest}:
            # Otherwise a byte that went wrong on the way would make good weights look corrupt.
            raise TransientError(f"{where} did not arrive as {remote.proof} says")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"{where} is not UTF-8 text; correct it") from error

    def _by_head(self, name: str, size: int, etag: str) -> Remote:
        bucket, key = self.settings.bucket, self.settings.prefix + name
        with self._asking("read the head of", name):
            head = self.client.head_object(
                Bucket=bucket, Key=key, IfMatch=etag, ChecksumMode="ENABLED"
            )
        # A checksum "of checksums" (multipart) ends in "-<parts>" and is no sum of the bytes.
        digest = head.get("ChecksumSHA256", "")
        if re.fullmatch(r"[A-Za-z0-9+/]{43}=", digest):
            whole = base64.b64decode(digest).hex()
            return Remote(name, size, etag, expected=whole, proof="S3 SHA-256")
        # An ETag is the MD5 only of one-part objects, and never under KMS or customer keys.
        sealed = "kms" in head.get("ServerSideEncryption", "") or "SSECustomerAlgorithm" in head
        if not sealed and (md5 := re.fullmatch(r'"?([0-9a-f]{32})"?', etag)):
            return Remote(name, size, etag, algorithm="md5", expected=md5[1], proof="S3 MD5")
        return Remote(name, size, etag)

    @contextlib.contextmanager
    def _asking(self, verb: str, name: str) -> Generator[None]:
        what = f"cannot {verb} {self.settings.source}{name} at {self.settings.where}"
        try:
            yield
        except ClientError as error:
            details: Any = error.response
            status = int(details.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            code = str(details.get("Error", {}).get("Code") or status)
            if status in {412, 416} or (name and status == 404 and code != "NoSuchBucket"):
                raise SourceChangedError(what) from error
            text = f"{what}: {code} ({details.get('Error', {}).get('Message', 'no message')})"
            if code in REFUSALS:
                raise ConfigError(f"{text}; {REFUSALS[code]}") from error
            raise TransientError(text) from error
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise ConfigError(f"{what}: {error}; {KEYS_MEND}") from error
        except ResponseParserError as error:
            raise ConfigError(f"{what}: {REFUSALS['404']}") from error
        except (BotoCoreError, OSError) as error:
            raise TransientError(f"{what}: {error}") from error


class Lock:
    """One writer per model directory, over NFS too: an exclusively created file that is kept fresh.

    A waiter takes over a lock whose time stamp did not move for `stale_sec` of the waiter's own
    monotonic clock. The owner stops writing before that, when it could not refresh the file.
    """

    def __init__(self, path: Path, stale_sec: float) -> None:
        self.path = path
        self.stale_sec = stale_sec
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._beaten = 0.0
        self._guarded = 0.0
        self._end = threading.Event()

    def acquire(self) -> None:
        """Wait for the lock, telling every REPORT_SEC who has it."""
        begin = since = time.monotonic()
        told = begin - REPORT_SEC
        seen: tuple[str, int] | None = None
        while not self._create():
            now, state = time.monotonic(), self._state()
            if state is None or state != seen:
                seen, since, self._guarded = state, now, 0.0
            elif now - since > self.stale_sec:
                self.evict(state)
                continue
            if state is not None and now - told >= REPORT_SEC:
                told = now
                say(f"waiting for {state[0]}, which seeds {self.path.parent}: {now - begin:.0f} s")
            time.sleep(min(1.0, self.stale_sec / 10))

    def check(self) -> None:
        """Raise unless this process still surely owns the lock."""
        limit = 0.8 * self.stale_sec
        if time.monotonic() - self._beaten > limit:
            raise SeedError(
                f"lost the lock {self.path}, which was not refreshed for {limit:.0f} s: the process"
                " was paused, the volume hangs, or another run took over; run again"
            )

    def beat(self) -> None:
        """Refresh the lock file, and give up the claim if the file is not ours any more."""
        now = time.monotonic()
        try:
            with self.path.open(encoding="utf-8") as file:
                ours = file.read() == self.owner
                if ours:
                    os.utime(file.fileno())
        except FileNotFoundError:
            ours = False
        self._beaten = now if ours else float("-inf")

    def evict(self, state: tuple[str, int]) -> None:
        """Remove a lock that was judged dead, if it is still the one that was judged."""
        # The guard lets one waiter at a time judge and remove. Without it, a slow one would remove
        # the lock that a fast one has just made in the place of the dead one's.
        guard = self.path.with_name(f"{self.path.name}.evict")
        try:
            guard.touch(exist_ok=False)
        except FileExistsError:
            self._guarded = self._guarded or time.monotonic()
            if time.monotonic() - self._guarded > self.stale_sec:  # it died between these lines
                guard.unlink(missing_ok=True)
                self._guarded = 0.0
            time.sleep(self.stale_sec / 20)
            return
        try:
            if self._state() == state:
                self.path.unlink(missing_ok=True)
                say(f"took over the lock of {state[0]}: no heartbeat for {self.stale_sec:.0f} s")
        finally:
            guard.unlink(missing_ok=True)

    def release(self) -> None:
        """Remove the lock file if it is surely ours; otherwise it grows stale."""
        self._end.set()
        with contextlib.suppress(SeedError):
            self.check()
            if (state := self._state()) is not None and state[0] == self.owner:
                self.path.unlink(missing_ok=True)

    def _create(self) -> bool:
        now = time.monotonic()
        try:
            with self.path.open("x", encoding="utf-8") as file:
                file.write(self.owner)
        except FileExistsError:
            return False
        except OSError:
            self.path.unlink(missing_ok=True)  # made, but without our name in it: a full volume
            raise
        self._beaten = now
        threading.Thread(target=self._keep, daemon=True).start()
        return True

    def _keep(self) -> None:
        while not self._end.wait(self.stale_sec / 6):
            with contextlib.suppress(OSError):  # a hiccup of the volume; check() sets the limit
                self.beat()

    def _state(self) -> tuple[str, int] | None:
        # Opening makes an NFS client ask the server; a bare stat may answer from its cache.
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                return file.read(200), os.fstat(file.fileno()).st_mtime_ns
        except OSError:
            return None


class Partial:
    """One file under way: its bytes, and a note of which of them are safely on disk.

    The note is written only after the bytes were flushed, so that neither a killed process nor a
    lost node leaves a claim about bytes that are not there. It names the inode that it is about:
    a process that lost the lock unawares may still write a note, but to a file that is gone.
    """

    def __init__(self, remote: Remote, root: Path, chunk: int, sha256: str | None = None) -> None:
        """Continue what is there. With `sha256`, the file is there already and known to be good."""
        self.remote = remote
        self.data = root / "files" / remote.name
        self.note = root / "state" / hashlib.sha256(remote.name.encode()).hexdigest()
        self.chunk = chunk
        self.fetched: list[int] = []
        self._lock = threading.Lock()
        if sha256 is not None:
            self._begin([self.length(index) for index in range(self.chunks)])
            self.sha256 = sha256
            self.save()
        elif not self._continue():
            self.reset()

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.remote.size // self.chunk)

    def length(self, index: int) -> int:
        """Size of one chunk in bytes."""
        return min(self.chunk, self.remote.size - index * self.chunk)

    @property
    def missing(self) -> list[int]:
        """Indexes of the chunks that lack bytes."""
        return [i for i, done in enumerate(self.done) if done < self.length(i)]

    def reset(self) -> None:
        """Begin anew, in a new file."""
        self.remove()
        self.data.parent.mkdir(parents=True, exist_ok=True)
        self.data.touch(exist_ok=False)
        self._begin([0] * self.chunks)
        self.save()

    def remove(self) -> None:
        """Delete the bytes and the note about them."""
        self.note.unlink(missing_ok=True)
        self.data.unlink(missing_ok=True)

    def fill(self, index: int, source: Source, alive: Callable[[], None]) -> None:
        """Fetch what one chunk lacks; flush and note it every quarter, and when the source ends."""
        begin = index * self.chunk
        position, end = begin + self.done[index], begin + self.length(index)
        with (
            self.data.open("r+b", buffering=0) as file,
            contextlib.closing(source.blocks(self.remote, position, end)) as blocks,
        ):
            file.seek(position)
            try:
                for block in blocks:
                    alive()
                    view = memoryview(block)
                    while view:
                        view = view[file.write(view) :]
                    position += len(block)
                    self.fetched[index] += len(block)
                    if position - begin - self.done[index] >= self.chunk // 4:
                        self._flushed(file.fileno(), index, position - begin)
            except TransientError:
                self._flushed(file.fileno(), index, position - begin)
                raise
            self._flushed(file.fileno(), index, position - begin)

    def sum(self, index: int, updates: Sequence[Callable[[bytes], object]]) -> None:
        """Read one chunk back from the volume into the sums."""
        left = self.length(index)
        with self.data.open("rb", buffering=0) as file:
            file.seek(index * self.chunk)
            while left and (block := file.read(min(4 * BLOCK, left))):
                left -= len(block)
                for update in updates:
                    update(block)
        if left:
            raise SeedError(f"{self.data} became shorter while it was read; run again")

    def save(self) -> None:
        """Write the note."""
        note = {"etag": self.remote.etag, "size": self.remote.size, "inode": self._inode}
        note |= {"chunk": self.chunk, "done": self.done, "sha256": self.sha256}
        self.note.parent.mkdir(exist_ok=True)
        spare = self.note.with_suffix(".new")
        spare.write_text(json.dumps(note | {"proof": self.remote.proof}), encoding="utf-8")
        spare.replace(self.note)

    def _begin(self, done: list[int]) -> None:
        self.done = done
        self.fetched += [0] * (len(done) - len(self.fetched))
        self.sha256: str | None = None
        self._inode = self.data.lstat().st_ino

    def _flushed(self, handle: int, index: int, done: int) -> None:
        if done > self.done[index]:
            os.fdatasync(handle)
            with self._lock:
                self.done[index] = done
                self.save()

    def _continue(self) -> bool:
        try:
            note: Any = json.loads(self.note.read_text(encoding="utf-8"))
            disk = self.data.lstat()
            known = (note["etag"], note["size"], note["inode"])
            chunk, done = int(note["chunk"]), [int(count) for count in note["done"]]
            reach = max((i * chunk + n for i, n in enumerate(done) if n), default=0)
            if known != (self.remote.etag, self.remote.size, disk.st_ino) or disk.st_size < reach:
                return False
        except (OSError, ValueError, TypeError, KeyError):
            return False
        self.chunk = chunk  # a changed setting counts for files that begin anew
        self._begin(done)
        # A sum that an earlier run checked in another way is taken and compared anew.
        wanted = self.remote.expected if self.remote.algorithm == "sha256" else None
        if note["proof"] == self.remote.proof and wanted in {None, note["sha256"]}:
            self.sha256 = note["sha256"]
        return True


class Fetch:
    """Fetches missing chunks with several streams, and verifies the files in order behind them."""

    def __init__(
        self, source: Source, partials: Sequence[Partial], alive: Callable[[], None]
    ) -> None:
        self.source = source
        self.partials = partials
        self.alive = alive
        self.error: Exception | None = None
        self.stop = threading.Event()
        self.pool = ThreadPoolExecutor(source.settings.parallel)
        self.running: list[Future[None]] = []
        self._told, self._before = time.monotonic(), 0

    @property
    def fetched(self) -> int:
        """Bytes that came over the network in this run."""
        return sum(sum(part.fetched) for part in self.partials)

    def run(self) -> None:
        """Return when every file is whole and verified; raise the first error otherwise.

        Corrupt objects are raised last: all of them are named, and all others are kept.
        """
        corrupt: list[str] = []
        try:
            started = [(p, self._submit(p)) for p in self.partials if p.sha256 is None]
            for part, chunks in started:
                if (wrong := self._verify(part, chunks)) is None:
                    continue
                say(f"corrupt object: {wrong}; fetching it once more from the beginning")
                part.reset()
                if wrong := self._verify(part, self._submit(part)):
                    corrupt.append(wrong)
                    part.remove()
        finally:
            self.stop.set()
            self.pool.shutdown(wait=False, cancel_futures=True)
            # A stalled read takes a minute to end, and Kubernetes kills after thirty seconds.
            wait([future for future in self.running if not future.done()], timeout=5)
        if corrupt:
            raise SeedError(
                f"{len(corrupt)} corrupt objects, fetched twice; nothing was published. Upload them"
                f" anew or correct {SUMS}, then run again:{listed(corrupt)}"
            )

    def _submit(self, part: Partial) -> dict[int, Future[None]]:
        chunks = {index: self.pool.submit(self._chunk, part, index) for index in part.missing}
        self.running += chunks.values()
        return chunks

    def _verify(self, part: Partial, chunks: Mapping[int, Future[None]]) -> str | None:
        remote = part.remote
        digests = {name: hashlib.new(name, usedforsecurity=False) for name in remote.algorithms}
        for index in range(len(part.done)):
            while index in chunks and not wait((chunks[index],), timeout=0.2).done:
                self._report()
            if self.error is not None:
                raise self.error
            if index in chunks:
                chunks[index].result()  # raises what no handler of errors has caught
            part.sum(index, [digest.update for digest in digests.values()])
            self._report()
        found = digests[remote.algorithm].hexdigest()
        if remote.expected not in {None, found}:
            return (
                f"{self.source.settings.source}{remote.name}: {remote.algorithm} is {found}, but"
                f" {remote.proof} says {remote.expected}"
            )
        self.alive()
        part.sha256 = digests["sha256"].hexdigest()
        part.save()
        return None

    def _chunk(self, part: Partial, index: int) -> None:
        try:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return part.fill(index, self.source, self._check)
                except TransientError:
                    if attempt == ATTEMPTS or self.stop.wait(PAUSE_SEC * 2**attempt):
                        raise
        except Exception as error:
            self.error = self.error or error  # the first is the cause of what follows
            self.stop.set()

    def _check(self) -> None:
        self.alive()
        if self.stop.is_set():
            raise TransientError("stopped")

    def _report(self) -> None:
        seconds = time.monotonic() - self._told
        if seconds < REPORT_SEC:
            return
        total = max(1, sum(part.remote.size for part in self.partials))
        have = sum(sum(part.done) for part in self.partials)
        rate = (self.fetched - self._before) / seconds
        left = f"{(total - have) / rate:.0f} s left" if rate else "stalled"
        say(f"{have} of {total} bytes, {100 * have / total:.1f} %, {rate / MIB:.1f} MiB/s, {left}")
        self._told, self._before = time.monotonic(), self.fetched


class Published(NamedTuple):
    """What the manifest says of one file."""

    size: int
    etag: str
    sha256: str


class Volume:
    """The model's directory: what is published, what is under way, how one becomes the other."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.final = settings.target / settings.revision
        self.partial = settings.target / f"{settings.revision}.partial"
        self.link = settings.target / "current"
        self.damaged: list[str] = []

    def published(self) -> dict[str, Published]:
        """Name to manifest entry of the published revision; empty if there is none."""
        if not os.path.lexists(self.final):
            return {}
        try:
            manifest: Any = json.loads((self.final / MANIFEST).read_text(encoding="utf-8"))
            return {
                str(entry["name"]): Published(entry["size"], entry["etag"], entry["sha256"])
                for entry in manifest["files"]
            }
        except (OSError, ValueError, TypeError, KeyError) as error:
            # Ours appear by one rename, with the manifest inside.
            raise ConfigError(
                f"{self.final} has no readable {MANIFEST}, so this program did not make it and does"
                " not replace it; move it away"
            ) from error

    def complete(self) -> bool:
        """Whether the published revision is whole; says when it is, and what is damaged."""
        entries = self.published()
        if entries and self.settings.verify_full:
            say(f"reading {len(entries)} files of {self.final} to compare their sums")
        self.damaged = [name for name, entry in entries.items() if not self._intact(name, entry)]
        if self.damaged:
            say(f"{self.final} is damaged in {len(self.damaged)} files:{listed(self.damaged)}")
        elif entries:
            how = "sizes and sums" if self.settings.verify_full else "sizes"
            say(f"{self.final} is complete: {len(entries)} files, {how} match")
        return bool(entries) and not self.damaged

    def prepare(self, remotes: Sequence[Remote]) -> list[Partial]:
        """Make the partial directory hold exactly these files, each as far as it had come."""
        files, chunk = self.partial / "files", self.settings.chunk
        if entries := self.published():
            # Withdrawn, so that no engine starts on damaged weights; what is good is kept.
            shutil.rmtree(self.partial, ignore_errors=True)
            self.partial.mkdir()
            self.final.rename(files)
            say(f"withdrew {self.final} until it is repaired")
            for remote in remotes:
                entry = entries.get(remote.name)
                same = entry is not None and entry[:2] == (remote.size, remote.etag)
                if entry and same and remote.name not in self.damaged:
                    Partial(remote, self.partial, chunk, entry.sha256)
        keep = {files / remote.name for remote in remotes}
        for path in sorted(files.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                with contextlib.suppress(OSError):  # it holds something that is kept
                    path.rmdir()
            elif path not in keep or path.is_symlink():
                path.unlink()
        return [Partial(remote, self.partial, chunk) for remote in remotes]

    def shortage(self, partials: Sequence[Partial]) -> str:
        """Say what does not fit beside the reserve; empty if all does."""
        needed = sum(part.remote.size - sum(part.done) for part in partials)
        volume = os.statvfs(self.settings.target)
        free, reserve = volume.f_bavail * volume.f_frsize, self.settings.reserve
        missing = needed + reserve - free
        if needed == 0 or missing <= 0:
            return ""
        return (
            f"needed {needed / GIB:.3f} GiB, free {free / GIB:.3f} GiB of which"
            f" {reserve / GIB:.3f} GiB must remain (TRIPLANE_RESERVE_GIB), missing"
            f" {missing / GIB:.3f} GiB."
        )

    def publish(self, partials: Sequence[Partial], alive: Callable[[], None]) -> None:
        """Write the manifest, flush, and make the revision appear by one rename."""
        files = self.partial / "files"
        manifest = {
            "schema": 1,
            "model": self.settings.model,
            "revision": self.settings.revision,
            "source": self.settings.source,
            "endpoint": self.settings.where,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "bytes": sum(part.remote.size for part in partials),
            "unverified": [part.remote.name for part in partials if part.remote.expected is None],
            "files": [
                {
                    "name": part.remote.name,
                    "size": part.remote.size,
                    "sha256": part.sha256,
                    "etag": part.remote.etag,
                    "verified": part.remote.proof,
                }
                for part in partials
            ],
        }
        with (files / MANIFEST).open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        for folder in (files, *(path for path in files.rglob("*") if path.is_dir())):
            flush_folder(folder)
        alive()
        files.rename(self.final)
        flush_folder(self.settings.target)

    def is_current(self) -> bool:
        """Whether `current` names this revision already."""
        if self.link.exists() and not self.link.is_symlink():
            raise ConfigError(f"{self.link} is not a symbolic link; move it away")
        return self.link.is_symlink() and str(self.link.readlink()) == self.settings.revision

    def make_current(self) -> None:
        """Let `current` name this revision, without a moment in which it names nothing."""
        if not self.is_current():
            spare = self.settings.target / f".triplane-current-{uuid.uuid4().hex}"
            spare.symlink_to(self.settings.revision)
            spare.replace(self.link)
            flush_folder(self.settings.target)
        shutil.rmtree(self.partial, ignore_errors=True)

    def _intact(self, name: str, entry: Published) -> bool:
        path, digest = self.final / name, hashlib.sha256()
        if not path.is_file() or path.is_symlink() or path.stat().st_size != entry.size:
            return False
        if not self.settings.verify_full:
            return True
        with path.open("rb") as file:
            while block := file.read(4 * BLOCK):
                digest.update(block)
        return digest.hexdigest() == entry.sha256


def flush_folder(folder: Path) -> None:
    """Make the names in a folder outlast a lost node."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse it
            os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(error: OSError, shortage: str) -> SeedError:
    """Explain a failed use of the volume."""
    what = f"cannot use {error.filename or 'the volume'}: {error.strerror or error}"
    if error.errno in DISK_FULL:
        return SeedError(
            f"the volume is full: {what}. {shortage or 'A quota or a limit of it may be lower.'}"
            " Enlarge it or remove old revisions, then run again: what is there is kept"
        )
    if error.errno in DISK_FORBIDDEN:
        return ConfigError(f"{what}, as user {os.getuid()}; set the pod's fsGroup")
    return SeedError(f"{what}; run again")


def seed(settings: Settings, connect_source: Callable[[], Source]) -> None:
    """Bring the revision onto the volume and publish it; return at once if it is there."""
    volume = Volume(settings)
    settings.target.mkdir(exist_ok=True)
    if volume.is_current() and not volume.partial.exists() and volume.complete():
        return
    lock = Lock(settings.target / ".triplane-lock", settings.stale_sec)
    try:
        lock.acquire()
        if not volume.complete():
            download(volume, connect_source(), lock.check)
        volume.make_current()
    finally:
        lock.release()


def download(volume: Volume, source: Source, alive: Callable[[], None]) -> None:
    """Fetch, verify and publish, again for what changed if the source changes meanwhile."""
    for _ in range(ROUNDS):
        partials: list[Partial] = []
        try:
            found = source.identity()
            partials += volume.prepare(source.remotes(found))
            if volume.shortage(partials):
                raise OSError(errno.ENOSPC, "not enough space", str(volume.settings.target))
            fetch = Fetch(source, partials, alive)
            announce(volume.settings, partials)
            fetch.run()
            if source.identity() == found:
                volume.publish(partials, alive)
                summarise(volume, partials, fetch.fetched)
                return
        except OSError as error:
            raise disk_error(error, volume.shortage(partials)) from error
        except TransientError as error:
            raise SeedError(f"{error}; check S3_ENDPOINT_URL or run again") from error
        except SourceChangedError:
            pass
        say(f"{volume.settings.source} changed while it was fetched; fetching what changed")
    raise SeedError(f"{volume.settings.source} keeps changing; run again when its upload has ended")


def announce(settings: Settings, partials: Sequence[Partial]) -> None:
    """Say what this run is about to do."""
    total = sum(part.remote.size for part in partials) / GIB
    have = sum(sum(part.done) for part in partials) / GIB
    say(
        f"seeding {settings.model} {settings.revision} from {settings.source} at {settings.where}:"
        f" {len(partials)} files, {total:.3f} GiB, of which {have:.3f} GiB are on the volume"
    )


def summarise(volume: Volume, partials: Sequence[Partial], fetched: int) -> None:
    """Say what was done, and above all what no checksum vouches for."""
    proofs = [part.remote.proof for part in partials]
    for proof in sorted(set(proofs) - {SIZE_ONLY}):
        say(f"verified by {proof}: {proofs.count(proof)} files")
    if loose := [part.remote.name for part in partials if part.remote.expected is None]:
        say(f"NOT verified by a checksum, only by size: {len(loose)} files:{listed(loose)}")
    say(f"published {volume.final}: {len(partials)} files, {fetched} bytes fetched")


def stop(signum: int, _frame: object) -> NoReturn:
    """Turn a signal into an orderly end."""
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # the way out must not be interrupted as well
    raise Stopped(signum)


def main() -> int:
    """Run once; return the exit code: 0 done, 1 try again, 2 change something first."""
    os.umask(0o022)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)
    try:
        settings = read_settings(os.environ)
        try:
            seed(settings, lambda: Source(connect(settings), settings))
        except OSError as error:
            raise disk_error(error, "") from error
    except Stopped as stopped:
        say("stopped by a signal; the next run continues from here")
        return 128 + int(stopped.args[0])
    except SeedError as error:
        say(f"error: {error}")
        return error.code
    except Exception:
        say(f"error: a fault of this program; run again\n{traceback.format_exc()}")
        return 1
    return 0


if __name__ == "__main__":
    # Not sys.exit: it would wait for streams, and one that stalls outlives the grace period.
    os._exit(main())
