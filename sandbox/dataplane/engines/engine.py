"""One engine's life: it listens on a loopback port, drains when told to, or dies at once."""

import asyncio
import socket
from enum import StrEnum
from typing import Final

from aiohttp import web

from sandbox.dataplane.engines.api import EngineApi
from sandbox.dataplane.engines.behavior import EngineBehavior
from sandbox.dataplane.engines.scheduler import Scheduler
from sandbox.dataplane.engines.settings import EngineSettings

_LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 512
_KEEP_ALIVE_SEC: Final = 5.0
"""After so long vLLM's server closes an idle connection (VLLM_HTTP_TIMEOUT_KEEP_ALIVE)."""


class EngineState(StrEnum):
    """Where an engine is in its life."""

    RUNNING = "running"
    DRAINING = "draining"
    DEAD = "dead"


class Engine:
    """A listener of its own, so that it can die without the others. Made inside the event loop."""

    def __init__(self, settings: EngineSettings, port: int = 0) -> None:
        """Bind the port (0: a free one); nothing is answered before `start`."""
        self.settings = settings
        self.state = EngineState.RUNNING
        self.dead = asyncio.Event()
        self.scheduler = Scheduler(settings)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((_LOOPBACK, port))
        self.port: int = self._socket.getsockname()[1]
        self._api = EngineApi(settings, self.scheduler, self.kill)
        self._runner = web.AppRunner(
            self._api.application(),
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=_KEEP_ALIVE_SEC,
            shutdown_timeout=0.1,
        )
        self._ending: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Answer requests from now on."""
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket, backlog=_BACKLOG).start()

    @property
    def behavior(self) -> EngineBehavior:
        """How the engine behaves."""
        return self.scheduler.behavior

    @behavior.setter
    def behavior(self, behavior: EngineBehavior) -> None:
        self.scheduler.behavior = behavior

    async def drain(self, grace_sec: float) -> None:
        """Refuse what is new, let what runs finish within the grace, then end."""
        if self.state is EngineState.DEAD:
            return
        self.state = EngineState.DRAINING
        self._api.draining = True
        deadline = asyncio.get_running_loop().time() + grace_sec
        while self._busy() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        if self._busy():
            self.kill()
        else:
            self._end()
        await self.ended()

    def _busy(self) -> bool:
        return bool(self.scheduler.running or self.scheduler.waiting)

    def kill(self) -> None:
        """End as by SIGKILL: the port and every connection are gone, answers stay half."""
        server = self._runner.server
        for connection in [] if server is None else server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        self._end()

    def _end(self) -> None:
        if self._ending is None:
            self.state = EngineState.DEAD
            self.dead.set()
            self._ending = asyncio.ensure_future(self._runner.cleanup())

    async def ended(self) -> None:
        """Wait until nothing of a killed engine is left."""
        if self._ending is not None:
            await asyncio.wait([self._ending])
