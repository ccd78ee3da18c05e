"""Where one stack's stand-in keeps its things, and the refusal of every endpoint but loopback."""

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from sandbox.aws.core.errors import StandInError
from sandbox.crds.sources import DEFAULT_SETS

SWITCH: Final = "SANDBOX"
"""Environment variable that must be `1`: without it nothing of the stand-in serves anybody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaneNeeds:
    """What a region's settings need in a control plane beside nodes."""

    crd_sets: tuple[str, ...] = DEFAULT_SETS
    storage_classes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StandInHome:
    """A folder of mode 0700 outside the tree, one per stack.

    `config.json` says where moto listens and whose it is; `clusters/` holds one file per EKS
    cluster and one per node group; `faults.json` is written by tests and drills.
    """

    root: Path

    @property
    def config(self) -> Path:
        """What the provider reads at its start: label and endpoint."""
        return self.root / "config.json"

    @property
    def clusters(self) -> Path:
        """The registry of EKS clusters (`sandbox.aws.clusters.registry`)."""
        return self.root / "clusters"

    @property
    def faults(self) -> Path:
        """Faults to inject (`sandbox.aws.core.faults`); absent means none."""
        return self.root / "faults.json"

    @property
    def repeated(self) -> Path:
        """Which creations a killed update left open (`sandbox.aws.core.repeats`)."""
        return self.root / "repeated.json"

    @property
    def bin(self) -> Path:
        """The `aws` shim's folder, for PATH."""
        return self.root / "bin"

    @property
    def log(self) -> Path:
        """What the provider has to say beside its answers."""
        return self.root / "logs" / "provider.log"

    def write_config(self, label: str, endpoint: str, planes: Mapping[str, PlaneNeeds]) -> None:
        """Write the configuration; `planes` says what a region's control planes are given.

        Raises `StandInError` for an endpoint that is not loopback.
        """
        require_loopback(endpoint)
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        needs = {region: asdict(each) for region, each in planes.items()}
        content = {"label": label, "endpoint": endpoint, "planes": needs}
        partial = self.config.with_suffix(".partial")
        partial.write_text(json.dumps(content))
        partial.replace(self.config)

    def read_config(self) -> tuple[str, str]:
        """Return label and endpoint; raises `StandInError` where there is none or it is foreign."""
        read = self._read()
        endpoint = str(read["endpoint"])
        require_loopback(endpoint)
        return str(read["label"]), endpoint

    def needs(self, region: str) -> PlaneNeeds:
        """Return what the control planes of an AWS region are given."""
        found = self._read()["planes"].get(region)
        if found is None:
            return PlaneNeeds()
        return PlaneNeeds(**{key: tuple(value) for key, value in found.items()})

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self.config.read_text())
        except (OSError, ValueError) as error:
            message = f"the AWS stand-in has no configuration at {self.config}: run make up first"
            raise StandInError(message) from error


def require_switch() -> None:
    """Raise `StandInError` unless `SANDBOX=1` is set."""
    if os.environ.get(SWITCH) != "1":
        message = (
            "the AWS stand-in serves only where SANDBOX=1 is set; for the real AWS run pulumi with "
            "the official provider, and take this stand-in off PATH and PULUMI_HOME"
        )
        raise StandInError(message)


def require_loopback(endpoint: str) -> None:
    """Raise `StandInError` unless `endpoint` is an http URL of a loopback address.

    A name is refused too, `localhost` among them: what a name means can change.
    """
    parts = urlsplit(endpoint)
    try:
        inside = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        inside = False
    if parts.scheme != "http" or not inside:
        message = (
            f"the AWS stand-in refuses the endpoint {endpoint!r}: it talks to "
            "http://127.0.0.1:PORT and nothing else, so that no real account is ever touched"
        )
        raise StandInError(message)
