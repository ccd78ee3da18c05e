"""The HTTP side of one engine: vLLM's paths, key, errors, answers and streams."""

import hmac
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

from aiohttp import web

from sandbox.dataplane.engines import answers, bodies
from sandbox.dataplane.engines.answers import EngineAnswer
from sandbox.dataplane.engines.faults import RequestFault, invalid_body
from sandbox.dataplane.engines.scheduler import Scheduler
from sandbox.dataplane.engines.settings import EngineSettings

_MAX_BODY: Final = 64 * 1024 * 1024
"""Limits are the gateway's business: an engine takes what comes."""

_STREAM_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class EngineApi:
    """Handlers over one scheduler; `die` ends the engine as SIGKILL would."""

    def __init__(
        self, settings: EngineSettings, scheduler: Scheduler, die: Callable[[], None]
    ) -> None:
        self.draining = False
        self._settings = settings
        self._scheduler = scheduler
        self._die = die
        self._created = int(time.time())

    def application(self) -> web.Application:
        """Return the application with every path."""
        application = web.Application(client_max_size=_MAX_BODY, middlewares=[self._guard])
        endpoints = self._settings.contract.endpoints
        application.add_routes(
            [
                web.get(endpoints.health, self._health),
                web.route("*", "/ping", self._health),
                web.get("/version", self._version),
                web.get(endpoints.metrics, self._metrics),
                web.get(endpoints.models, self._models),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._completion),
            ]
        )
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse without the key, and put faults into the engine's form."""
        if request.path.startswith("/v1") and not self._authorized(request):
            return web.json_response({"error": "Unauthorized"}, status=401)
        try:
            return await handler(request)
        except RequestFault as fault:
            return web.json_response(fault.body(), status=fault.status)
        except web.HTTPException as error:
            return web.json_response({"detail": error.reason}, status=error.status)

    def _authorized(self, request: web.Request) -> bool:
        keys = self._settings.api_keys
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        known = any(hmac.compare_digest(key.encode(), each.encode()) for each in keys)
        return not keys or (scheme.lower() == "bearer" and known)

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self.draining else 200)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": self._settings.contract.version})

    async def _metrics(self, _: web.Request) -> web.Response:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        text = self._scheduler.metrics.exposition()
        return web.Response(body=text, headers={"Content-Type": kind})

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response(answers.models(self._settings, self._created))

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, chat=True)

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, chat=False)

    async def _complete(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        if self.draining:
            raise RequestFault(503, "ServiceUnavailableError", "The engine is shutting down.")
        if request.content_type != "application/json":
            raise invalid_body("Unsupported Media Type: Only 'application/json' is allowed")
        generation = bodies.read(await request.read(), self._settings, chat=chat)
        self._inject_error()
        answer = EngineAnswer(generation=generation)
        if generation.stream:
            return await self._stream(request, answer)
        progress = self._scheduler.begin()
        parts: list[str] = []
        async with aclosing(self._scheduler.tokens(generation, progress)) as words:
            async for word in words:
                self._die_when_due(len(parts))
                parts.append(word)
        return web.json_response(answer.whole("".join(parts), progress))

    async def _stream(self, request: web.Request, answer: EngineAnswer) -> web.StreamResponse:
        """Send headers at once, as the engine does, then each token as it comes."""
        progress = self._scheduler.begin()
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        await response.prepare(request)
        generation = answer.generation
        if generation.chat:
            await response.write(answers.event(answer.chunk("", first=True)))
        sent = 0
        async with aclosing(self._scheduler.tokens(generation, progress)) as words:
            async for word in words:
                self._die_when_due(sent)
                await response.write(answers.event(answer.chunk(word)))
                sent += 1
        await response.write(answers.event(answer.chunk("", finished=progress.finished)))
        if generation.include_usage:
            await response.write(answers.event(answer.usage_chunk(progress)))
        await response.write(answers.DONE)
        await response.write_eof()
        return response

    def _inject_error(self) -> None:
        behavior = self._scheduler.behavior
        if behavior.error_status is None or behavior.errors == 0:
            return
        if behavior.errors is not None:
            left = {"errors": behavior.errors - 1}
            self._scheduler.behavior = behavior.model_copy(update=left)
        raise RequestFault(behavior.error_status, "InternalServerError", "a fault was ordered")

    def _die_when_due(self, sent: int) -> None:
        due = self._scheduler.behavior.dies_after_tokens
        if due is not None and sent >= due:
            self._die()
            raise web.HTTPInternalServerError
