"""What an EKS region must have to come up, beyond what its cluster's settings say by themselves."""

import math

from models.aws.network import node_room
from models.core.findings import Finding
from models.core.problems import shown
from models.plan.aws.node_groups import pool_zones
from models.settings.eks import EksClusterSettings
from models.settings.gateway import Gateway
from models.settings.regions import CapacityType, PoolSettings, RegionSettings


def region_problems(region: RegionSettings, gateway: Gateway, path: str) -> list[Finding]:
    """Return what stands against an EKS region; none for a cluster that exists.

    `path` is the region's place in the settings.
    """
    cluster = region.cluster
    if not isinstance(cluster, EksClusterSettings):
        return []
    return [
        *_system_pool(region, path),
        *_addresses(cluster, region, path),
        *_hostname(cluster, gateway, path),
    ]


def _system_pool(region: RegionSettings, path: str) -> list[Finding]:
    """Name service, volumes' driver and operators run somewhere before anything grows a pool."""
    if any(_carries_system(pool) for pool in region.pools):
        return []
    return [
        Finding(
            path=f"{path}.pools",
            message=f"region {region.name!r} has no pool that always runs what the cluster itself "
            "needs (CoreDNS, the volumes' driver, the operators)",
            allowed="a pool without accelerator and taints, not spot, min 1 or more",
            remedy="give cpu-pool min 1 (2 survive the loss of a machine)",
        )
    ]


def _carries_system(pool: PoolSettings) -> bool:
    return (
        pool.accelerator is None
        and not pool.taints
        and pool.capacity_type is not CapacityType.SPOT
        and pool.min >= 1
    )


def _addresses(cluster: EksClusterSettings, region: RegionSettings, path: str) -> list[Finding]:
    """At their maximum a zone's groups hold a share of each pool, rounded up."""
    room = node_room(cluster)
    problems: list[Finding] = []
    for zone in sorted(cluster.zones):
        nodes = sum(_share(cluster, pool, zone) for pool in region.pools)
        if nodes > room:
            problems.append(
                Finding(
                    path=f"{path}.cluster.cidr",
                    message=f"zone {zone} has not enough addresses for the pools' maximum",
                    value=f"{nodes} nodes, in {cluster.cidr}",
                    allowed=f"{room} nodes",
                    remedy="take a larger cidr (/16 at most; it can only be chosen once), lower a "
                    "pool's max, or spread the pools over more zones",
                )
            )
    return problems


def _share(cluster: EksClusterSettings, pool: PoolSettings, zone: str) -> int:
    zones = pool_zones(cluster, pool)
    return math.ceil(pool.max / len(zones)) if zone in zones else 0


def _hostname(cluster: EksClusterSettings, gateway: Gateway, path: str) -> list[Finding]:
    """A record needs a name in its zone; the zone's own name takes no CNAME (RFC 1034, 3.6.2)."""
    if cluster.domain is None:
        return []
    name = gateway.hostname
    if name is not None and name.endswith(f".{cluster.domain}"):
        return []
    return [
        Finding(
            path=f"{path}.cluster.domain",
            message="gateway.hostname is not a name in this zone, so there is nothing to register",
            value=shown(name),
            allowed=f"a name that ends in .{cluster.domain}",
            remedy="set gateway.hostname, or leave domain and zone_id out",
        )
    ]
