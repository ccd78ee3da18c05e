"""Where an engine's pod is reached on the loopback address: written here, read by a relay."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class EngineAddresses(Protocol):
    """Loopback ports by the addresses that EndpointSlices hold."""

    def port_of(self, pod_ip: str, port: int) -> int | None:
        """Return the loopback port that stands for `pod_ip`:`port`, or None."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressFile:
    """The addresses in a file: one process writes it whole, others read it at every question."""

    path: Path

    def port_of(self, pod_ip: str, port: int) -> int | None:
        """Return the loopback port that stands for `pod_ip`:`port`; None also without a file."""
        try:
            ports: dict[str, int] = json.loads(self.path.read_text())
        except FileNotFoundError:
            return None
        return ports.get(f"{pod_ip}:{port}")

    def write(self, ports: Mapping[tuple[str, int], int]) -> None:
        """Replace the file; a reader sees the old content or the new one."""
        text = {f"{ip}:{port}": local for (ip, port), local in sorted(ports.items())}
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(text))
        partial.replace(self.path)
