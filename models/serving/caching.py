"""What of a request's cache outlives it, by family, and what may be built on that."""

from typing import Final

from models.architecture import Architecture, CacheKind, Family
from models.core.base import Model
from models.engine.arguments import EngineArguments

_LATENT: Final = frozenset({CacheKind.MLA, CacheKind.MLA_SLIDING})


class CacheStrategy(Model):
    """What of a request outlives it. `tiers`: whether LMCache may hold it outside the GPU."""

    kind: str
    prefix_caching: str
    block_size: int | None
    prefix_affinity_routing: bool
    tiers: bool
    why: str


def cache_strategy(architecture: Architecture, arguments: EngineArguments) -> CacheStrategy:
    """Return what is cached of a model of this family, and what may be built on it."""
    kinds = set(architecture.attention_kinds)
    paged = arguments.enable_prefix_caching is not False
    if architecture.family is Family.SSM:
        kind, caching, affinity, tiers = "recurrent-state", "not-applicable", False, False
        why = "one state of fixed size per request: no prefix is shared, so no replica is better"
    elif architecture.family is Family.HYBRID:
        caching = "on" if arguments.enable_prefix_caching else "engine-default"
        kind, affinity, tiers = "hybrid-state-and-kv", False, False
        why = (
            "prefixes hit whole state blocks only, so routing by prefix gains little; LMCache's "
            "in-process connector does not take mixed caches"
        )
    else:
        caching, affinity = ("on" if paged else "off"), paged
        mixed = len(kinds) > 1
        kind = "paged-latent" if kinds & _LATENT else "paged-kv"
        kind += "-with-windows" if mixed else ""
        tiers = paged and not mixed
        why = "requests that begin alike share blocks: send them to the replica that has them"
        if mixed:
            why += "; LMCache's in-process connector does not take windowed caches"
    return CacheStrategy(
        kind=kind,
        prefix_caching=caching,
        block_size=arguments.block_size,
        prefix_affinity_routing=affinity,
        tiers=tiers,
        why=why,
    )
