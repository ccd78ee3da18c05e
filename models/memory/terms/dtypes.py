"""Bytes of the dtypes that weights and caches are kept in."""

from collections.abc import Mapping
from typing import Final

DTYPE_BYTES: Final[Mapping[str, int]] = {
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "half": 2,
    "uint8": 1,
}

_EIGHT_BIT: Final = frozenset(
    {"fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "int8", "fp8_per_tensor"}
)
_PER_HEAD: Final[Mapping[str, float]] = {
    "fp8_per_token_head": 1.0,
    "int8_per_token_head": 1.0,
    "int4_per_token_head": 0.5,
}

UNSIZED_CACHE_DTYPES: Final = frozenset(
    {"turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc"}
    | {"octave_k3v4", "octave_k3v3", "octave_k3v3_compact", "ultraquant_4bit", "nvfp4_ds_mla"}
)
"""KV cache dtypes that vLLM takes (0.33.0 `config/cache.py`) and whose sizes are not known here."""


def known_cache_dtype(name: str) -> bool:
    """Tell whether a KV cache dtype's size is known here."""
    return (
        name in ("auto", "nvfp4", "nvfp4_4over6")
        or name in _EIGHT_BIT
        or name in _PER_HEAD
        or name in DTYPE_BYTES
    )


def is_eight_bit(name: str) -> bool:
    """Tell whether a KV cache dtype is one of the plain 8-bit ones."""
    return name in _EIGHT_BIT


def cache_bytes(elements: int, cache_dtype: str, model_dtype: str) -> int:
    """Return the bytes of one head's entry of `elements` numbers.

    `auto` is the model's dtype. The per-token-head forms add a float32 scale to each vector, NVFP4
    one byte per 16 numbers (vLLM 0.33.0 `v1/kv_cache_interface.py`, backends' `customize_spec`).
    """
    if cache_dtype in _PER_HEAD:
        return int(elements * _PER_HEAD[cache_dtype]) + (4 if elements else 0)
    if cache_dtype.startswith("nvfp4"):
        return elements // 2 + elements // 16
    if cache_dtype in _EIGHT_BIT:
        return elements
    name = model_dtype if cache_dtype == "auto" else cache_dtype
    return elements * DTYPE_BYTES.get(name, 2)
