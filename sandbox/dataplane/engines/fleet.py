"""All engines of one process by the pods that they are, and the port that steers them."""

from collections.abc import Iterator
from typing import Final

from aiohttp import web
from pydantic import ValidationError

from sandbox.dataplane.engines.behavior import EngineBehavior
from sandbox.dataplane.engines.engine import Engine

_ONE: Final = "/engines/{namespace}/{pod}"


class Fleet:
    """Engines by (namespace, pod), and how they are reached from outside."""

    def __init__(self) -> None:
        self.engines: dict[tuple[str, str], Engine] = {}

    def application(self) -> web.Application:
        """Return the control side: list, steer and kill engines."""
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", self._healthy),
                web.get("/engines", self._list),
                web.patch(f"{_ONE}/behavior", self._steer),
                web.post(f"{_ONE}/kill", self._kill),
            ]
        )
        return application

    async def _healthy(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _list(self, _: web.Request) -> web.Response:
        return web.json_response({"engines": list(self._rows())})

    def _rows(self) -> Iterator[dict[str, object]]:
        for (namespace, pod), engine in sorted(self.engines.items()):
            yield {
                "namespace": namespace,
                "pod": pod,
                "model": engine.settings.names[0],
                "port": engine.port,
                "state": engine.state.value,
                "behavior": engine.behavior.model_dump(),
            }

    async def _steer(self, request: web.Request) -> web.Response:
        """Change some fields of an engine's behavior; the others stay."""
        engine = self._engine(request)
        try:
            # Read as a whole: strict mode takes what JSON can hold, and nothing is half changed.
            change = EngineBehavior.model_validate_json(await request.read())
        except ValidationError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        given = {name: getattr(change, name) for name in change.model_fields_set}
        engine.behavior = engine.behavior.model_copy(update=given)
        return web.json_response(engine.behavior.model_dump())

    async def _kill(self, request: web.Request) -> web.Response:
        engine = self._engine(request)
        engine.kill()
        await engine.ended()
        return web.json_response({"state": engine.state.value})

    def _engine(self, request: web.Request) -> Engine:
        key = (request.match_info["namespace"], request.match_info["pod"])
        engine = self.engines.get(key)
        if engine is None:
            raise web.HTTPNotFound(text=f"there is no engine of pod {'/'.join(key)}")
        return engine
