"""The first release known to hold a kind of model: the least that a run of it can have used.

For runs that do not say their release. From `model_executor/models/registry.py` of the source
distributions of 0.9.2, 0.10.2, 0.11.0, 0.12.0, 0.13.0, 0.16.0, 0.18.0, 0.20.0 to 0.22.0, 0.24.0,
0.31.0 and 0.33.0: the earliest of these with the class, or an earlier one that a run or vLLM's
recipes name (Gemma 4 under 0.19, Qwen3.5 from 0.17). Kinds that 0.10.2 held are not listed.
"""

from collections.abc import Mapping
from typing import Final

_SINCE: Final[Mapping[str, tuple[int, int]]] = {
    "deepseek_v32": (0, 11),
    "qwen3_vl_text": (0, 11),
    "qwen3_vl_moe_text": (0, 11),
    "kimi_linear": (0, 12),
    "lfm2_moe": (0, 12),
    "minimax_m2": (0, 12),
    "glm4_moe_lite": (0, 16),
    "glm_moe_dsa": (0, 16),
    "mimo_v2_flash": (0, 16),
    "step3p5": (0, 16),
    "qwen3_5_text": (0, 17),
    "qwen3_5_moe_text": (0, 17),
    "mistral4": (0, 18),
    "gemma4_text": (0, 19),
    "ministral3": (0, 20),
    "deepseek_v4": (0, 20),
    "step3p7": (0, 24),
}


def first_release(model_type: str) -> tuple[int, int] | None:
    """Return the first release known to hold a model type, or None for one that all hold.

    `mistral4` came in March 2026, when 0.18 was the newest; it has no class of its own.
    """
    return _SINCE.get(model_type)
