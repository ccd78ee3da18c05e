"""Stub engines in a real control plane: they come, drain and go with their pods."""

import threading
from collections.abc import Generator
from dataclasses import dataclass

import pytest
import requests

from models.core.names import engine_labels
from sandbox.cluster import cluster
from sandbox.cluster.cluster import Sandbox
from sandbox.cluster.nodes import NodeSpec
from sandbox.core.kube import Api, Object
from sandbox.dataplane.engines.addresses import AddressFile
from sandbox.toolchain import Toolchain
from tests.helpers.sandbox.cluster import conditions, namespace, unique_name, until
from tests.helpers.sandbox.stub_engines import events

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

NODE = NodeSpec(name="node-0", cpu=16, memory_mib=65536, zone="a")
MODEL = "small"


@pytest.fixture(scope="module")
def box(tools: Toolchain) -> Generator[Sandbox]:
    """A control plane without CRDs that runs engines."""
    name = unique_name()
    try:
        yield cluster.start(name, [NODE], crd_sets=(), tools=tools, engines=True)
    finally:
        cluster.stop(name, purge=True)


@dataclass(frozen=True, slots=True)
class Place:
    """One namespace with engines."""

    box: Sandbox
    api: Api
    space: str

    def pod(self, name: str) -> Object | None:
        """Return a pod."""
        return self.api.get(f"/api/v1/namespaces/{self.space}/pods/{name}")

    def url(self, name: str) -> str:
        """Wait for a pod's engine; return its address on this machine."""
        ports: list[int] = []

        def reachable() -> bool:
            address = (self.pod(name) or {}).get("status", {}).get("podIP", "")
            port = AddressFile(path=self.box.engine_addresses).port_of(address, 8000)
            ports[:] = [] if port is None else [port]
            return bool(ports)

        until(reachable, f"an engine of pod {name}")
        return f"http://127.0.0.1:{ports[0]}"

    def steer(self, name: str, **fields: object) -> None:
        """Change the behavior of a pod's engine."""
        url = f"{self.box.engine_control}/engines/{self.space}/{name}/behavior"
        requests.patch(url, json=fields, timeout=10).raise_for_status()


@pytest.fixture
def place(box: Sandbox) -> Place:
    """A new namespace."""
    api = box.api()
    return Place(box, api, namespace(api))


