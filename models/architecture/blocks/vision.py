"""The vision part of a multimodal model, as weights and as the largest item it encodes.

Towers differ in detail; a tower known by its model type is counted exactly, one that has the
usual fields by the usual formula. A tower without these fields leaves the weights unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from pydantic import JsonValue

from models.architecture.blocks.draft import Draft, Layers, rows
from models.architecture.config.fields import Fields, layer_count
from models.architecture.types import Part, Rows, Shard, Weight

_LARGEST_SIDE: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Tower:
    """A vision transformer's sizes. `merged` patches become one token of the language model."""

    hidden: int
    layers: int
    intermediate: int
    patch: int
    channels: int
    temporal: int
    positions: int
    merged: int
    gated: bool
    biased: bool
    heads: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Joint:
    """How a family's tower is split over ranks, and joined to the language model."""

    split_tower: bool = True
    """Whether ranks share the tower's blocks, or each holds them whole."""
    position_tables: int = 1
    """Tables of learned positions."""
    projection: bool = False
    """Whether one projection brings patches to the hidden size, instead of a merger."""
    split_merger: bool = True
    """Whether ranks share the merger, or each holds it whole."""


def vision(draft: Draft, config: Fields, joint: Joint, *, gated: bool) -> tuple[int, int]:
    """Add the tower that `vision_config` describes; `gated` are its feed-forwards.

    Return the tokens of its largest item and the elements that a layer holds per token.
    """
    section = config.section("vision_config")
    if not section:
        return 0, 0
    fields = config.within("vision_config", section)
    tower = _tower(fields, gated=gated)
    if tower is None:
        config.incomplete.append(
            "vision_config: the sizes of the vision tower (--language-model-only loads none)"
        )
        return 0, 0
    numbers = tuple(range(tower.layers))
    _blocks(draft, tower, numbers, split=joint.split_tower)
    _embedding(draft, tower, joint.position_tables)
    _merger(draft, tower, fields, joint)
    tokens = _largest_item(config.config, section, tower)
    size = section.get("image_size")
    patches = tokens * tower.merged
    if _is_size(size):
        patches = (size // tower.patch) ** 2
    return tokens, max(1, patches // tokens) * (tower.intermediate + 4 * tower.hidden)


def step_elements(draft: Draft, config: Fields) -> int:
    """Return the elements per token of a step that the engine keeps for decoder layers.

    What they take from the tower's layers (Qwen3-VL), or the embeddings of each layer (Gemma 4):
    vLLM 0.33.0 `qwen3_vl.py`, `gemma4_mm.py`.
    """
    fields = config.within("vision_config", config.section("vision_config"))
    levels = len(fields.numbers("deepstack_visual_indexes") or ())
    each = draft.fields.count("hidden_size_per_layer_input")
    return levels * draft.hidden + (layer_count(draft.fields) * each if each else 0)


def _tower(fields: Fields, *, gated: bool) -> Tower | None:
    hidden = fields.optional("hidden_size", "embed_dim", "vt_hidden_size")
    layers = fields.optional("depth", "num_hidden_layers", "vt_num_hidden_layers")
    size = fields.optional("intermediate_size", "vt_intermediate_size")
    if size is None and hidden is not None:
        size = int(hidden * fields.number("mlp_ratio", 4.0))
    if hidden is None or layers is None or size is None or layers > 1024:
        return None
    merge = fields.raw("spatial_merge_size", "merge_kernel_size", "pooling_kernel_size")
    side = merge[0] if isinstance(merge, list) and merge else merge
    patch = fields.optional("patch_size") or 14
    image = fields.optional("image_size")
    positions = fields.optional("num_position_embeddings", "position_embedding_size")
    height = fields.optional("init_pos_emb_height")
    if positions is None:
        positions = height * height if height else (image // patch) ** 2 if image else 1
    return Tower(
        hidden=hidden,
        layers=layers,
        intermediate=size,
        patch=patch,
        channels=fields.optional("in_channels", "num_channels", "in_chans") or 3,
        temporal=fields.optional("temporal_patch_size") or 1,
        positions=positions,
        merged=side * side if _is_size(side) else 1,
        gated=gated,
        biased=not gated,
        heads=fields.optional("num_heads", "num_attention_heads", "vt_num_attention_heads") or 1,
    )


def _is_size(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST_SIDE


def _blocks(draft: Draft, tower: Tower, numbers: Layers, *, split: bool) -> None:
    width, size = tower.hidden, tower.intermediate
    heads = (Rows(units=tower.heads, width=max(1, width // tower.heads)),) * 3
    first = rows(size, size) if tower.gated else rows(size)
    for out, columns, shard in (
        (heads, width, Shard.OUTPUT),
        (rows(width), width, Shard.INPUT),
        (first, width, Shard.OUTPUT),
        (rows(width), size, Shard.INPUT),
    ):
        kind = shard if split else Shard.NONE
        draft.weights.append(_weight(out, columns, kind, numbers))
        if tower.biased:
            bias = kind if kind is Shard.OUTPUT else Shard.NONE
            draft.weights.append(_weight(out, 1, bias, numbers))
    for _ in range(4):
        draft.weights.append(_weight(rows(width), 1, Shard.NONE, numbers))


def _weight(out: tuple[Rows, ...], columns: int, shard: Shard, numbers: Layers) -> Weight:
    return Weight(
        part=Part.VISION,
        modules=("vision_tower",),
        rows=out,
        columns=columns,
        shard=shard,
        copies=len(numbers),
    )


def _embedding(draft: Draft, tower: Tower, tables: int) -> None:
    pixels = tower.channels * tower.temporal * tower.patch**2
    for out, columns in ((tower.hidden, pixels), (tower.positions * tables, tower.hidden)):
        draft.add(Part.VISION, "vision_tower.embedding", rows(out), columns)


def _merger(draft: Draft, tower: Tower, fields: Fields, joint: Joint) -> None:
    """Add what brings patches to the language model's hidden size."""
    if joint.projection:
        draft.add(Part.VISION, "embed_vision", rows(draft.hidden), tower.hidden)
        return
    inner = tower.hidden * tower.merged
    out = fields.optional("out_hidden_size", "text_hidden_size") or draft.hidden
    deep = fields.numbers("deepstack_visual_indexes") or ()
    split = joint.split_merger
    for _ in range(1 + len(deep)):
        first, second = (Shard.OUTPUT, Shard.INPUT) if split else (Shard.NONE, Shard.NONE)
        draft.add(Part.VISION, "visual.merger", rows(inner), inner, shard=first)
        draft.add(Part.VISION, "visual.merger", rows(out), inner, shard=second)


def _largest_item(
    config: Mapping[str, JsonValue], section: Mapping[str, JsonValue], tower: Tower
) -> int:
    """Return the tokens of the largest image: stated, or patches over the merge, or 16,384.

    Qwen's dynamic resolution ends at 16,384 tokens per image in its processors.
    """
    for source in (config, section):
        for name in ("vision_soft_tokens_per_image", "mm_tokens_per_image", "image_seq_length"):
            stated = source.get(name)
            if _is_size(stated):
                return stated
    size = section.get("image_size")
    if _is_size(size):
        return max(1, (size // tower.patch) ** 2 // tower.merged)
    return 16384
