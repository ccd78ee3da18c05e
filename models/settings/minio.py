"""MinIO in a region: pools of drives, and the erasure sets that they make.

A pool's servers and drives are fixed at its first start (MINIO-01): more room is a further pool.
"""

from typing import Annotated, Final

from pydantic import Field, PositiveInt

from models.core.base import DnsLabel, Model

SET_SIZES: Final = range(4, 17)
"""Drives of an erasure set. MinIO's server takes 2 to 16 (cmd/endpoint-ellipses.go, `setSizes`);
with fewer than 4 a set that lost a drive cannot be written to, so those are not offered."""


SIDECAR_CPU: Final = 0.1
SIDECAR_MEMORY_GIB: Final = 0.25
"""What the operator's sidecar takes beside each server; the stack sets both."""


class MinioPool(Model):
    """Servers with the same number of drives each."""

    servers: Annotated[int, Field(ge=1, le=32)]
    """Servers of the pool."""
    volumes_per_server: Annotated[int, Field(ge=1, le=16)]
    """Drives of each server."""
    volume_gib: Annotated[int, Field(ge=1)]
    """One drive's size (GiB)."""

    @property
    def drives(self) -> int:
        """Drives of the pool."""
        return self.servers * self.volumes_per_server


class MinioSettings(Model):
    """A MinIO tenant that the stack makes."""

    pools: Annotated[tuple[MinioPool, ...], Field(min_length=1)]
    """Pools of servers; they may grow at the end, and what stands there is never changed."""
    storage_class: DnsLabel | None = None
    """The drives' class; without it the region's own for drives."""
    cpu: PositiveInt = 2
    """Processors of one server; it requests what it is limited to."""
    memory_gib: PositiveInt = 4
    """Memory of one server (GiB)."""
    tls_secret: DnsLabel | None = None
    """A Secret of type kubernetes.io/tls in the tenant's namespace; without one the tenant answers
    plain HTTP inside the cluster."""


def erasure_set(servers: int, volumes_per_server: int) -> int | None:
    """Return the drives of each erasure set of a pool; None where they cannot be spread evenly.

    The largest size that divides the drives and spreads evenly over the servers, as the server
    itself chooses it: the size divides the servers or is a multiple of them.
    """
    drives = servers * volumes_per_server
    sizes = [
        size
        for size in SET_SIZES
        if drives % size == 0 and (servers % size == 0 if servers > size else size % servers == 0)
    ]
    return max(sizes, default=None)


def topology_faults(pools: tuple[tuple[int, int], ...], *, standalone: bool) -> list[str]:
    """Return what is wrong with pools of (servers, drives per server); nothing where all is well.

    `standalone` allows one server with one drive, which holds data once and is for development.
    """
    if pools == ((1, 1),) and standalone:
        return []
    faults: list[str] = []
    first: int | None = None
    for index, (servers, volumes) in enumerate(pools):
        size = erasure_set(servers, volumes)
        shape = f"pool {index}: {servers} servers x {volumes} drives"
        if size is None:
            faults.append(
                f"{shape} make no erasure sets of 4 to 16 drives, the same on each server"
            )
        elif first is not None and (servers * volumes) % first != 0:
            # docs/expansion.md of the operator: a multiple of the first pool's set.
            faults.append(f"{shape} are not a multiple of the first pool's sets of {first} drives")
        first = first or size
    return faults
