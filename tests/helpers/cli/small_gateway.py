"""A gateway with two models on the loopback address, that can be told to answer wrongly."""

import json
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, cast

MODELS: Final = ("small", "large")
KEY: Final = "planted-key-7c2e"
MIB: Final = 2**20


@dataclass
class Behavior:
    """What the gateway does; every field's default is right."""

    models: tuple[str, ...] = MODELS
    needs_key: bool = True
    limit: int = MIB
    unknown: int = 404
    stream_end: str = "data: [DONE]\n\n"
    stream_type: str = "text/event-stream; charset=utf-8"
    completion: dict[str, Any] = field(
        default_factory=lambda: {
            "choices": [{"text": "word"}],
            "usage": {"completion_tokens": 1},
        }
    )
    hosts: list[str] = field(default_factory=list[str])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behavior: Behavior

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _send(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _is_refused(self) -> bool:
        self.behavior.hosts.append(self.headers.get("Host", ""))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.behavior.needs_key and key != KEY:
            self._send(401, {"error": "no key"})
            return True
        return False

    def do_GET(self) -> None:
        """List the models."""
        if not self._is_refused():
            self._send(200, {"data": [{"id": name} for name in self.behavior.models]})

    def do_POST(self) -> None:
        """Complete, refuse, or stream."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._is_refused():
            return
        if len(body) > self.behavior.limit:
            self._send(413, {"error": "too large"})
            return
        asked = cast("dict[str, Any]", json.loads(body))
        if asked["model"] not in self.behavior.models:
            self._send(self.behavior.unknown, {"error": "no such model"})
        elif asked.get("stream"):
            self._stream()
        else:
            self._send(200, self.behavior.completion)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.behavior.stream_type)
        self.send_header("Connection", "close")
        self.end_headers()
        piece = json.dumps({"choices": [{"text": "word"}]})
        self.wfile.write(f"data: {piece}\n\n{self.behavior.stream_end}".encode())
        self.close_connection = True


@contextmanager
def gateway(behavior: Behavior, certificate: Path | None = None) -> Generator[str]:
    """Serve until the block ends, over TLS with a certificate (and its key, in one file)."""
    handler = type("Handler", (_Handler,), {"behavior": behavior})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
