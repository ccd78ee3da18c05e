"""The engine pods of one API server, listed and watched by a thread of its own."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final

import requests

from sandbox.core.kube import Api, ApiError, Object
from sandbox.dataplane.pods.pod import SELECTOR, EnginePod

_WATCH_SEC: Final = 120
_RETRY_SEC: Final = 1.0
_PODS: Final = f"/api/v1/pods?labelSelector={SELECTOR}"

Pods = dict[tuple[str, str], EnginePod]


class PodWatch:
    """Calls `changed` in the event loop with all pods, after the first list and every change."""

    def __init__(self, new_api: Callable[[], Api], changed: Callable[[Pods], None]) -> None:
        self._new_api = new_api
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._pods: Pods = {}

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        api = self._new_api()
        while True:
            try:
                self._list_and_watch(api)
            except (ApiError, requests.RequestException, ValueError):
                # The server is away, or the version is too old: list again.
                time.sleep(_RETRY_SEC)

    def _list_and_watch(self, api: Api) -> None:
        listed = api.request("GET", _PODS)
        items: list[Object] = listed["items"] or []
        self._pods = {pod.key: pod for pod in map(EnginePod, items)}
        self._tell()
        version: str = listed["metadata"]["resourceVersion"]
        while True:
            for event in api.watch(_PODS, version, _WATCH_SEC):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                pod = EnginePod(event["object"])
                if event["type"] == "DELETED":
                    self._pods.pop(pod.key, None)
                else:
                    self._pods[pod.key] = pod
                self._tell()

    def _tell(self) -> None:
        self._loop.call_soon_threadsafe(self._changed, dict(self._pods))
