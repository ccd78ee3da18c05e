"""Watching the cluster and writing what the stand-ins say.

Everything is evaluated again after every change: clusters here are small, and a verdict depends on
objects of many kinds. Nothing is written before every kind has been listed once, so that a slow
start never says that something is missing.
"""

import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import requests

from sandbox.core.kube import Api, ApiError, Object
from sandbox.operators.standins.conditions import stamped
from sandbox.operators.standins.objects import (
    Objects,
    label,
    section,
)
from sandbox.operators.standins.registry import KINDS, StandInKind

_WATCH_SEC: Final = 120
_RETRY_SEC: Final = 1.0
_ABSENT_RETRY_SEC: Final = 3.0
"""Between looks for a kind whose CRD is not loaded."""
_DEBOUNCE_SEC: Final = 0.05
_RESYNC_SEC: Final = 30.0


class Runner:
    """One watch thread per kind, and the thread that evaluates."""

    def __init__(self, new_api: Callable[[], Api]) -> None:
        self._new_api = new_api
        self._objects = Objects()
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._unlisted = {kind.kind for kind in KINDS}

    def run(self) -> None:
        """Watch and evaluate until the process is ended."""
        for kind in KINDS:
            threading.Thread(target=self._watch_forever, args=(kind,), daemon=True).start()
        api = self._new_api()
        while True:
            self._changed.wait(_RESYNC_SEC)
            time.sleep(_DEBOUNCE_SEC)
            self._changed.clear()
            if not self._unlisted:
                self._evaluate(api)

    def _watch_forever(self, kind: StandInKind) -> None:
        api = self._new_api()
        while True:
            try:
                self._list_and_watch(api, kind)
            except ApiError as error:
                if error.status == 404:
                    self._store(kind, [])
                    time.sleep(_ABSENT_RETRY_SEC)
                elif error.status != 410:
                    _note(f"{kind.kind}: {error}")
                    time.sleep(_RETRY_SEC)
            except (requests.RequestException, ValueError):
                # The API server is away or cut a line short: it will be back, or we are ended.
                time.sleep(_RETRY_SEC)

    def _list_and_watch(self, api: Api, kind: StandInKind) -> None:
        listed = api.request("GET", kind.collection)
        items: list[Object] = listed["items"] or []
        # Items of a list carry neither kind nor apiVersion.
        for item in items:
            item["kind"], item["apiVersion"] = kind.kind, kind.group_version
        self._store(kind, items)
        version: str = listed["metadata"]["resourceVersion"]
        while True:
            for event in api.watch(kind.collection, version, _WATCH_SEC):
                obj: Object = event["object"]
                version = obj["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._take(event["type"], obj)

    def _store(self, kind: StandInKind, items: list[Object]) -> None:
        with self._lock:
            self._objects.replace(kind.kind, items)
            self._unlisted.discard(kind.kind)
        self._changed.set()

    def _take(self, event: str, obj: Object) -> None:
        with self._lock:
            if event == "DELETED":
                self._objects.drop(obj)
            else:
                self._objects.put(obj)
        self._changed.set()

    def _evaluate(self, api: Api) -> None:
        with self._lock:
            objects = Objects(items=dict(self._objects.items))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for kind in KINDS:
            for obj in objects.all(kind.kind) if kind.stand_in else ():
                self._update(api, kind, obj, objects, now)

    def _update(self, api: Api, kind: StandInKind, obj: Object, objects: Objects, now: str) -> None:
        assert kind.stand_in is not None
        current = section(obj, "status")
        wanted = kind.stand_in.status(obj, objects)
        if wanted is None:
            return
        status = stamped(wanted, current, now)
        if all(current.get(key) == value for key, value in status.items()):
            return
        try:
            api.merge(kind.status_path(obj), {"status": status})
        except (ApiError, requests.RequestException) as error:
            # Gone in the meantime, or the server is away: the next event or resync tries again.
            _note(f"{label(obj)}: status not written: {error}")


def _note(text: str) -> None:
    sys.stderr.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}\n")
