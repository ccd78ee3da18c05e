"""What the seeding tests need around the program: an S3 server, a proxy that sees and spoils, runs.

The proxy stands between the program and moto, so that a test can say exactly which bytes went over
the network, slow them down, hold them back, or answer in place of the store.
"""

import contextlib
import hashlib
import http.client
import json
import os
import random
import resource
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ROOT = Path(__file__).parents[3]
PROGRAM = "catalog.programs.seed"
MIB = 1024**2
SLICE = 16 * 1024
SECRET = "planted-secret-that-must-never-be-printed"
PATIENCE_SEC = 30.0


def data(size: int, salt: int = 0) -> bytes:
    """Return bytes without repetition, so that a misplaced chunk cannot look right."""
    return random.Random(salt).randbytes(size)


def tensors(size: int, salt: int = 0) -> bytes:
    """Return a safetensors file of that many bytes: one tensor, named by the salt."""
    length = 256  # of the header, padded with spaces as the format allows
    name = f"weight{salt}"
    span = [0, size - 8 - length]
    entry = {"dtype": "U8", "shape": [span[1]], "data_offsets": span}
    header = json.dumps({"__metadata__": {"format": "pt"}, name: entry}).encode().ljust(length)
    return length.to_bytes(8, "little") + header + data(span[1], salt)


def sums(files: Mapping[str, bytes]) -> bytes:
    """Return what sha256sum prints for these files."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
    return "".join(lines).encode()


def eventually(what: str, check: Callable[[], bool]) -> None:
    """Wait until `check` holds; fail with `what` after PATIENCE_SEC."""
    limit = time.monotonic() + PATIENCE_SEC
    while not check():
        assert time.monotonic() < limit, f"did not happen: {what}"
        time.sleep(0.02)


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def moto_server() -> Generator[str]:
    """Run `moto_server` on a free loopback port; yield its address."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:

        def answers() -> bool:
            assert process.poll() is None, "moto_server ended at once"
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return True
            return False

        try:
            eventually("moto_server listens", answers)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@dataclass
class Request:
    """One request that the proxy saw; `sent` counts the bytes of the answer's body."""

    method: str
    path: str
    asked: str
    condition: str = ""
    sent: int = 0

    @property
    def span(self) -> range:
        """The byte range that was asked for."""
        first, last = self.asked.removeprefix("bytes=").split("-")
        return range(int(first), int(last) + 1)


@dataclass(frozen=True)
class Fault:
    """What happens to one answer with weights: `at` is a byte of its body.

    `cut`: the connection ends there. `short`: the store says that there is no more. `wrong`: that
    byte is another one. `busy`: the store asks to slow down. `kill`: the program is killed there.
    """

    kind: Literal["fine", "cut", "short", "wrong", "busy", "kill"]
    at: int = 0


@dataclass(frozen=True)
class Answer:
    """An answer on its way back; behind it, `then` is called and `hang_up` ends the connection."""

    status: int
    headers: dict[str, str]
    body: bytes
    hang_up: bool = False
    then: Callable[[], None] = lambda: None


