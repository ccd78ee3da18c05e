"""From bytes to blocks, tokens and concurrency, as the engine reports them."""

from dataclasses import dataclass

from models.architecture import Architecture, CacheKind
from models.core.base import Model
from models.memory.inputs.request import BudgetRequest, Resolved
from models.memory.terms.groups import Group, group_pages, pool_bytes
from models.memory.terms.pages import merged, pages, serving_of
from models.memory.terms.weights import stage_layers


class CacheGroup(Model):
    """One KV cache group: `page_bytes` is one layer's page, or all layers' where they differ."""

    kind: CacheKind
    layers: int
    block_size: int
    page_bytes: int
    blocks_per_request: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CachePlan:
    """The layout of a replica's KV cache, on the stage that needs most.

    `block_bytes` is one block of the pool, `need_bytes` one request at full length, both per GPU.
    """

    groups: tuple[Group, ...]
    request: BudgetRequest
    resolved: Resolved
    block_bytes: int
    need_blocks: int

    @property
    def need_bytes(self) -> int:
        """Bytes of one request at full length, per GPU."""
        return self.need_blocks * self.block_bytes

    @property
    def has_states(self) -> bool:
        """Whether some layers keep a state, which takes a block per running request."""
        return any(page.kind.is_state for group in self.groups for page in group.pages)

    def blocks(self, kv_bytes: int) -> int:
        """Return the blocks that fit into `kv_bytes` per GPU."""
        return max(0, kv_bytes // self.block_bytes)

    def usable(self, kv_bytes: int) -> int:
        """Return the bytes that the start-up check compares with: one held block less."""
        return kv_bytes - (self.block_bytes if self.request.behavior.null_block else 0)

    def concurrency(self, blocks: int) -> float:
        """Return how many requests of full length `blocks` hold."""
        return blocks / max(1, self.need_blocks)

    def tokens(self, blocks: int) -> int:
        """Return "GPU KV cache size: N tokens" as this release prints it."""
        if self.request.behavior.reports == "capacity":
            return int(self.concurrency(blocks) * self.resolved.max_model_len)
        each = min(group.block for group in self.groups)
        return (
            blocks // len(self.groups) * each * self.request.arguments.decode_context_parallel_size
        )

    def longest(self, kv_bytes: int, limit: int) -> int:
        """Return the greatest length up to `limit` of which one request fits; 0 if none."""
        room = self.usable(kv_bytes)
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            serving = serving_of(self.request, self.resolved, length=middle)
            need = sum(group.need(serving) for group in self.groups) * self.block_bytes
            low, high = (middle, high) if need <= room else (low, middle - 1)
        return low

    def bytes_per_token(self) -> float:
        """Return the marginal bytes of one token of a long request, per GPU and rank.

        Windows and states have stopped growing then; in blocks, so padding counts.
        """
        total = 0.0
        for group in self.groups:
            page = group.pages[0]
            if not page.kind.is_state and page.kind in (CacheKind.FULL, CacheKind.MLA):
                total += self.block_bytes / page.block
        context = self.request.arguments.decode_context_parallel_size
        return total / context

    def summary(self) -> tuple[CacheGroup, ...]:
        """Return the groups as plain values."""
        serving = serving_of(self.request, self.resolved)
        return tuple(
            CacheGroup(
                kind=group.pages[0].kind,
                layers=group.count,
                block_size=group.block,
                page_bytes=_page_bytes(group),
                blocks_per_request=group.need(serving),
            )
            for group in self.groups
        )


def _page_bytes(group: Group) -> int:
    if len({page.padded for page in group.pages}) == 1 and not _latent_window(group):
        return group.pages[0].padded
    return sum(
        page.padded * len(layers) for page, layers in zip(group.pages, group.layers, strict=True)
    )


def _latent_window(group: Group) -> bool:
    return any(page.kind is CacheKind.MLA_SLIDING for page in group.pages)


def cache_plan(request: BudgetRequest, resolved: Resolved) -> CachePlan:
    """Lay out the KV cache of a replica (worst stage of a pipeline)."""
    found = request.architecture
    groups = group_pages(merged(pages(request, resolved)), packed=_packs(found))
    serving = serving_of(request, resolved)
    pipeline = min(request.arguments.pipeline_parallel_size, found.num_layers)
    widest = max(
        pool_bytes(groups, stage_layers(found.num_layers, pipeline, stage))
        for stage in range(pipeline)
    )
    return CachePlan(
        groups=groups,
        request=request,
        resolved=resolved,
        block_bytes=widest,
        need_blocks=sum(group.need(serving) for group in groups),
    )


def stage_block_bytes(plan: CachePlan, stage: int) -> int:
    """Return the bytes of one block on one pipeline stage."""
    found = plan.request.architecture
    pipeline = min(plan.request.arguments.pipeline_parallel_size, found.num_layers)
    return pool_bytes(plan.groups, stage_layers(found.num_layers, pipeline, stage))


def _packs(architecture: Architecture) -> bool:
    return any(cache.kind is CacheKind.MLA_SLIDING for cache in architecture.caches)
