"""Choosing loopback ports once per sandbox and keeping them, so that a kubeconfig stays valid."""

import json
import random
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sandbox.core import locks
from sandbox.core.errors import SandboxError

# Below the range that the kernel hands to outgoing connections: a port that was free at the first
# start must still be free at a restart, whatever connections come and go in between.
_FIRST: Final = 16000
_LAST: Final = 29999
_RELEASE_TIMEOUT_SEC: Final = 5.0


def is_free(port: int) -> bool:
    """Tell whether nothing listens on `port` of the loopback address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def require_free(port: int, owner: str) -> None:
    """Wait for `port` to become free; raises `SandboxError` when somebody keeps it.

    The threads of a killed process hold its sockets for some moments after it counts as dead.
    """
    deadline = time.monotonic() + _RELEASE_TIMEOUT_SEC
    while not is_free(port):
        if time.monotonic() > deadline:
            raise SandboxError(
                f"port {port} of {owner} is taken by a process that this sandbox did not start: "
                "end it, or purge the sandbox to choose new ports"
            )
        time.sleep(0.05)


def _taken(home: Path) -> set[int]:
    taken: set[int] = set()
    for path in home.glob("*/ports.json"):
        try:
            taken |= set(json.loads(path.read_text()).values())
        except (OSError, json.JSONDecodeError):
            continue
    return taken


def ensure(home: Path, sandbox: Path, roles: Iterable[str]) -> dict[str, int]:
    """Return a port per role, from `sandbox`/ports.json or newly chosen and written there.

    Ports that another sandbox under `home` has reserved are avoided even while it is stopped.
    """
    path = sandbox / "ports.json"
    with locks.exclusive(home / ".ports.lock"):
        ports: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
        avoid = _taken(home) | set(ports.values())
        for role in roles:
            if role not in ports:
                ports[role] = _choose(avoid)
                avoid.add(ports[role])
        path.write_text(json.dumps(ports))
    return ports


def chosen(sandbox: Path) -> dict[str, int]:
    """Return the ports of a sandbox that was started, by role."""
    return json.loads((sandbox / "ports.json").read_text())


def _choose(avoid: set[int]) -> int:
    for port in random.sample(range(_FIRST, _LAST + 1), k=_LAST + 1 - _FIRST):
        if port not in avoid and is_free(port):
            return port
    raise SandboxError(
        f"no free port on 127.0.0.1 between {_FIRST} and {_LAST}: stop something, or purge old "
        "sandboxes (python -m sandbox stop --name NAME --purge)"
    )