def stateful_set(place: Place, *more: str, replicas: int = 1) -> None:
    """Make engines as the platform's components make them, without what they mount."""
    labels = engine_labels(MODEL)
    container: Object = {
        "name": "vllm",
        "image": "registry.invalid/vllm:1",
        "command": ["vllm", "serve"],
        "args": ["/models/m", f"--served-model-name={MODEL}", "--max-model-len=2048", *more],
        "env": [
            {
                "name": "VLLM_API_KEY",
                "valueFrom": {"secretKeyRef": {"name": "key", "key": "k", "optional": True}},
            }
        ],
    }
    template: Object = {
        "metadata": {"labels": labels, "annotations": {"triplane.dev/engine-version": "0.24.0"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 20},
    }
    spec = {"replicas": replicas, "serviceName": MODEL, "selector": {"matchLabels": labels}}
    body = {"metadata": {"name": MODEL}, "spec": {**spec, "template": template}}
    path = f"/apis/apps/v1/namespaces/{place.space}/statefulsets"
    place.api.create(path, {"apiVersion": "apps/v1", "kind": "StatefulSet", **body})


def chat(url: str, *, stream: bool = False, key: str = "") -> requests.Response:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    path = f"{url}/v1/chat/completions"
    return requests.post(path, json=body, headers=headers, stream=stream, timeout=30)


def test_each_pod_has_an_engine_of_its_own(place: Place) -> None:
    stateful_set(place, replicas=2)
    urls = [place.url(f"{MODEL}-{index}") for index in range(2)]
    assert len(set(urls)) == 2
    assert [chat(url).status_code for url in urls] == [200, 200]


def test_a_key_comes_from_the_secret_that_the_container_names(place: Place) -> None:
    # base64 of "right"
    secret = {"metadata": {"name": "key"}, "data": {"k": "cmlnaHQ="}}
    kind = {"apiVersion": "v1", "kind": "Secret"}
    place.api.create(f"/api/v1/namespaces/{place.space}/secrets", {**kind, **secret})
    stateful_set(place)
    url = place.url(f"{MODEL}-0")
    assert chat(url).status_code == 401
    assert chat(url, key="right").status_code == 200


def test_a_deleted_pod_finishes_its_stream_and_its_successor_serves(place: Place) -> None:
    stateful_set(place)
    name = f"{MODEL}-0"
    url = place.url(name)
    place.steer(name, inter_token_sec=0.3)
    uid = (place.pod(name) or {})["metadata"]["uid"]
    response = chat(url, stream=True)
    received: list[Object] = []
    reader = threading.Thread(target=lambda: received.extend(events(response)))
    reader.start()
    place.api.delete(f"/api/v1/namespaces/{place.space}/pods/{name}")
    until(lambda: requests.get(f"{url}/health", timeout=5).status_code == 503, "it drains")
    during = place.pod(name)
    assert during is not None
    assert during["metadata"]["uid"] == uid, "the pod is there while its engine drains"
    reader.join(timeout=20)
    # 16 tokens, and a chunk each for role and end.
    assert len(received) == 18
    until(lambda: (place.pod(name) or {}).get("metadata", {}).get("uid") not in (uid, None), "new")
    until(lambda: chat(place.url(name)).status_code == 200, "the successor serves")
    with pytest.raises(requests.ConnectionError):
        chat(url)


def test_an_engine_that_dies_makes_its_pod_unready(place: Place) -> None:
    """So its endpoint goes, as when the kubelet sees a container end."""
    stateful_set(place, replicas=2)
    first, second = (place.url(f"{MODEL}-{index}") for index in range(2))
    requests.post(
        f"{place.box.engine_control}/engines/{place.space}/{MODEL}-0/kill", timeout=10
    ).raise_for_status()
    with pytest.raises(requests.ConnectionError):
        chat(first)
    assert chat(second).status_code == 200

    def ready() -> str:
        return conditions(place.pod(f"{MODEL}-0")).get("Ready", {}).get("status", "")

    until(lambda: ready() == "False", "the pod is not ready")
    place.api.delete(f"/api/v1/namespaces/{place.space}/pods/{MODEL}-0")
    until(lambda: ready() == "True", "its successor is")
    assert chat(place.url(f"{MODEL}-0")).status_code == 200


def test_an_option_that_the_release_lacks_ends_the_container(place: Place) -> None:
    stateful_set(place, "--no-such-option")

    def ended() -> Object:
        pod = place.pod(f"{MODEL}-0") or {}
        statuses: list[Object] = pod.get("status", {}).get("containerStatuses", [])
        return statuses[0].get("state", {}).get("terminated", {}) if statuses else {}

    until(lambda: ended().get("exitCode") == 2, "the container has ended")
    assert "no option --no-such-option" in ended()["message"]
    path = f"/apis/apps/v1/namespaces/{place.space}/statefulsets/{MODEL}"
    place.api.delete(path)
    until(lambda: place.pod(f"{MODEL}-0") is None, "a refused pod can be deleted")


def test_engines_come_back_with_their_sandbox(place: Place) -> None:
    """A killed supervisor leaves finalizers: the next start serves and releases the same pods."""
    stateful_set(place)
    name = f"{MODEL}-0"
    before = place.url(name)
    box = place.box
    cluster.stop(box.name)
    again = cluster.start(box.name, [NODE], crd_sets=(), tools=box.toolchain)
    assert cluster.status(box.name).processes["engines"] is not None
    there = Place(again, again.api(), place.space)
    until(lambda: chat(there.url(name)).status_code == 200, "the engine serves again")
    with pytest.raises(requests.ConnectionError):
        chat(before)
    there.api.delete(f"/apis/apps/v1/namespaces/{place.space}/statefulsets/{MODEL}")
    until(lambda: there.pod(name) is None, "the pod can go")
