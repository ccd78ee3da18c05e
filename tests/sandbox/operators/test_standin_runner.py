"""The runner of the stand-ins: what it waits for, what it tries again, and where kinds are."""

import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Final

import pytest

from sandbox.core.kube import ApiError, Object
from sandbox.crds.sources import read_lock
from sandbox.operators.standins.registry import KINDS
from sandbox.operators.standins.runner import Runner

pytestmark = pytest.mark.pure

CLASSES: Final = "/apis/gateway.networking.k8s.io/v1/gatewayclasses"
STATUS: Final = f"{CLASSES}/ours/status"
BUILT_IN: Final = {
    ("v1", "Namespace"): "namespaces",
    ("v1", "Service"): "services",
    ("v1", "Secret"): "secrets",
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("storage.k8s.io/v1", "StorageClass"): "storageclasses",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "horizontalpodautoscalers",
}
"""Kubernetes' own kinds and where its API serves them."""


def test_every_kind_is_looked_for_where_its_definition_serves_it() -> None:
    """A kind at a wrong path is absent forever, and nothing that names it is ever accepted."""
    served = {
        (f"{lock.group}/{version.name}", lock.kind): lock.plural
        for lock in read_lock()
        for version in lock.versions
    }
    assert {(each.group_version, each.kind): each.plural for each in KINDS} == {
        (each.group_version, each.kind): (served | BUILT_IN)[each.group_version, each.kind]
        for each in KINDS
    }


class Server:
    """In the place of an API server with one GatewayClass; `refuse` says what fails at first."""

    def __init__(self, refuse: dict[str, list[int]]) -> None:
        self.refuse = refuse
        self.written: dict[str, Object] = {}
        self.listed: list[str] = []
        self.seen = threading.Event()

    def request(self, method: str, path: str) -> Object:
        """List a collection, or fail as often as was told."""
        self.listed.append(path)
        if codes := self.refuse.get(path):
            raise ApiError(method, path, codes.pop(0), "no")
        metadata = {"name": "ours", "generation": 1}
        spec = {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}
        items = [{"metadata": metadata, "spec": spec}] if path == CLASSES else []
        return {"items": items, "metadata": {"resourceVersion": "1"}}

    def watch(self, path: str, version: str, seconds: int) -> Generator[Object]:
        """Yield nothing for a long time."""
        del path, version, seconds
        threading.Event().wait(60)
        yield from ()

    def merge(self, path: str, body: Object) -> Object:
        """Keep what is written."""
        self.written[path] = body
        self.seen.set()
        return body


def started(server: Server) -> None:
    """Start a runner, whose threads end with this process."""
    made: Callable[[], Any] = lambda: server  # noqa: E731 - typed as the runner wants it
    threading.Thread(target=Runner(made).run, daemon=True).start()


def test_everything_that_is_there_at_the_start_is_judged() -> None:
    server = Server({})
    started(server)
    assert server.seen.wait(20)
    (condition,) = server.written[STATUS]["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Accepted", "True")


def test_nothing_is_judged_before_every_kind_was_listed() -> None:
    """A slow start must not say that what was not listed yet is missing."""
    server = Server({"/api/v1/secrets": [500] * 1000})
    started(server)
    deadline = time.monotonic() + 20
    while "/api/v1/secrets" not in server.listed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.seen.wait(0.5)
    assert server.written == {}


def test_a_kind_without_a_definition_is_empty_and_a_watch_that_is_too_old_begins_anew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """404 is no fault of the server's, and 410 is how a watch ends in the ordinary course."""
    server = Server({"/apis/minio.min.io/v2/tenants": [404], "/api/v1/services": [410, 410]})
    started(server)
    assert server.seen.wait(20)
    assert server.listed.count("/api/v1/services") == 3
    assert capsys.readouterr().err == ""
