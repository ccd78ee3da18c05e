"""Values of engine arguments as people and logs write them."""

import re
from collections.abc import Callable, Mapping
from typing import Final

_MULTIPLES: Final[Mapping[str, int]] = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}
"""Suffixes of whole numbers as vLLM's parser takes them (0.33.0 `utils/argparse_utils.py`)."""

NONE_WORDS: Final = frozenset({"", "null", "none", "n/a", "unknown", "default"})
_UNQUANTIZED: Final = frozenset(
    {"bf16", "bfloat16", "fp16", "float16", "fp32", "half", "16bit", "16-bit", "no", "-"}
    | {"unquantized", "auto"}
)
_DTYPES: Final[Mapping[str, str]] = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "half": "float16",
    "float": "float32",
}


def count_of(text: str) -> int | None:
    """Return the whole number that a value means (`32k`, `4096`); None where it is none."""
    found = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)([kmgKMG])", text.strip())
    if found is None:
        return None
    return int(found[1]) if found[1] else int(float(found[2]) * _MULTIPLES[found[3]])


_QUANTIZATIONS: Final = (
    ("bitsandbytes", "bitsandbytes"),
    ("bnb", "bitsandbytes"),
    ("mxfp4", "mxfp4"),
    ("mxfp8", "mxfp8"),
    ("fp4", "nvfp4"),
    ("fp8", "fp8"),
    ("awq", "awq"),
    ("gptq", "gptq"),
    ("w8a8", "int8"),
    ("int8", "int8"),
    ("w4a16", "int4"),
    ("int4", "int4"),
)


def quantization_of(text: str | None) -> str | None:
    """Return the method that a text names; None for none, the text itself if it is not known."""
    plain = (text or "").strip().lower()
    if plain in NONE_WORDS or plain in _UNQUANTIZED:
        return None
    if "gguf" in plain or re.fullmatch(r"q\d_[0-9a-z_]+", plain):
        return plain if plain.startswith("gguf") else f"gguf {plain.replace('gguf', '').strip()}"
    if re.search(r"(bnb|bitsandbytes).*8[- ]?bit", plain):
        return "int8"
    return next((name for word, name in _QUANTIZATIONS if word in plain), plain)


def dtype_of(text: str | None) -> str | None:
    """Return a dtype in its long spelling; None where the engine's `auto` is meant."""
    plain = (text or "").strip().lower().removeprefix("torch.")
    return None if plain in {"auto", *NONE_WORDS} else _DTYPES.get(plain, plain)


def cache_dtype_of(text: str | None) -> str | None:
    """Return a KV cache dtype in the engine's spelling; None where it is not given."""
    plain = (text or "").strip().lower().removeprefix("torch.")
    if plain in NONE_WORDS:
        return None
    return {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2", **_DTYPES}.get(plain, plain)


READERS: Final[Mapping[str, Callable[[str | None], str | None]]] = {
    "dtype": dtype_of,
    "kv_cache_dtype": cache_dtype_of,
    "quantization": quantization_of,
}
"""How texts of arguments are brought into one spelling, by the argument."""
