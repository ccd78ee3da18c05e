"""A stub engine as a process, and the requests that tests send to it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests

from sandbox.core.paths import PROJECT_ROOT

ARGUMENTS = ("/models/m/abc", "--served-model-name=small", "--max-model-len=512")


@dataclass(frozen=True, kw_only=True, slots=True)
class StubEngine:
    """A running engine."""

    process: "subprocess.Popen[str]"
    url: str
    control: str

    def chat(self, text: str, *, stream: bool = False, **fields: object) -> requests.Response:
        """Send a chat request with one message."""
        body = {"model": "small", "messages": [{"role": "user", "content": text}], **fields}
        url = f"{self.url}/v1/chat/completions"
        return requests.post(url, json={**body, "stream": stream}, stream=stream, timeout=20)

    def steer(self, **fields: object) -> None:
        """Change the engine's behavior."""
        url = f"{self.control}/engines/local/engine/behavior"
        requests.patch(url, json=fields, timeout=10).raise_for_status()

    def metric(self, series: str) -> float:
        """Return the value of a series; a name without labels is summed over them."""
        text = requests.get(f"{self.url}/metrics", timeout=10).text
        lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        values = [float(value) for name, _, value in lines if name.partition("{")[0] == series]
        assert values, f"there is no series {series}"
        return sum(values)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)


def command(arguments: Sequence[str], release: str = "0.24.0") -> list[str]:
    """Return the command of a process with one engine."""
    program = [sys.executable, "-m", "sandbox.dataplane.engines", f"--release={release}"]
    return [*program, "--grace-sec=5", "--", "vllm", "serve", *arguments]


@contextmanager
def stub_engine(
    *more: str, variables: Mapping[str, str] | None = None, release: str = "0.24.0"
) -> Generator[StubEngine]:
    """Start an engine with more arguments; it is killed at the end."""
    process = subprocess.Popen(
        command((*ARGUMENTS, *more), release),
        cwd=PROJECT_ROOT,
        env={**os.environ, **(variables or {})},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ports: dict[str, int] = json.loads(process.stdout.readline())
        yield StubEngine(
            process=process,
            url=f"http://127.0.0.1:{ports['port']}",
            control=f"http://127.0.0.1:{ports['control']}",
        )
    finally:
        process.kill()
        process.communicate()


def events(response: requests.Response) -> list[dict[str, Any]]:
    """Return a stream's events; fails where it does not end as one should."""
    lines = [line.decode() for line in response.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
