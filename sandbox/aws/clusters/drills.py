"""What may befall a region, played on a running stack; for drills and tests."""

from sandbox.aws.clusters import registry
from sandbox.aws.clusters.registry import EksEntry
from sandbox.aws.core import faults
from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.faults import ZoneLost
from sandbox.aws.core.home import StandInHome
from sandbox.cluster import cluster, node_sync
from sandbox.core import locks
from sandbox.core.kube import from_kubeconfig


def lose_zone(home: StandInHome, zone: str) -> list[str]:
    """Remove a zone's nodes from every cluster, and let none be had there; return their names.

    Node groups keep their other zones' nodes: an Auto Scaling group would make up for the lost ones
    there, the next update of a node group does so here.
    """
    known = [
        each for each in faults.read(home.faults) if each != ZoneLost(kind="zone-lost", zone=zone)
    ]
    faults.write(home.faults, *known, ZoneLost(kind="zone-lost", zone=zone))
    entries = [each for each in registry.of(home).entries() if zone.startswith(each.region)]
    return [name for entry in entries for name in _without(home, entry, zone)]


def _without(home: StandInHome, entry: EksEntry, zone: str) -> list[str]:
    known = registry.of(home)
    with locks.exclusive(known.lock(entry.sandbox)):
        lost: list[str] = []
        for group, nodes in known.groups(entry.sandbox).items():
            kept = tuple(node for node in nodes if node.zone != zone)
            lost += [node.name for node in nodes if node.zone == zone]
            known.set_group(entry.sandbox, group, kept)
        with from_kubeconfig(cluster.kubeconfig(entry.sandbox)) as api:
            node_sync.reconcile(api, known.nodes(entry.sandbox), lambda _: None)
    return lost


def lose_api(home: StandInHome, region: str) -> list[str]:
    """Stop the control planes of a region, data kept; return the clusters that are out of reach."""
    entries = [each for each in registry.of(home).entries() if each.region == region]
    for entry in entries:
        cluster.stop(entry.sandbox, say=lambda _: None)
    return [entry.cluster for entry in entries]


def delete_node_group(home: StandInHome, cluster_name: str, node_group: str) -> None:
    """Delete a node group beside the stack, as `aws eks delete-nodegroup` would.

    What the API server knows of its nodes goes with the next update or refresh.

    Raises:
        StandInError: no cluster of that name.
        AwsError: no group of that name.

    """
    entries = [each for each in registry.of(home).entries() if each.cluster == cluster_name]
    if not entries:
        known = ", ".join(sorted(each.cluster for each in registry.of(home).entries())) or "none"
        message = f"no EKS cluster is called {cluster_name!r}; there are: {known}"
        raise StandInError(message)
    _, endpoint = home.read_config()
    for entry in entries:
        aws = Aws(region=entry.region, endpoint=endpoint, account=entry.account)
        aws.call("eks", "delete_nodegroup", clusterName=cluster_name, nodegroupName=node_group)
