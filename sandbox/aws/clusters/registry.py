"""Which EKS clusters have a control plane here, and which simulated nodes each node group has.

Files in the stand-in's home, since three kinds of processes ask: the provider, the `aws` shim that
gives out tokens, and the commands that start, diagnose and remove a stack.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from sandbox.aws.core.home import StandInHome
from sandbox.cluster.nodes import NodeSpec

_NODES: Final = TypeAdapter(tuple[NodeSpec, ...])
_NAME_LIMIT: Final = 40
_DIGEST: Final = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class EksEntry:
    """An EKS cluster, the control plane that plays it, and its administrator's kubeconfig."""

    cluster: str
    region: str
    account: str
    sandbox: str
    kubeconfig: str


def sandbox_name(label: str, account: str, region: str, cluster: str) -> str:
    """Return a control plane's name: of this stack, account, region and cluster alone.

    The digest keeps apart what shortening would make equal, and other stacks' regions.
    """
    whole = f"{label}/{account}/{region}/{cluster}"
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_DIGEST]
    readable = re.sub(r"[^a-z0-9-]+", "-", f"{label}-{cluster}".lower())
    return f"{readable[: _NAME_LIMIT - _DIGEST - 1].strip('-')}-{digest}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registry:
    """The files below `root`: one folder per control plane."""

    root: Path

    def add(self, entry: EksEntry) -> None:
        """Record a cluster."""
        folder = self._folder(entry.sandbox)
        (folder / "groups").mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / "cluster.json", json.dumps(asdict(entry)))

    def remove(self, sandbox: str) -> None:
        """Forget a cluster and its node groups."""
        shutil.rmtree(self._folder(sandbox), ignore_errors=True)

    def entries(self) -> Iterator[EksEntry]:
        """Yield every recorded cluster, by the names of their control planes."""
        for path in sorted(self.root.glob("*/cluster.json")):
            yield EksEntry(**json.loads(path.read_text()))

    def find(self, region: str, account: str, cluster: str) -> EksEntry | None:
        """Return a cluster's entry; None where it has no control plane."""
        wanted = (region, account, cluster)
        for each in self.entries():
            if (each.region, each.account, each.cluster) == wanted:
                return each
        return None

    def set_group(self, sandbox: str, group: str, nodes: tuple[NodeSpec, ...]) -> None:
        """Record the nodes of a node group."""
        folder = self._folder(sandbox) / "groups"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / f"{group}.json", _NODES.dump_json(nodes).decode())

    def remove_group(self, sandbox: str, group: str) -> None:
        """Forget a node group."""
        (self._folder(sandbox) / "groups" / f"{group}.json").unlink(missing_ok=True)

    def groups(self, sandbox: str) -> dict[str, tuple[NodeSpec, ...]]:
        """Return the nodes of each node group."""
        paths = sorted((self._folder(sandbox) / "groups").glob("*.json"))
        return {path.stem: _NODES.validate_json(path.read_bytes()) for path in paths}

    def nodes(self, sandbox: str) -> tuple[NodeSpec, ...]:
        """Return the nodes that a control plane is to have: those of all its node groups."""
        return tuple(node for nodes in self.groups(sandbox).values() for node in nodes)

    def lock(self, sandbox: str) -> Path:
        """Return the lock under which a control plane's nodes are brought into line."""
        return self.root / f"{sandbox}.lock"

    def _folder(self, sandbox: str) -> Path:
        return self.root / sandbox


def of(home: StandInHome) -> Registry:
    """Return a stack's registry."""
    return Registry(root=home.clusters)


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)
