"""Resolving a region's storage: proofs, the tenant's image, and whether the weights fit into it."""

import math
from collections.abc import Sequence
from typing import Final

from models.core.base import GIB
from models.core.findings import Finding, Findings, Severity, Source
from models.core.rule_ids import ProofRule
from models.engine.profiles import Environment
from models.facts.catalog import Catalog
from models.facts.contract import Image
from models.plan.plan import PlannedPool
from models.plan.sizing import free_of_node
from models.plan.storage.proofs import storage_index, storage_problems
from models.plan.storage.resolved import storage_facts, usable_gib
from models.settings.minio import SIDECAR_CPU, SIDECAR_MEMORY_GIB, MinioSettings, erasure_set
from models.settings.regions import RegionSettings
from models.settings.storage import VolumeBackend

TENANT_IMAGE: Final = "minio"
"""The name in `catalog/images.yaml` of the image that a tenant's servers run."""


def resolve_storage(
    region: RegionSettings,
    path: str,
    pools: Sequence[PlannedPool],
    weight_bytes: Sequence[int],
    environment: Environment,
    catalog: Catalog,
    findings: Findings,
) -> Image | None:
    """Return the tenant's image, None where none is made; gather problems and notices.

    `weight_bytes` are the checkpoints (bytes) that the region's engines read.
    """
    facts = storage_facts(region, pools, environment)
    findings.problems += storage_problems(facts, f"{path}.storage")
    index = storage_index(facts.pools)
    if region.storage.volumes is VolumeBackend.LONGHORN and index is not None:
        _say_single_copy(region, path, facts.pools[index].min, environment, findings)
    minio = region.storage.objects.minio
    if minio is None:
        return None
    _room(minio, region.name, f"{path}.storage.objects.minio.pools", weight_bytes, findings)
    if index is not None:
        _servers_fit(minio, region.name, f"{path}.storage.objects.minio", pools[index], findings)
    image = catalog.images.get(TENANT_IMAGE)
    if image is None:
        findings.problems.append(
            Finding(path="catalog/images.yaml", message=f"has no image named {TENANT_IMAGE!r}")
        )
    return image


def _servers_fit(
    minio: MinioSettings, region: str, path: str, nodes: PlannedPool, findings: Findings
) -> None:
    """Add a problem where the servers, spread evenly, ask for more than a node has."""
    servers = sum(pool.servers for pool in minio.pools)
    each = math.ceil(servers / nodes.settings.max)
    cpu = each * (minio.cpu + SIDECAR_CPU)
    memory = each * (minio.memory_gib + SIDECAR_MEMORY_GIB)
    free_cpu, free_memory = free_of_node(nodes.shape)
    if cpu > free_cpu or memory > free_memory:
        findings.problems.append(
            Finding(
                path=path,
                rule=ProofRule.STORAGE,
                source=Source.PLAN,
                subject=region,
                message=f"{each} servers share a node of pool {nodes.name!r} at its maximum, "
                "and ask for more than it has left",
                value=f"{cpu:g} CPU, {memory:g} GiB",
                allowed=f"{free_cpu:g} CPU, {free_memory:g} GiB",
                remedy="lower cpu or memory_gib, have fewer servers with more drives, or raise the "
                "pool's max",
            )
        )


def _say_single_copy(
    region: RegionSettings, path: str, nodes: int, environment: Environment, findings: Findings
) -> None:
    copies = region.storage.longhorn.replicas or nodes
    if copies == 1 and environment is not Environment.DEV:
        message = (
            "Longhorn keeps one copy of each block: the loss of its node loses the weights, and "
            "they are seeded anew. Two storage nodes (the pool's min) keep two copies"
        )
        findings.notices.append(
            Finding(path=f"{path}.storage.volumes", message=message, severity=Severity.WARNING)
        )


def _room(
    minio: MinioSettings, region: str, path: str, weight_bytes: Sequence[int], findings: Findings
) -> None:
    room = sum(
        usable_gib(
            pool.servers,
            pool.volumes_per_server,
            pool.volume_gib,
            erasure_set(pool.servers, pool.volumes_per_server),
        )
        for pool in minio.pools
    )
    needed = math.ceil(sum(weight_bytes) / GIB)
    if needed > room:
        findings.problems.append(
            Finding(
                path=path,
                rule=ProofRule.STORAGE,
                source=Source.PLAN,
                subject=region,
                message="the drives hold less than the weights of the models placed here, parity "
                "left out",
                value=f"{room} GiB",
                allowed=f"{needed} GiB or more",
                remedy="add a pool at the end, or enlarge volume_gib",
            )
        )
