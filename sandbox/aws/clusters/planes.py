"""EKS clusters as sandbox control planes, node groups as their simulated nodes."""

import base64
import json
from pathlib import Path

from sandbox.aws.clusters import registry
from sandbox.aws.clusters.registry import EksEntry
from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.home import StandInHome
from sandbox.cluster import cluster, node_sync, storage_classes
from sandbox.cluster.nodes import NodeSpec
from sandbox.cluster.pki import Pki
from sandbox.core import locks
from sandbox.core.kube import from_kubeconfig
from sandbox.core.paths import sandboxes_home


def _home(aws: Aws) -> StandInHome:
    if aws.home is None:
        message = "the AWS stand-in has no home: EKS clusters need one for their control planes"
        raise StandInError(message)
    return aws.home


def start(aws: Aws, name: str) -> EksEntry:
    """Start the control plane that plays a cluster, or bring it up again with its nodes."""
    known = registry.of(_home(aws))
    sandbox = registry.sandbox_name(aws.label, aws.account, aws.region, name)
    keys = Pki(root=sandboxes_home() / sandbox / "pki")
    entry = EksEntry(
        cluster=name,
        region=aws.region,
        account=aws.account,
        sandbox=sandbox,
        kubeconfig=str(keys.kubeconfig("admin")),
    )
    # Recorded first: what was started and not recorded would never be stopped.
    known.add(entry)
    _start(_home(aws), entry)
    return entry


def _start(home: StandInHome, entry: EksEntry) -> None:
    known = registry.of(home)
    _, endpoint = home.read_config()
    needs = home.needs(entry.region)
    with locks.exclusive(known.lock(entry.sandbox)):
        running = cluster.start(
            entry.sandbox,
            known.nodes(entry.sandbox),
            crd_sets=needs.crd_sets,
            aws_endpoint=endpoint,
            aws_account=entry.account,
            say=_log(home),
        )
        storage_classes.provide(running.api(), needs.storage_classes)


def restart(home: StandInHome) -> None:
    """Bring up every recorded control plane that does not run; nodes as they were."""
    for entry in registry.of(home).entries():
        _start(home, entry)


def stop(aws: Aws, name: str) -> None:
    """Stop the control plane of a cluster and delete its data."""
    home = _home(aws)
    known = registry.of(home)
    entry = known.find(aws.region, aws.account, name)
    if entry is not None:
        cluster.stop(entry.sandbox, purge=True, say=_log(home))
        known.remove(entry.sandbox)


def entry_of(aws: Aws, name: str) -> EksEntry:
    """Return a cluster's entry; raises `StandInError` where it has no control plane."""
    found = registry.of(_home(aws)).find(aws.region, aws.account, name)
    if found is None:
        message = f"EKS cluster {name} in {aws.region} has no control plane in the sandbox"
        raise StandInError(message)
    return found


def address(entry: EksEntry) -> tuple[str, str]:
    """Return the API's URL and its CA in base64, as EKS describes a cluster."""
    read = json.loads(cluster.kubeconfig(entry.sandbox).read_text())
    found = read["clusters"][0]["cluster"]
    ca = str(found["certificate-authority-data"])
    base64.b64decode(ca, validate=True)
    return str(found["server"]), ca


def set_nodes(aws: Aws, name: str, group: str, nodes: tuple[NodeSpec, ...] | None) -> None:
    """Make a node group's nodes exactly these; None drains and removes them."""
    home, entry = _home(aws), entry_of(aws, name)
    known = registry.of(home)
    with locks.exclusive(known.lock(entry.sandbox)):
        if nodes is None:
            known.remove_group(entry.sandbox, group)
        else:
            known.set_group(entry.sandbox, group, nodes)
        with from_kubeconfig(cluster.kubeconfig(entry.sandbox)) as api:
            node_sync.reconcile(api, known.nodes(entry.sandbox), _log(home))


def _log(home: StandInHome) -> "Log":
    home.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Log(home.log)


class Log:
    """Appends lines to a file: what the plugin prints would land in somebody's preview."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, text: str) -> None:
        """Write one line."""
        with self._path.open("a") as file:
            file.write(f"{text}\n")
