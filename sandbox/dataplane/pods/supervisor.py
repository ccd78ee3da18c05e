"""Engines live as long as their pods: the part of a kubelet that KWOK does not play.

A pod that runs gets an engine and our finalizer; a deleted one keeps both until the engine has
drained. The pods' addresses go to a file with every change.
"""

import asyncio
import base64
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import requests

from models.facts.contract import EngineContract
from sandbox.core.kube import Api, ApiError, Object
from sandbox.dataplane.engines.addresses import AddressFile
from sandbox.dataplane.engines.engine import Engine
from sandbox.dataplane.engines.fleet import Fleet
from sandbox.dataplane.engines.settings import EngineSettings, RefusedCommandError
from sandbox.dataplane.pods.pod import FINALIZER, KILLED, EnginePod, refused
from sandbox.dataplane.pods.watching import Pods

PRE_STOP_SEC: Final = 1.0
"""A pre-stop hook sleeps so long at most: endpoints follow at once here, not after seconds."""


class EngineSupervisor:
    """Reconciles engines with pods. Everything runs in the event loop but calls to the server."""

    def __init__(
        self,
        new_api: Callable[[], Api],
        contracts: Mapping[str, EngineContract],
        addresses: AddressFile,
    ) -> None:
        self.fleet = Fleet()
        self._new_api = new_api
        self._contracts = contracts
        self._addresses = addresses
        self._pods: Pods = {}
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._terminating: dict[str, asyncio.Event] = {}

    def changed(self, pods: Pods) -> None:
        """Take the pods as they are now."""
        self._pods = pods
        for pod in pods.values():
            if pod.uid not in self._lives and (pod.running or FINALIZER in pod.finalizers):
                self._terminating[pod.uid] = asyncio.Event()
                self._lives[pod.uid] = asyncio.create_task(self._live(pod))
            if pod.terminating and pod.uid in self._terminating:
                self._terminating[pod.uid].set()
        present = {pod.uid for pod in pods.values()}
        for uid in set(self._lives) - present:
            # Deleted by force, or by somebody who took the finalizer away.
            self._terminating.pop(uid).set()
            del self._lives[uid]

    async def _live(self, pod: EnginePod) -> None:
        """One pod's life, from its first sight to its end."""
        terminating = self._terminating[pod.uid]
        if pod.running and not pod.terminating:
            await self._guarded(self._hold(pod))
            try:
                settings = await asyncio.to_thread(self._settings, pod)
                await self._serve(pod, Engine(settings), terminating)
            except RefusedCommandError as error:
                await self._ended(pod, *refused(error))
                await terminating.wait()
        await self._guarded(self._release(pod))

    def _settings(self, pod: EnginePod) -> EngineSettings:
        api = self._new_api()

        def secret(namespace: str, name: str, key: str) -> str | None:
            body = api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}")
            return None if body is None else _decoded(body, key)

        return pod.settings(self._contracts, secret)

    async def _serve(self, pod: EnginePod, engine: Engine, terminating: asyncio.Event) -> None:
        await engine.start()
        self.fleet.engines[pod.key] = engine
        self._publish()
        deleted = asyncio.create_task(terminating.wait())
        died = asyncio.create_task(engine.dead.wait())
        await asyncio.wait([deleted, died], return_when=asyncio.FIRST_COMPLETED)
        if not terminating.is_set():
            await self._ended(pod, KILLED, "the engine was killed")
            await terminating.wait()
        died.cancel()
        await self._drain(pod, engine)
        if self.fleet.engines.get(pod.key) is engine:
            del self.fleet.engines[pod.key]
        self._publish()

    async def _drain(self, pod: EnginePod, engine: Engine) -> None:
        """Sleep as the pre-stop hook does, then end the engine within what is left of the grace."""
        latest = self._latest(pod)
        if latest is None:
            engine.kill()
            await engine.ended()
            return
        pre_stop = min(latest.pre_stop_sec, PRE_STOP_SEC, latest.grace_sec)
        await asyncio.sleep(pre_stop)
        await engine.drain(latest.grace_sec - pre_stop)

    def _latest(self, pod: EnginePod) -> EnginePod | None:
        latest = self._pods.get(pod.key)
        return latest if latest is not None and latest.uid == pod.uid else None

    async def _hold(self, pod: EnginePod) -> None:
        if FINALIZER not in pod.finalizers:
            await self._merge(pod.path, _finalizers(pod, [*pod.finalizers, FINALIZER]))

    async def _release(self, pod: EnginePod) -> None:
        latest = self._latest(pod)
        if latest is not None:
            rest = [name for name in latest.finalizers if name != FINALIZER]
            await self._merge(pod.path, _finalizers(latest, rest))

    async def _ended(self, pod: EnginePod, code: int, message: str) -> None:
        """Say in the pod's status that the engine ended: it gets no more requests."""
        sys.stderr.write(f"pod {'/'.join(pod.key)}: {message}\n")
        status = (self._latest(pod) or pod).ended_status(code, message)
        await self._guarded(self._merge(f"{pod.path}/status", status))

    async def _merge(self, path: str, body: Object) -> None:
        await asyncio.to_thread(lambda: self._new_api().merge(path, body))

    async def _guarded(self, call: Coroutine[Any, Any, None]) -> None:
        """Await a call to the server; a pod or a server that is gone ends nothing."""
        try:
            await call
        except (ApiError, requests.RequestException) as error:
            sys.stderr.write(f"{error}\n")

    def _publish(self) -> None:
        ports = {
            (self._pods[key].ip, engine.settings.port): engine.port
            for key, engine in self.fleet.engines.items()
            if key in self._pods and self._pods[key].running
        }
        self._addresses.write(ports)


def _finalizers(pod: EnginePod, names: list[str]) -> Object:
    return {"metadata": {"uid": pod.uid, "finalizers": names}}


def _decoded(secret: Object, key: str) -> str | None:
    value = secret.get("data", {}).get(key)
    return None if value is None else base64.b64decode(value).decode()
