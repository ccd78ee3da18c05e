"""The engine's own flags in a case: `args` as a command line, a list of words, or names and values.

Flags that memory depends on become fields of the case where the case does not state them; all
others are left alone. Pure; what is not a flag is skipped, since a command may stand in front.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Final, cast

from pydantic import JsonValue

from models.architecture.config.fields import is_mapping

NAMES: Final = ("args", "extra_args", "engine_args", "vllm_args", "command")
"""The fields of a line that are read as flags."""

_VALUES: Final[Mapping[str, str]] = {
    "model": "model",
    "max_model_len": "max_model_len",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "kv_cache_dtype": "kv_cache_dtype",
    "kv_cache_memory_bytes": "kv_cache_memory_bytes",
    "block_size": "block_size",
    "dtype": "dtype",
    "quantization": "quant",
    "q": "quant",
    "tensor_parallel_size": "tp",
    "tp": "tp",
    "pipeline_parallel_size": "pp",
    "pp": "pp",
    "data_parallel_size": "dp",
    "dp": "dp",
    "decode_context_parallel_size": "dcp",
    "dcp": "dcp",
    "cpu_offload_gb": "cpu_offload_gb",
    "num_speculative_tokens": "speculative_tokens",
    "speculative_config": "speculative_config",
    "sc": "speculative_config",
}
_SWITCHES: Final[Mapping[str, tuple[str, bool]]] = {
    "enforce_eager": ("enforce_eager", True),
    "no_enforce_eager": ("enforce_eager", False),
    "enable_prefix_caching": ("enable_prefix_caching", True),
    "no_enable_prefix_caching": ("enable_prefix_caching", False),
    "enable_expert_parallel": ("ep", True),
    "ep": ("ep", True),
    "no_enable_expert_parallel": ("ep", False),
    "language_model_only": ("language_model_only", True),
}


def with_flags(line: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a line with the fields that its flags state; what the line states itself stays."""
    result = dict(line)
    for name in NAMES:
        for field, value in _flags(result.pop(name, None)):
            if result.get(field) is None:
                result[field] = value
    stated = result.pop("speculative_config", None)
    if result.get("speculative_tokens") is None:
        result["speculative_tokens"] = _draft_tokens(stated)
    return result


def _flags(given: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if is_mapping(given):
        for name, value in given.items():
            yield from _field(_plain(name), value)
        return
    words = _words(given)
    for number, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, equals, value = word.partition("=")
        following = words[number + 1] if number + 1 < len(words) else ""
        if not equals and not following.startswith("--"):
            value = following
        yield from _field(_plain(name), value)


def _field(name: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if name in _VALUES and value not in ("", None):
        yield _VALUES[name], value
    elif name in _SWITCHES:
        field, on = _SWITCHES[name]
        off = value is False or (isinstance(value, str) and value.lower() == "false")
        yield field, on != off


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _words(given: JsonValue) -> list[str]:
    if isinstance(given, list):
        return [str(word) for word in given]
    if not isinstance(given, str):
        return []
    try:
        return shlex.split(given.replace("\\\n", " "))
    except ValueError:
        return given.split()


def _draft_tokens(stated: JsonValue) -> JsonValue:
    """Return the draft tokens of a speculative configuration: an object, or one written as JSON."""
    if isinstance(stated, str):
        try:
            stated = cast("JsonValue", json.loads(stated))
        except ValueError:
            return None
    return stated.get("num_speculative_tokens") if is_mapping(stated) else None
