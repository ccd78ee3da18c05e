"""Runs one Pulumi program under `run_in_stack`, for the language host; needs only `pulumi`.

It is started with the project's own interpreter, so it may import nothing of this project.
"""

import asyncio
import json
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulumi
import pulumi.runtime

BAIL_EXIT_CODE = 32
"""Tells the host that the user has already seen the error: it must not be reported again."""


def _trace_from(program: str) -> str:
    """Return the current traceback without the frames above the user's own program."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    folder = os.path.realpath(program)
    for index, frame in enumerate(frames):
        if os.path.realpath(frame.filename).startswith(folder):
            return traceback.format_exc(limit=index - len(frames))
    return traceback.format_exc()


def main(request: dict[str, Any]) -> int:
    """Run `request["program"]` with the settings of `request`; return the exit code."""
    pulumi.runtime.set_all_config(
        pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env()
    )
    settings: dict[str, Any] = request["settings"]
    pulumi.runtime.configure(pulumi.runtime.Settings(**settings))
    program = str(request["program"])
    sys.argv = [program, *request["args"]]
    # A program that ends early leaves futures nobody waits for; the engine has the real error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    workers = max(int(settings["parallel"] or 1), 1) * 4
    executor = ThreadPoolExecutor(max_workers=min(workers, 512))
    loop.set_default_executor(executor)
    try:
        loop.run_until_complete(
            pulumi.runtime.run_in_stack(lambda: _run_path(program)),
        )
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return BAIL_EXIT_CODE
    except Exception:
        pulumi.log.error(f"Program failed with an unhandled exception:\n{_trace_from(program)}")
        return BAIL_EXIT_CODE
    finally:
        executor.shutdown(wait=True)
        loop.close()
    return 0


def _run_path(program: str) -> None:
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    exit_code = main(json.loads(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(exit_code)
