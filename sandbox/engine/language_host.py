"""A small Python language host for a Pulumi engine that was built from modules.

The official CLI brings `pulumi-language-python`; ours does not. The engine starts this as a child,
reads a port from its first line and speaks LanguageRuntime to it. It runs programs and policy packs
with the project's virtual environment and does nothing else: packages are installed by the
project's own lock, never by the engine. Calls that are not in the table answer UNIMPLEMENTED.

Signals: the engine stops a plugin with SIGINT to its process group and waits up to five seconds
for it, so the handler ends at once and silently. Programs run in sessions of their own, so that
only we end them: when the engine says so, or is gone.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Final

_children: set[subprocess.Popen[bytes]] = set()


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        # The child leads its own group; its helpers go with it.
        os.killpg(child.pid, signal.SIGTERM)


def _end_all() -> None:
    for child in tuple(_children):
        _end(child)


def _quit(*_: object) -> None:
    _end_all()
    os._exit(0)


if __name__ == "__main__":
    # Before the imports below, which take most of a second: a signal in that time must not print
    # a traceback into somebody's terminal.
    signal.signal(signal.SIGINT, _quit)
    signal.signal(signal.SIGTERM, _quit)

import grpc  # noqa: E402 - after the signal handlers
from google.protobuf.empty_pb2 import Empty  # noqa: E402 - after the signal handlers
from google.protobuf.message import Message  # noqa: E402 - after the signal handlers
from pulumi.runtime.proto import language_pb2 as pb  # noqa: E402 - after the signal handlers
from pulumi.runtime.proto.plugin_pb2 import PluginInfo  # noqa: E402 - after the signal handlers

_BAIL_EXIT_CODE: Final = 32
"""The program's error is already on the user's screen (see program_runner.py)."""
_RUNNER: Final = Path(__file__).resolve().with_name("program_runner.py")
_engine_address = sys.argv[1] if __name__ == "__main__" and len(sys.argv) > 1 else ""


def interpreter(info: pb.ProgramInfo) -> str:
    """Return the Python of the runtime option `virtualenv`, else the one that runs this.

    Raises `FileNotFoundError` when the option names no virtual environment.
    """
    chosen = info.options.fields["virtualenv"].string_value
    if not chosen:
        return sys.executable
    python = Path(info.root_directory) / chosen / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(
            f"runtime option virtualenv: {chosen!r} has no bin/python under "
            f"{info.root_directory}: create it (make setup) or take the option out"
        )
    return str(python)


def _spawn(
    context: grpc.ServicerContext,
    argv: list[str],
    cwd: str,
    env: Mapping[str, str],
    out: int | None,
) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        argv, cwd=cwd or None, env=env, stdout=out, stderr=out, start_new_session=True
    )
    _children.add(child)
    # Runs when the engine cancels the call (and, harmlessly, when the call has ended).
    if not context.add_callback(lambda: _end(child)):
        _end(child)
    return child


def _handshake(
    request: pb.LanguageHandshakeRequest, _: grpc.ServicerContext
) -> pb.LanguageHandshakeResponse:
    global _engine_address
    _engine_address = request.engine_address or _engine_address
    return pb.LanguageHandshakeResponse()


def _about(request: pb.AboutRequest, _: grpc.ServicerContext) -> pb.AboutResponse:
    return pb.AboutResponse(executable=interpreter(request.info), version=sys.version.split()[0])


def _install(
    _request: pb.InstallDependenciesRequest, _: grpc.ServicerContext
) -> Iterator[pb.InstallDependenciesResponse]:
    text = b"dependencies come from the project's own lock (make setup), not from Pulumi\n"
    yield pb.InstallDependenciesResponse(stdout=text)


def _run(request: pb.RunRequest, context: grpc.ServicerContext) -> pb.RunResponse:
    settings = {
        "project": request.project,
        "stack": request.stack,
        "organization": request.organization,
        "root_directory": request.info.root_directory,
        "monitor": request.monitor_address,
        "engine": _engine_address,
        "parallel": request.parallel,
        "dry_run": request.dryRun,
    }
    program = request.info.entry_point or request.program or "."
    call = {"settings": settings, "program": program, "args": list(request.args)}
    # By environment, not as an argument: configuration holds secrets, and `ps` shows arguments.
    env = {
        **os.environ,
        "PULUMI_CONFIG": json.dumps(dict(request.config)),
        "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
    }
    try:
        argv = [interpreter(request.info), "-u", "-P", str(_RUNNER), json.dumps(call)]
    except FileNotFoundError as error:
        return pb.RunResponse(error=str(error))
    child = _spawn(context, argv, request.info.program_directory or request.pwd, env, None)
    code = child.wait()
    _children.discard(child)
    problem = "" if code in (0, _BAIL_EXIT_CODE) else f"the program ended with exit code {code}"
    return pb.RunResponse(error=problem, bail=code == _BAIL_EXIT_CODE)


def _run_plugin(
    request: pb.RunPluginRequest, context: grpc.ServicerContext
) -> Iterator[pb.RunPluginResponse]:
    folder = request.info.program_directory or request.program
    if request.kind == "analyzer":
        arguments = ["-m", "pulumi.policy", *request.args, folder]
    else:
        arguments = ["-m", "pulumi.run.plugin", folder, *request.args]
    env = dict(item.split("=", 1) for item in request.env) or dict(os.environ)
    argv = [interpreter(request.info), "-u", *arguments]
    child = _spawn(context, argv, request.pwd, env, subprocess.PIPE)
    yield from _outputs(child)
    _children.discard(child)
    yield pb.RunPluginResponse(exitcode=child.wait())


def _outputs(child: subprocess.Popen[bytes]) -> Iterator[pb.RunPluginResponse]:
    """Yield what the child prints, as it prints it, from both of its streams."""
    queue: SimpleQueue[pb.RunPluginResponse | None] = SimpleQueue()

    def pump(stream: IO[bytes], *, is_error: bool) -> None:
        while data := os.read(stream.fileno(), 65536):
            response = pb.RunPluginResponse
            queue.put(response(stderr=data) if is_error else response(stdout=data))
        queue.put(None)

    assert child.stdout is not None
    assert child.stderr is not None
    for stream in (child.stdout, child.stderr):
        is_error = {"is_error": stream is child.stderr}
        threading.Thread(target=pump, args=(stream,), kwargs=is_error, daemon=True).start()
    for _ in range(2):
        while (message := queue.get()) is not None:
            yield message


def _cancel(request: Empty, _: grpc.ServicerContext) -> Empty:
    _end_all()
    return request


_CALLS: Final[Mapping[str, tuple[Callable[..., Any], type[Message]]]] = {
    "Handshake": (_handshake, pb.LanguageHandshakeRequest),
    "GetPluginInfo": (lambda *_: PluginInfo(version=version("pulumi")), Empty),
    # Nothing to fetch: every plugin is on PATH already.
    "GetRequiredPackages": (
        lambda *_: pb.GetRequiredPackagesResponse(),
        pb.GetRequiredPackagesRequest,
    ),
    "GetRequiredPlugins": (
        lambda *_: pb.GetRequiredPluginsResponse(),
        pb.GetRequiredPluginsRequest,
    ),
    "GetProgramDependencies": (
        lambda *_: pb.GetProgramDependenciesResponse(),
        pb.GetProgramDependenciesRequest,
    ),
    "About": (_about, pb.AboutRequest),
    "InstallDependencies": (_install, pb.InstallDependenciesRequest),
    "Run": (_run, pb.RunRequest),
    "RunPlugin": (_run_plugin, pb.RunPluginRequest),
    "Cancel": (_cancel, Empty),
}
_STREAMS: Final = frozenset({"InstallDependencies", "RunPlugin"})


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def serve() -> tuple[grpc.Server, int]:
    """Serve on a free loopback port in background threads; return the server and its port.

    The caller keeps the server: it stops as soon as nothing refers to it.
    """
    handlers = {
        name: (
            grpc.unary_stream_rpc_method_handler
            if name in _STREAMS
            else grpc.unary_unary_rpc_method_handler
        )(call, request_deserializer=request.FromString, response_serializer=_serialize)
        for name, (call, request) in _CALLS.items()
    }
    limits = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=32), options=limits)
    service = grpc.method_handlers_generic_handler("pulumirpc.LanguageRuntime", handlers)
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def main() -> None:
    """Print the port, then serve until a signal, or until the engine's process is gone."""
    engine_process = os.getppid()
    server, port = serve()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    # An engine that was killed tells nobody; then the parent becomes another process.
    while os.getppid() == engine_process:
        time.sleep(0.5)
    server.stop(None)
    _quit()


if __name__ == "__main__":
    main()
