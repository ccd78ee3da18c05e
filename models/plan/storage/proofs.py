"""Proofs about a region's storage: nodes that can carry it, copies that find nodes, drives in sets.

Made by the program before it registers anything, and again by policies from the `Plan`
component's inputs; both call `storage_problems`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from models.core.base import Model
from models.core.findings import Finding, Source
from models.core.rule_ids import ProofRule
from models.settings.minio import topology_faults

_LONGHORN: Final = "longhorn"
_DEV: Final = "dev"


class PoolFacts(Model):
    """A pool as storage sees it. `ami` is None where the stack does not make its nodes."""

    name: str
    gpus: int
    min: int
    capacity: str
    ami: str | None


class StorageFacts(Model):
    """A region's storage in plain values.

    `replicas` is what the settings ask of Longhorn, None as many as fit. `tenant` holds the servers
    and drives per server of each MinIO pool, nothing where no tenant is made; `tenant_class` is
    the drives' class where the settings name one.
    """

    region: str
    environment: str
    volumes: str
    pools: tuple[PoolFacts, ...]
    replicas: int | None = None
    tenant: tuple[tuple[int, int], ...] = ()
    tenant_class: str | None = None


class _Pool(Protocol):
    @property
    def gpus(self) -> int: ...
    @property
    def capacity(self) -> str: ...


def storage_index(pools: Sequence[_Pool]) -> int | None:
    """Return which pool's nodes carry volumes: the first without GPUs, one that is not spot first.

    None where every pool has GPUs.
    """
    plain = [index for index, pool in enumerate(pools) if pool.gpus == 0]
    steady = [index for index in plain if pools[index].capacity != "spot"]
    return next(iter([*steady, *plain]), None)


def storage_problems(facts: StorageFacts, path: str) -> list[Finding]:
    """Return everything that stands against a region's storage; `path` is that of its settings."""
    index = storage_index(facts.pools)
    if index is None:
        return []  # a region without a CPU pool is refused for its seeding Jobs already
    pool = facts.pools[index]
    problems: list[Finding] = []
    if facts.volumes == _LONGHORN:
        problems += _longhorn(facts, pool, path)
    if facts.tenant:
        problems += _tenant(facts, pool, f"{path}.objects.minio")
    return problems


def _longhorn(facts: StorageFacts, pool: PoolFacts, path: str) -> Iterator[Finding]:
    for each in facts.pools:
        if each.ami == "bottlerocket":
            yield _problem(
                facts,
                f"{path}.volumes",
                f"pool {each.name!r} runs Bottlerocket, on which Longhorn attaches no volumes: it "
                "has no iSCSI initiator, and none can be added (LH-02)",
                value="longhorn",
                remedy=f"set ami of pool {each.name!r} to al2023, or use another class of volumes",
            )
    if pool.capacity == "spot":
        yield _problem(
            facts,
            f"{path}.volumes",
            f"volumes would lie on spot nodes (pool {pool.name!r}): when one is taken back, every "
            "engine on a shared volume stops (LH-04)",
            value=pool.capacity,
            remedy="add an on-demand pool without accelerator; it then carries the volumes",
        )
    if pool.min == 0:
        yield _problem(
            facts,
            f"{path}.volumes",
            f"pool {pool.name!r} may have no node (min 0), and volumes lie on its nodes",
            value="0",
            allowed="1 or more",
            remedy=f"raise min of pool {pool.name!r}",
        )
    elif facts.replicas is not None and facts.replicas > pool.min:
        yield _problem(
            facts,
            f"{path}.longhorn.replicas",
            f"{facts.replicas} copies of each block need as many storage nodes, and pool "
            f"{pool.name!r} has {pool.min} for sure",
            value=str(facts.replicas),
            allowed=f"at most {pool.min}",
            remedy=f"lower replicas, leave it out, or raise min of pool {pool.name!r}",
        )


def _tenant(facts: StorageFacts, pool: PoolFacts, path: str) -> Iterator[Finding]:
    for fault in topology_faults(facts.tenant, standalone=facts.environment == _DEV):
        yield _problem(
            facts,
            f"{path}.pools",
            f"{fault} (MINIO-02)",
            allowed="4 to 16 drives in a set, evenly over the servers; one server with one drive "
            "only in dev",
            remedy="for example 4 servers with 1 drive each",
        )
    most = max(servers for servers, _ in facts.tenant)
    if facts.environment != _DEV and most > pool.min:
        yield _problem(
            facts,
            f"{path}.pools",
            f"{most} servers need a node each, and pool {pool.name!r} has {pool.min} for sure: two "
            "on one node fall together",
            value=str(most),
            allowed=f"at most {pool.min}",
            remedy=f"raise min of pool {pool.name!r}, or have fewer servers with more drives",
        )
    if pool.capacity == "spot":
        yield _problem(
            facts,
            path,
            f"the tenant's servers would run on spot nodes (pool {pool.name!r}): when two are "
            "taken back at once, a set of 4 drives cannot be written to",
            value=pool.capacity,
            remedy="add an on-demand pool without accelerator; it then carries the tenant",
        )
    if facts.volumes == "existing-class" and facts.tenant_class is None:
        yield _problem(
            facts,
            f"{path}.storage_class",
            "the drives need a class of their own: the region's class is for shared volumes",
            remedy="name a class of ReadWriteOnce block volumes",
        )


def _problem(
    facts: StorageFacts,
    path: str,
    message: str,
    *,
    remedy: str,
    value: str | None = None,
    allowed: str | None = None,
) -> Finding:
    return Finding(
        path=path,
        rule=ProofRule.STORAGE,
        source=Source.PLAN,
        subject=facts.region,
        message=message,
        value=value,
        allowed=allowed,
        remedy=remedy,
    )
