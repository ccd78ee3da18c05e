"""What stands against a pool of an EKS region: machines, zones, reservations, fast network."""

from collections.abc import Iterator

from models.aws.ami import ami_type
from models.core.findings import Finding, Severity
from models.core.problems import shown
from models.facts.accelerators import Accelerator, InstanceType
from models.plan.aws.node_groups import pool_zones
from models.settings.eks import EksClusterSettings
from models.settings.regions import CapacityType, PoolSettings, RegionSettings


def pool_problems(
    region: RegionSettings,
    pool: PoolSettings,
    path: str,
    machine: InstanceType | None,
    accelerator: Accelerator | None,
) -> list[Finding]:
    """Return everything that stands against a pool, on EKS and on clusters that exist.

    `machine` is the catalog's entry of the pool's instance type, None where it has none.
    """
    found = list(_card_problems(pool, path, machine, accelerator))
    cluster = region.cluster
    if not isinstance(cluster, EksClusterSettings):
        return found + list(_foreign_problems(region, pool, path))
    if pool.instance_type is None:
        problem = Finding(
            path=f"{path}.node",
            message=f"pool {pool.name!r} is in an EKS region and describes a machine of its own",
            remedy="give instance_type: the machines of this region are EC2's",
        )
        return [*found, problem]
    found += _machine_problems(pool, path)
    found += _zone_problems(cluster, pool, path)
    found += _taint_problems(pool, path)
    if machine is not None:
        found += _efa_problems(cluster, pool, path, machine)
    return found


def pool_notices(region: RegionSettings, pool: PoolSettings, path: str) -> list[Finding]:
    """Return a notice where a pool is too small for all of its zones."""
    cluster = region.cluster
    if not isinstance(cluster, EksClusterSettings):
        return []
    zones = pool_zones(cluster, pool)
    if pool.max >= len(zones):
        return []
    message = (
        f"pool {pool.name!r} has max {pool.max} and {len(zones)} zones: its nodes are in "
        f"{', '.join(zones[: pool.max])}; set zones to choose others"
    )
    return [Finding(path=f"{path}.max", message=message, severity=Severity.INFO)]


def _card_problems(
    pool: PoolSettings, path: str, machine: InstanceType | None, accelerator: Accelerator | None
) -> Iterator[Finding]:
    if machine is None or accelerator is None or not machine.gpus:
        return
    carried = [each.name for each in accelerator.instance_types]
    if machine.name not in carried:
        yield Finding(
            path=f"{path}.instance_type",
            message=f"this machine does not carry the pool's accelerator {accelerator.name}",
            value=shown(pool.instance_type),
            allowed=", ".join(carried) or "none: no AWS machine carries it",
            remedy="correct accelerator or instance_type: memory is proved for the accelerator",
        )


def _foreign_problems(region: RegionSettings, pool: PoolSettings, path: str) -> Iterator[Finding]:
    """What only a pool that the stack makes can have; elsewhere it would be ignored."""
    given = {
        "zones": pool.zones is not None,
        "capacity_reservation": pool.capacity_reservation is not None,
        "capacity_type": pool.capacity_type is not CapacityType.ON_DEMAND,
    }
    for key, is_given in given.items():
        if is_given:
            yield Finding(
                path=f"{path}.{key}",
                message=f"the stack does not make the nodes of region {region.name!r}, so that "
                "nothing acts on it",
                value=shown(getattr(pool, key)),
                remedy="remove it, or let the stack make the cluster (kind eks)",
            )


def _machine_problems(pool: PoolSettings, path: str) -> Iterator[Finding]:
    try:
        image = ami_type(pool.ami, pool.instance_type or "")
    except ValueError as error:
        yield Finding(path=f"{path}.instance_type", message=str(error))
        return
    if pool.accelerator is not None and "_ARM_64" in image:
        yield Finding(
            path=f"{path}.instance_type",
            message="the processor of this GPU machine is ARM; the catalog's engine images are "
            "for x86_64",
            value=shown(pool.instance_type),
            remedy="take a GPU type with an x86_64 processor",
        )


def _zone_problems(cluster: EksClusterSettings, pool: PoolSettings, path: str) -> Iterator[Finding]:
    foreign = sorted(set(pool.zones or ()) - set(cluster.zones))
    if foreign:
        yield Finding(
            path=f"{path}.zones",
            message=f"pool {pool.name!r} uses zones in which the cluster has no subnets",
            value=shown(foreign),
            allowed=", ".join(sorted(cluster.zones)),
            remedy="add the zone to the cluster's zones, or take it from the pool's",
        )
    if pool.capacity_reservation is not None and len(pool_zones(cluster, pool)) != 1:
        yield Finding(
            path=f"{path}.zones",
            message=f"the reservation {pool.capacity_reservation} lies in one zone, and pool "
            f"{pool.name!r} uses {len(pool_zones(cluster, pool))}",
            allowed=", ".join(sorted(cluster.zones)),
            remedy="name the reservation's zone: zones with one entry",
        )


def _taint_problems(pool: PoolSettings, path: str) -> Iterator[Finding]:
    keys = [taint.key for taint in pool.all_taints]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield Finding(
            path=f"{path}.taints",
            message=f"pool {pool.name!r} has two taints with the key {key!r}; the autoscaler "
            "learns of one per key and would start nodes that take no pod",
            value=shown(key),
            remedy="give each taint its own key",
        )


def _efa_problems(
    cluster: EksClusterSettings, pool: PoolSettings, path: str, machine: InstanceType
) -> Iterator[Finding]:
    if not pool.efa:
        return
    if not machine.efa:
        yield Finding(
            path=f"{path}.efa",
            message=f"{machine.name} has no EFA interfaces",
            value="true",
            allowed="types with efa in catalog/accelerators.yaml",
            remedy="take a type that has them, or leave efa out",
        )
    if len(pool_zones(cluster, pool)) != 1:
        yield Finding(
            path=f"{path}.zones",
            message=f"pool {pool.name!r} has efa and {len(pool_zones(cluster, pool))} zones; EFA "
            "connects the machines of one zone",
            allowed=", ".join(sorted(cluster.zones)),
            remedy="name one zone, or leave efa out",
        )
