"""The stand-in for AWS without a process: moto and what completes it answer within the test.

Requests go from boto3 straight into the WSGI application that `python -m sandbox.aws.server`
serves. Control planes are not started: what an EKS cluster would have is written down instead.
"""

import base64
import importlib
import io
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

from botocore.awsrequest import AWSResponse

from sandbox.aws.clusters import planes
from sandbox.aws.clusters.registry import EksEntry
from sandbox.aws.core.api import Aws
from sandbox.aws.core.home import StandInHome
from sandbox.cluster.nodes import NodeSpec

ACCOUNT: Final = "111122223333"
REGION: Final = "us-east-1"
_ENDPOINT: Final = "http://127.0.0.1:9"
"""Nobody listens there, and nobody is asked."""


class _Body(io.BytesIO):
    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        """Give the whole answer, as urllib3 does in parts."""
        yield self.read()


@dataclass
class Planes:
    """In the place of control planes: which were started, and the nodes of each node group."""

    started: list[str] = field(default_factory=list[str])
    nodes: dict[str, tuple[NodeSpec, ...]] = field(default_factory=dict[str, tuple[NodeSpec, ...]])

    def start(self, aws: Aws, name: str) -> EksEntry:
        """Note a cluster."""
        self.started.append(name)
        return self.entry(aws, name)

    def stop(self, _: Aws, name: str) -> None:
        """Forget a cluster, if it is known."""
        if name in self.started:
            self.started.remove(name)

    def entry(self, aws: Aws, name: str) -> EksEntry:
        """Return what is known of a cluster."""
        place = {"region": aws.region, "account": aws.account}
        return EksEntry(cluster=name, sandbox=name, kubeconfig="", **place)

    def address(self, entry: EksEntry) -> tuple[str, str]:
        """Return an address that leads nowhere, and a certificate that is none."""
        return f"https://{entry.cluster}.invalid", base64.b64encode(b"none").decode()

    def set_nodes(
        self, _aws: Aws, _name: str, group: str, nodes: tuple[NodeSpec, ...] | None
    ) -> None:
        """Note the nodes of a group."""
        if nodes is None:
            self.nodes.pop(group, None)
        else:
            self.nodes[group] = nodes


@contextmanager
def served(home: Path) -> Generator[tuple[Aws, Planes]]:
    """Yield an account that nothing is in, and what stands for its control planes."""
    # Read once, at moto's import: roles refer to AWS's managed policies.
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    moto: Any = importlib.import_module("moto.moto_server.werkzeug_app")
    application_class = importlib.import_module("sandbox.aws.server.app").Application
    _forget()
    stand_in = StandInHome(root=home)
    application = application_class(
        moto.DomainDispatcherApplication(moto.create_backend_app),
        faults_file=stand_in.faults,
        generation="test",
        account=ACCOUNT,
    )
    made = Aws._make  # pyright: ignore[reportPrivateUsage] - where a client gets its handlers

    def in_process(aws: Aws, service: str) -> Any:
        client = made(aws, service)

        def answer(request: Any, **_: Any) -> AWSResponse:
            return _answer(application, request)

        client.meta.events.register_last("before-send", answer)
        return client

    stand_ins = Planes()
    with ExitStack() as stack:
        stack.enter_context(patch.object(Aws, "_make", in_process))
        for name, call in (
            ("start", stand_ins.start),
            ("stop", stand_ins.stop),
            ("entry_of", stand_ins.entry),
            ("address", stand_ins.address),
            ("set_nodes", stand_ins.set_nodes),
        ):
            stack.enter_context(patch.object(planes, name, call))
        stack.callback(_forget)
        yield Aws(region=REGION, endpoint=_ENDPOINT, account=ACCOUNT, home=stand_in), stand_ins


def _forget() -> None:
    """Empty moto: its backends live as long as the interpreter."""
    backends: Any = importlib.import_module("moto.core.base_backend")
    for instance in list(backends.BackendDict._instances):  # pyright: ignore[reportPrivateUsage] - its backends are listed nowhere else
        instance.reset()


def _answer(application: Any, request: Any) -> AWSResponse:
    parts = urlsplit(str(request.url))
    body = request.body or b""
    body = body.encode() if isinstance(body, str) else body
    body = body if isinstance(body, bytes) else body.read()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": unquote(parts.path),
        "RAW_URI": parts.path + (f"?{parts.query}" if parts.query else ""),
        "QUERY_STRING": parts.query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "9",
        "SCRIPT_NAME": "",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": parts.netloc,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
    }
    for name, value in request.headers.items():
        key = name.upper().replace("-", "_")
        text = value.decode() if isinstance(value, bytes) else value
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = text
    told: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: object) -> None:
        told.append((int(status.split()[0]), dict(headers)))

    content = b"".join(application(environ, start))
    status, headers = told[-1]
    return AWSResponse(request.url, status, headers, _Body(content))
