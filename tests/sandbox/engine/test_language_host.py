"""The small language host as a process: its first line, its calls and its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from pulumi.runtime.proto import language_pb2 as pb
from pulumi.runtime.proto.plugin_pb2 import PluginInfo

from sandbox.core.paths import PROJECT_ROOT

pytestmark = [pytest.mark.engine, pytest.mark.timeout(60)]

HOST = PROJECT_ROOT / "sandbox" / "engine" / "language_host.py"


def _to_bytes(message: Message) -> bytes:
    return message.SerializeToString()


class Running:
    """A host that was started as the engine starts it, and a channel to it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(HOST), "127.0.0.1:1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.first_line.strip()}")

    def call(self, name: str, request: Message, answer: type[Message]) -> Message:
        """Make one call of the LanguageRuntime service."""
        method: grpc.UnaryUnaryMultiCallable[Message, Message] = self.channel.unary_unary(
            f"/pulumirpc.LanguageRuntime/{name}",
            request_serializer=_to_bytes,
            response_deserializer=answer.FromString,
        )
        return method(request, timeout=20, wait_for_ready=True)

    def interrupt(self) -> tuple[float, str]:
        """Send what the engine sends; return the seconds it took and what was on stderr."""
        began = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        _, errors = self.process.communicate(timeout=10)
        return time.monotonic() - began, errors


@pytest.fixture
def host() -> Generator[Running]:
    """A running host that is killed after the test, if it still runs."""
    running = Running()
    try:
        yield running
    finally:
        running.channel.close()
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


def _program(folder: Path, text: str, **options: str) -> pb.ProgramInfo:
    folder.mkdir(exist_ok=True)
    (folder / "__main__.py").write_text(text)
    info = pb.ProgramInfo(
        root_directory=str(folder), program_directory=str(folder), entry_point="."
    )
    info.options.update(options)
    return info


def test_it_prints_its_port_first_and_answers_the_engine(host: Running) -> None:
    """Anything else on the first line and the engine gives up."""
    assert 0 < int(host.first_line) < 65536
    handshake = pb.LanguageHandshakeRequest(engine_address="127.0.0.1:2")
    host.call("Handshake", handshake, pb.LanguageHandshakeResponse)
    info = host.call("GetPluginInfo", Empty(), PluginInfo)
    assert isinstance(info, PluginInfo)
    assert info.version
    required = host.call(
        "GetRequiredPackages", pb.GetRequiredPackagesRequest(), pb.GetRequiredPackagesResponse
    )
    assert required == pb.GetRequiredPackagesResponse(), "nothing is to be downloaded"


def test_an_interrupt_ends_it_at_once_and_silently(host: Running) -> None:
    """A host that ignores it costs five seconds per command; a traceback frightens users."""
    host.call("GetPluginInfo", Empty(), PluginInfo)
    seconds, errors = host.interrupt()
    assert seconds < 5.0, "the engine would have killed it"
    assert errors == ""
    assert host.process.returncode == 0


def test_it_ends_when_its_engine_is_gone(tmp_path: Path) -> None:
    """An engine that was killed tells nobody; its host must not stay forever."""
    pid_file = tmp_path / "pid"
    # A shell plays the engine: it starts the host, notes its id and is gone.
    command = f'"{sys.executable}" -P "{HOST}" & echo $! > "{pid_file}"; sleep 2'
    subprocess.run(["/bin/sh", "-c", command], check=True, stdout=subprocess.DEVNULL)
    host = int(pid_file.read_text())
    deadline = time.monotonic() + 10
    while _is_alive(host):
        assert time.monotonic() < deadline, "the host outlives its engine"
        time.sleep(0.1)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_virtual_environment_that_is_missing_is_named(host: Running, tmp_path: Path) -> None:
    """The commonest mistake on a fresh clone."""
    info = _program(tmp_path / "p", "", virtualenv=".venv")
    answer = host.call("Run", pb.RunRequest(info=info), pb.RunResponse)
    assert isinstance(answer, pb.RunResponse)
    assert "virtualenv: '.venv' has no bin/python" in answer.error
    assert "make setup" in answer.error


def test_the_program_survives_the_interrupt_of_a_terminal(host: Running, tmp_path: Path) -> None:
    """Ctrl-C reaches the foreground group; only the engine may end the program it watches."""
    marker = tmp_path / "session"
    text = f"import os\nopen({str(marker)!r}, 'w').write(str(os.getsid(0)))\nraise SystemExit(3)\n"
    # Run as a plugin: a program proper needs a resource monitor to talk to.
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "pulumi_probe.py").write_text(text)
    request = pb.RunPluginRequest(
        info=pb.ProgramInfo(root_directory=str(tmp_path), program_directory="pulumi_probe"),
        pwd=str(folder),
        kind="resource",
    )
    method: grpc.UnaryStreamMultiCallable[pb.RunPluginRequest, pb.RunPluginResponse]
    method = host.channel.unary_stream(
        "/pulumirpc.LanguageRuntime/RunPlugin",
        request_serializer=pb.RunPluginRequest.SerializeToString,
        response_deserializer=pb.RunPluginResponse.FromString,
    )
    answers = list(method(request, timeout=20, wait_for_ready=True))
    assert answers[-1].exitcode == 3
    assert int(marker.read_text()) != os.getsid(host.process.pid)
