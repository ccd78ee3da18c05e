"""The audio part of a multimodal model, as weights.

Gemma 4's encoder is counted exactly (transformers 5 `modeling_gemma4.py`, vLLM 0.33.0
`gemma4_mm.py`); which tower is built by what is in `models/architecture/families/towers.py`.
"""

from models.architecture.blocks.draft import Draft, rows
from models.architecture.config.fields import Fields
from models.architecture.types import Part

_FEED_FORWARD_TIMES = 4
_SUBSAMPLING_KERNEL = 3 * 3


def gemma4_audio(draft: Draft, fields: Fields) -> None:
    """Add Gemma 4's encoder, as the fields of `audio_config` describe it."""
    width, layers = fields.size("hidden_size"), fields.size("num_hidden_layers")
    out, kernel = fields.size("output_proj_dims"), fields.size("conv_kernel_size")
    channels = fields.numbers("subsampling_conv_channels") or ()
    if len(channels) != 2 or min(channels) < 1:
        fields.wrong("subsampling_conv_channels", list(channels), "two positive whole numbers")
        return
    first, second = channels
    wide = _FEED_FORWARD_TIMES * width
    heads = fields.size("num_attention_heads")

    def add(size: int, columns: int, copies: int = 1) -> None:
        draft.add(Part.VISION, "audio_tower", rows(size), columns, copies=copies)

    for size, columns in (
        *((wide, width), (width, wide)) * 2,
        # Queries, keys, values, output, relative positions.
        *((width, width),) * 5,
        # The convolution between two projections; the first is gated.
        *((2 * width, width), (width, kernel), (width, width)),
        # Two norms of each feed-forward and of the convolution, three of the layer.
        *((width, 1),) * 9,
        (max(1, width // heads), 1),
    ):
        add(size, columns, layers)
    for size, columns in (
        (first, _SUBSAMPLING_KERNEL),
        (first, 1),
        (second, first * _SUBSAMPLING_KERNEL),
        (second, 1),
        (width, first // 4 * second),
        (out, width),
        (out, 1),
        (draft.hidden, out),
    ):
        add(size, max(1, columns))
