"""Caches outside the GPU and the router beside engines: sizes, and what makes entries findable."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from models.core.quantities import parse
from policies.core.context import Context, strictness
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import parallelism, variables
from policies.views.kubernetes.images import image_of
from policies.views.kubernetes.workload import Container

_CPU_SIZE: Final = "LMCACHE_MAX_LOCAL_CPU_SIZE"
_REMOTE: Final = "LMCACHE_REMOTE_URL"
_SEED: Final = "PYTHONHASHSEED"
_GB: Final = 10**9
_ROUTERS: Final = ("lmstack-router", "vllm-router", "production-stack-router")
_ROUTER_MIN: Final = parse("2Gi")


@rule(
    "k8s-container-hold-local-cache",
    "Every engine's memory limit holds its cache in host memory.",
    remedy=f"lower {_CPU_SIZE} (GB for each rank), or raise the memory limit",
    weight=RuleWeight.CRITICAL,
    tags=("memory", "cache"),
)
def hold_local_cache(container: Container, context: Context) -> Iterator[Finding]:
    """LMC-01: the size counts for each tensor parallel rank, and pinning takes it at start."""
    if container.inherits or not container.is_engine:
        return
    limit = container.quantity("limits", "memory")
    text = variables(container).get(_CPU_SIZE)
    if limit is None or not text or not text.replace(".", "", 1).isdigit():
        return
    ranks = max(1, parallelism(container))
    wanted = float(text) * _GB * ranks
    if wanted > limit:
        yield Finding(
            f"{container.node.path}.env",
            f"{ranks} x {text} GB of cache are more than container {container.called}'s limit of "
            f"{float(limit) / 2**30:.0f} GiB",
        )


@rule(
    "k8s-container-seed-shared-cache",
    "Every engine that shares a cache hashes alike.",
    remedy=f'set {_SEED}: "0" on every engine and cache server of the model',
    tags=("cache",),
)
def seed_shared_cache(container: Container, context: Context) -> Iterator[Finding]:
    """LMC-02: with a random seed in each process the shared cache never hits."""
    if container.inherits or not container.is_engine:
        return
    known = variables(container)
    if known.get(_REMOTE, "") != "" and _SEED not in known:
        yield Finding(
            f"{container.node.path}.env",
            f"container {container.called} shares a cache ({_REMOTE}) and has no {_SEED}",
        )


@rule(
    "k8s-container-give-router-memory",
    "Every router beside engines has memory for its tables.",
    remedy="raise the router's memory limit to 2Gi or more",
    tags=("memory",),
)
def give_router_memory(container: Container, context: Context) -> Iterator[Finding]:
    """PSTK-03: the prefix tree grows, and the chart's default of 500Mi is killed."""
    name = image_of(container.image or "").repository.rsplit("/", 1)[-1]
    limit = container.quantity("limits", "memory")
    if name in _ROUTERS and limit is not None and limit < _ROUTER_MIN:
        yield Finding(
            f"{container.node.path}.resources.limits",
            f"container {container.called} is a router with less than 2Gi of memory",
            strictness(container.pod.namespace, context),
        )
