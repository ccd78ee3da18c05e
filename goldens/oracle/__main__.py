"""One process per GPU type: pretends the card, imports the engine, forks a child per case.

    python -m goldens.oracle JOBS.json OUT.jsonl

JOBS has `card`, `driver` (a stub of libcuda.so.1 or null), `limit_sec` and `cases`. A child that
fails or takes too long gives a line with `error`; the parent goes on.
"""

import ctypes
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from goldens.oracle import device, patches, warm
from goldens.oracle.answer import answer


def main(jobs_file: str, out_file: str) -> int:
    """Run all cases of a job file; each result is one line of `out_file`."""
    jobs: dict[str, Any] = json.loads(Path(jobs_file).read_text(encoding="utf-8"))
    device.prepare_environment()
    if jobs["driver"]:
        ctypes.CDLL(jobs["driver"], mode=ctypes.RTLD_GLOBAL)
    device.pretend(jobs["card"])
    patches.patch_torch()
    device.pretend_platform(jobs["card"])
    configs: list[dict[str, Any]] = [case["config"] for case in jobs["cases"]]
    warm.imports(sorted({str(name) for found in configs for name in found["architectures"]}))
    patches.patch_engine()
    gc.collect()
    gc.freeze()
    with Path(out_file).open("a", encoding="utf-8") as out:
        for case in jobs["cases"]:
            began = time.monotonic()
            result = _in_child(case, jobs["limit_sec"])
            result["seconds"] = round(time.monotonic() - began, 2)
            out.write(json.dumps(result, sort_keys=True) + "\n")
            out.flush()
    return 0


def _in_child(case: dict[str, Any], limit_sec: float) -> dict[str, Any]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(case, write)
    os.close(write)
    text, late = _read(read, limit_sec)
    if late:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    identity = {"id": case["id"]}
    if late:
        return {**identity, "error": f"took more than {limit_sec:g} s"}
    if not text:
        return {**identity, "error": "the process died"}
    return {**identity, **json.loads(text)}


def _read(descriptor: int, limit_sec: float) -> tuple[str, bool]:
    until = time.monotonic() + limit_sec
    pieces: list[bytes] = []
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                return "", True
            piece = pipe.read(65536)
            if not piece:
                return b"".join(pieces).decode(), False
            pieces.append(piece)


def _child(case: dict[str, Any], descriptor: int) -> None:
    try:
        with ExitStack() as stack:
            result = answer(case, stack)
    except BaseException as error:
        traceback.print_exc()
        text = " ".join(str(error).split())
        result = {"error": f"{type(error).__name__}: {text[:600]}"}
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(json.dumps(result).encode())
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
