"""The tables of rotary positions that an engine builds: one per distinct head size and base."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from models.architecture.blocks.attention import rotary
from models.architecture.blocks.draft import FLOAT32, Draft
from models.architecture.config.fields import Fields, is_mapping
from models.architecture.types import CacheKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RotaryTables:
    """Which tables a family has; without anything one per head size, in the model's own dtype."""

    built: bool = True
    """Whether there is any table in memory."""
    when_stated: bool = False
    """Whether `position_embedding_type` must say `rope` for it."""
    dtype: str | None = None
    """The numbers of the tables, where they are not the model's."""
    of_each_kind: bool = False
    """Whether windowed layers have a base, and so a table, of their own."""
    latent: int = 0
    """Float32 tables of `qk_rope_head_dim`, where their number follows from nothing else."""


NO_ROTARY = RotaryTables(built=False)


def rotary_tables(draft: Draft, positions: int | None, tables: RotaryTables) -> None:
    """Add a family's tables for a model's `positions` (None: it states no length)."""
    attention = [cache for cache in draft.caches if not cache.kind.is_state]
    if positions is None or not attention or not tables.built:
        return
    fields = draft.fields
    if tables.when_stated and fields.text("position_embedding_type") != "rope":
        return
    for _ in range(tables.latent):
        rotary(draft, positions, fields.size("qk_rope_head_dim"), FLOAT32)
    if tables.latent:
        return
    partial = _partial(fields)
    latent = fields.optional("qk_rope_head_dim")
    if latent is not None:
        # A sparse attention's indexer has its own, and both are float32.
        indexed = fields.optional("index_n_heads") is not None
        for _ in range(2 if indexed else 1):
            rotary(draft, positions, latent, FLOAT32 if indexed else None)
        return
    dims = {(cache.head_dim, cache.kind) for cache in attention if cache.head_dim}
    kept = dims if tables.of_each_kind else {(dim, CacheKind.FULL) for dim, _ in dims}
    for dim, kind in sorted(kept):
        times = 1 if kind is CacheKind.SLIDING else _linear_scaling(fields)
        rotary(draft, int(positions * times), max(1, int(dim * partial)), tables.dtype)


def _linear_scaling(fields: Fields) -> float:
    """Return the factor by which linear scaling lengthens a table (others keep its length).

    vLLM 0.33.0 `rotary_embedding/linear_scaling_rope.py`. Windows have their own table.
    """
    for name in ("rope_parameters", "rope_scaling"):
        section: Mapping[str, JsonValue] = fields.section(name)
        nested = section.get("full_attention")
        section = nested if is_mapping(nested) else section
        if section.get("rope_type", section.get("type")) != "linear":
            continue
        factor = section.get("factor", 1.0)
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1e6:
            fields.wrong(f"{name}.factor", factor, "a positive number")
            return 1.0
        return max(1.0, factor)
    return 1.0


def _partial(fields: Fields) -> float:
    inner = fields.within("rope_parameters", fields.section("rope_parameters"))
    value = inner.number("partial_rotary_factor", 1.0)
    if value == 1.0:
        value = fields.number("partial_rotary_factor", 1.0)
    dim = fields.optional("rotary_dim")
    if dim and fields.optional("head_dim"):
        return min(1.0, dim / fields.size("head_dim"))
    return min(1.0, value)