class Proxy:
    """Forwards to the store; `rate`, `hold_after`, `answer` and `faults` spoil what passes."""

    def __init__(self, store: str) -> None:
        self.store = urlsplit(store)
        self.log: list[Request] = []
        self.rate: int | None = None
        """Bytes per second and connection."""
        self.hold_after: int | None = None
        """Total bytes of weights after which every answer of some size stops in the middle."""
        self.answer: Callable[[Request], tuple[int, bytes] | None] = lambda _: None
        """Answers in place of the store when it returns something."""
        self.faults: list[Fault] = []
        """What happens to the next answers with weights, one each."""
        self.kill: Callable[[], None] = lambda: None
        self.held = threading.Event()
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def gets(self, name: str = "") -> list[Request]:
        """Requests for the bytes of the object, or of any object."""
        return [r for r in self.log if r.method == "GET" and r.asked and r.path.endswith(name)]

    def clear(self) -> None:
        """Forget what was seen and let everything pass."""
        self.log.clear()
        self.rate = self.hold_after = None
        self.faults = []
        self.released.set()

    def spoiled(self, request: Request, answer: Answer) -> Answer:
        """Return the store's answer as the next fault leaves it; only weights are spoiled."""
        with self._lock:
            fault = self.faults.pop(0) if request.asked and self.faults else Fault("fine")
        body = answer.body
        at = min(fault.at, max(0, len(body) - 1))
        if fault.kind == "busy":
            slow = b"<Error><Code>SlowDown</Code><Message>slow down</Message></Error>"
            return Answer(503, {}, slow)
        if fault.kind == "short":
            kept = {k: v for k, v in answer.headers.items() if k.lower() != "content-length"}
            return replace(answer, headers=kept, body=body[:at])
        if fault.kind == "wrong" and body:
            return replace(answer, body=body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :])
        if fault.kind in ("cut", "kill"):
            cut = replace(answer, body=body[:at], hang_up=True)
            return replace(cut, then=self.kill) if fault.kind == "kill" else cut
        return answer

    def pass_on(self, request: Request, write: Callable[[bytes], object], body: bytes) -> None:
        """Write a body as slowly as the test wishes."""
        for start in range(0, len(body), SLICE):
            piece = body[start : start + SLICE]
            if request.asked:
                with self._lock:
                    total = sum(r.sent for r in self.log)
                if self.hold_after is not None and total >= self.hold_after and len(body) > SLICE:
                    self.held.set()
                    self.released.wait(PATIENCE_SEC)
                if self.rate is not None:
                    time.sleep(len(piece) / self.rate)
            write(piece)
            request.sent += len(piece)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with contextlib.suppress(OSError):  # the program was killed: that is the test
                    super().handle()

            def do_GET(self) -> None:
                request = Request(
                    self.command,
                    unquote(self.path),
                    self.headers.get("Range") or "",
                    self.headers.get("If-Match") or "",
                )
                proxy.log.append(request)
                made = proxy.answer(request)
                if made is not None:
                    self.reply(request, made[0], {}, made[1])
                    return
                store = http.client.HTTPConnection(proxy.store.hostname or "", proxy.store.port)
                with contextlib.closing(store):
                    store.request(self.command, self.path, headers=dict(self.headers.items()))
                    answer = store.getresponse()
                    status, headers = answer.status, dict(answer.getheaders())
                    spoiled = proxy.spoiled(request, Answer(status, headers, answer.read()))
                    self.reply(request, spoiled.status, spoiled.headers, spoiled.body)
                    spoiled.then()
                    if spoiled.hang_up:
                        self.close_connection = True
                        self.connection.shutdown(socket.SHUT_RDWR)

            do_HEAD = do_GET

            def reply(
                self, request: Request, status: int, headers: dict[str, str], body: bytes
            ) -> None:
                names = {name.lower(): value for name, value in headers.items()}
                names.setdefault("content-length", str(len(body)))
                self.send_response_only(status)
                for name, value in names.items():
                    if name not in {"transfer-encoding", "connection"}:
                        self.send_header(name, value)
                self.end_headers()
                proxy.pass_on(request, self.wfile.write, body)

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output clean."""

        return Handler


@dataclass
class Run:
    """A run of the program, under way or ended."""

    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list[str])
    begin: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        """Everything that was printed so far."""
        return "".join(self.lines)

    def end(self) -> int:
        """Wait for the end; return the exit code."""
        code = self.process.wait(PATIENCE_SEC)
        self.seconds = time.monotonic() - self.begin
        self._reader.join(PATIENCE_SEC)
        assert SECRET not in self.output, "a credential was printed"
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)


class Lab:
    """A bucket, a volume, a proxy, and runs of the real program as a process."""

    def __init__(self, client: "S3Client", folder: Path) -> None:
        self.client = client
        self.proxy = Proxy(client.meta.endpoint_url)
        self.bucket = f"weights-{uuid.uuid4().hex[:12]}"
        self.credentials = {
            "AWS_ACCESS_KEY_ID": f"{SECRET}-id",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": f"{SECRET}-token",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.volume = folder / "models"
        self.volume.mkdir()
        self.target = self.volume / "tiny"
        self._runs: list[Run] = []

    @property
    def environment(self) -> dict[str, str]:
        """The variables of an ordinary run with small chunks."""
        return {
            **self.credentials,
            "TRIPLANE_MODEL": "tiny",
            "TRIPLANE_REVISION": "r1",
            "TRIPLANE_SOURCE": f"s3://{self.bucket}/tiny/r1/",
            "TRIPLANE_TARGET": str(self.target),
            "TRIPLANE_CHUNK_MIB": "1",
            "TRIPLANE_RESERVE_GIB": "0",
            "S3_ENDPOINT_URL": self.proxy.address,
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(ROOT),
        }

    def upload(self, files: Mapping[str, bytes], prefix: str = "tiny/r1/") -> None:
        """Put the files below the prefix."""
        for name, content in files.items():
            self.client.put_object(Bucket=self.bucket, Key=f"{prefix}{name}", Body=content)

    def upload_in_parts(self, name: str, content: bytes) -> None:
        """Put a file whose ETag says nothing about its bytes."""
        key = f"tiny/r1/{name}"
        upload = self.client.create_multipart_upload(Bucket=self.bucket, Key=key)["UploadId"]
        part = self.client.upload_part(
            Bucket=self.bucket, Key=key, UploadId=upload, PartNumber=1, Body=content
        )
        self.client.complete_multipart_upload(
            Bucket=self.bucket,
            Key=key,
            UploadId=upload,
            MultipartUpload={"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]},
        )

    def start(
        self,
        env: Mapping[str, str] | None = None,
        *,
        file_size_limit: int | None = None,
        arguments: Sequence[str] = (),
    ) -> Run:
        """Start the program; `env` changes variables, and an empty value removes one."""
        environment = {**self.environment, **(env or {})}

        def limit() -> None:
            os.umask(0o077)  # modes must not depend on what the image's shell has set
            if file_size_limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, file_size_limit))

        run = Run(
            subprocess.Popen(
                [sys.executable, "-m", PROGRAM, *arguments],
                env={name: value for name, value in environment.items() if value},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                preexec_fn=limit,
            )
        )
        self._runs.append(run)
        return run

    def run(
        self,
        env: Mapping[str, str] | None = None,
        *,
        expect: int = 0,
        file_size_limit: int | None = None,
    ) -> Run:
        """Run the program to its end and check the exit code."""
        run = self.start(env, file_size_limit=file_size_limit)
        code = run.end()
        assert code == expect, f"exit code {code} instead of {expect}:\n{run.output}"
        return run

    def published(self, revision: str = "r1") -> dict[str, bytes]:
        """Return the published files, without the manifest."""
        root = self.target / revision
        found = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        found.pop(".triplane-manifest.json", None)
        return found

    def manifest(self, revision: str = "r1") -> dict[str, Any]:
        """Return the published manifest."""
        text = (self.target / revision / ".triplane-manifest.json").read_text(encoding="utf-8")
        return json.loads(text)

    def on_disk(self) -> dict[str, list[range]]:
        """Return per ETag the byte ranges that an interrupted run has safely on the volume."""
        found: dict[str, list[range]] = {}
        for path in (self.target / "r1.partial" / "state").glob("[0-9a-f]*"):
            if path.suffix:
                continue  # half written when the process was killed
            note = json.loads(path.read_text(encoding="utf-8"))
            starts = range(0, note["size"], note["chunk"])
            spans = (range(s, s + n) for s, n in zip(starts, note["done"], strict=True))
            found[note["etag"]] = [span for span in spans if span]
        return found

    def etag(self, name: str) -> str:
        """Return the ETag that the store gives."""
        return self.client.head_object(Bucket=self.bucket, Key=f"tiny/r1/{name}")["ETag"]

    def stop(self) -> None:
        """Kill what a failed test has left running."""
        for run in self._runs:
            if run.process.poll() is None:
                run.process.kill()
                run.process.wait()
