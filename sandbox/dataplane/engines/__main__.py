"""`python -m sandbox.dataplane.engines one -- vllm serve ...`: one engine, by hand or for a test.

Prints one line of JSON when it answers: its port, and the port that steers it. SIGTERM drains it.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from catalog.loader import load
from sandbox.dataplane.engines.engine import Engine
from sandbox.dataplane.engines.fleet import Fleet
from sandbox.dataplane.engines.settings import EngineSettings, RefusedCommandError, settings_of

_REFUSED: Final = 2
"""As argparse ends, with which the engine reads its command."""

ONLY: Final = ("local", "engine")
"""Namespace and pod of the engine that is started by hand."""


async def run_one(settings: EngineSettings, port: int, grace_sec: float) -> None:
    """Run one engine until SIGTERM or SIGINT, then drain it."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    engine = Engine(settings, port)
    await engine.start()
    fleet = Fleet()
    fleet.engines[ONLY] = engine
    control = web.AppRunner(fleet.application(), access_log=None)
    await control.setup()
    await web.TCPSite(control, "127.0.0.1", 0).start()
    line = {"port": engine.port, "control": control.addresses[0][1]}
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()
    await ended.wait()
    await engine.drain(grace_sec)
    await control.cleanup()


def main(arguments: Sequence[str] | None = None) -> int:
    """Start what the command line names; 2 where the engine would refuse its command."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.dataplane.engines", description=__doc__
    )
    parser.add_argument("--release", required=True, help="which engines/<release>.yaml")
    parser.add_argument("--port", type=int, default=0, help="loopback port (default: a free one)")
    parser.add_argument("--grace-sec", type=float, default=30.0, help="how long a drain may take")
    parser.add_argument("command", nargs="+", help="the container's command and arguments")
    options = parser.parse_args(arguments)
    engines = load().engines
    if options.release not in engines:
        parser.error(f"--release must be one of {', '.join(engines)}, not {options.release}")
    try:
        settings = settings_of(options.command, os.environ, engines[options.release])
    except RefusedCommandError as error:
        sys.stderr.write(f"vllm serve: error: {error}\n")
        return _REFUSED
    asyncio.run(run_one(settings, options.port, options.grace_sec))
    return 0


if __name__ == "__main__":
    sys.exit(main())
