"""KV cache groups: how layers share one pool of blocks.

The rules are those of vLLM 0.33.0 `v1/core/kv_cache_planning.py`: layers of one format are one
group; formats of different page sizes are brought to one page (more tokens in a block, else
padding) and cut into groups of equal size; DeepSeek V4's pages lie side by side in a block instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.architecture import CacheKind
from models.memory.terms.pages import Page, PageDemand, blocks_per_request


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """One group: the pages of its layers. A block of the pool holds one of each."""

    pages: tuple[Page, ...]
    layers: tuple[tuple[int, ...], ...]
    """The layer numbers of each page."""

    @property
    def block(self) -> int:
        """Tokens per block."""
        return self.pages[0].block

    @property
    def count(self) -> int:
        """Layers in the group."""
        return sum(len(layers) for layers in self.layers)

    def bytes_on(self, held_layers: range) -> int:
        """Return the bytes of one block on a stage that holds the layers `held`."""
        return sum(
            page.padded * sum(layer in held_layers for layer in layers)
            for page, layers in zip(self.pages, self.layers, strict=True)
        )

    def need(self, serving: PageDemand) -> int:
        """Return the blocks of one request."""
        return max(blocks_per_request(page, serving) for page in self.pages)


def pool_bytes(groups: Sequence[Group], layers: range) -> int:
    """Return the bytes of one block of the pool on a stage: the widest group's."""
    return max(1, *(group.bytes_on(layers) for group in groups), 1)


def group_pages(pages: Sequence[Page], *, packed: bool) -> tuple[Group, ...]:
    """Return the groups of a model's pages."""
    if _uniform(pages):
        return (Group(pages=tuple(pages), layers=tuple(page.layers for page in pages)),)
    if packed:
        return _packed(pages)
    return _cut(_one_page(pages))


def _uniform(pages: Sequence[Page]) -> bool:
    """Tell whether all layers need the same number of blocks for the same tokens."""
    first = pages[0]
    full = (CacheKind.FULL, CacheKind.MLA)
    if any(page.block != first.block for page in pages):
        return False
    if first.kind.is_state:
        return all(page.kind.is_state and page.padded == first.padded for page in pages)
    if first.kind in full:
        return all(page.kind in full for page in pages)
    return all(page.kind is first.kind and page.window == first.window for page in pages)


def _one_page(pages: Sequence[Page]) -> list[Page]:
    """Bring all pages to the largest: by more tokens in a block, or by padding."""
    largest = max(page.padded for page in pages)
    result: list[Page] = []
    for page in pages:
        if page.padded == largest:
            result.append(page)
        elif not page.kind.is_state and largest % page.padded == 0:
            result.append(page.grown(largest // page.padded))
        else:
            result.append(replace(page, padded=largest))
    return result


def _cut(pages: Sequence[Page]) -> tuple[Group, ...]:
    """Cut the layers of each format into groups as large as the smallest format.

    Where the largest has less than 1.5 times the layers of the smallest, the largest's number is
    taken, so that the smaller formats are padded instead.
    """
    buckets = _buckets(pages)
    counts = [len(page.layers) for page in buckets]
    size = min(counts)
    if max(counts) < size * 1.5:
        size = max(counts)
    groups: list[Group] = []
    for page in buckets:
        number = -(-len(page.layers) // size)
        for start in range(number):
            layers = page.layers[start::number]
            groups.append(Group(pages=(replace(page, layers=layers),), layers=(layers,)))
    return tuple(groups)


def _buckets(pages: Sequence[Page]) -> list[Page]:
    found: dict[tuple[object, ...], Page] = {}
    for page in pages:
        state = page.kind.is_state
        key = (state or page.kind, page.block, page.padded, page.bytes_, page.window)
        before = found.get(key)
        layers = page.layers if before is None else tuple(sorted((*before.layers, *page.layers)))
        found[key] = replace(page, layers=layers)
    return list(found.values())


def _packed(pages: Sequence[Page]) -> tuple[Group, ...]:
    """Group pages that lie side by side in a block (block-outermost layouts).

    Formats that need blocks alike share a bucket. A bucket that mixes page sizes evenly is a
    repeating pattern; the repeats per group are chosen to pad least, not below the largest such
    bucket's.
    """
    buckets: list[list[Page]] = []
    for page in pages:
        for bucket in buckets:
            if _uniform([*bucket, page]):
                bucket.append(page)
                break
        else:
            buckets.append([page])
    even = [_repeats(bucket) for bucket in buckets]
    mixed = [
        repeats
        for bucket, repeats in zip(buckets, even, strict=True)
        if repeats is not None and len({page.padded for page in bucket}) > 1
    ]
    per_group = None
    if mixed:
        per_group = _least_padding([each for each in even if each is not None], max(mixed))
    groups: list[Group] = []
    for bucket, repeats in zip(buckets, even, strict=True):
        number = 1 if repeats is None or per_group is None else -(-repeats // per_group)
        for start in range(number):
            layers = tuple(page.layers[start::number] for page in bucket)
            groups.append(Group(pages=tuple(bucket), layers=layers))
    return tuple(groups)


def _repeats(bucket: Sequence[Page]) -> int | None:
    """Return how often an even bucket repeats its pattern; None where it is not even."""
    by_size: dict[int, int] = {}
    for page in bucket:
        by_size[page.padded] = by_size.get(page.padded, 0) + len(page.layers)
    counts = set(by_size.values())
    return counts.pop() if len(counts) == 1 else None


def _least_padding(values: Sequence[int], lower: int) -> int:
    """Return the step from `lower` up that pads all values least; the larger one in a tie."""
    best, least = lower, None
    for step in range(lower, max(values) + 1):
        padding = sum(-value % step for value in values)
        if least is None or padding <= least:
            best, least = step, padding
    return best
