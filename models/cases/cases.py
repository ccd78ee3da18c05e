"""What a budget is asked for as people write it: one line of `--cases`, or one command's options.

`Case` holds the fields of such a line (docs/cli.md); null or absent means the release's default.
What a line says was observed is never read. Pure: `models/cases/asking.py` turns a case into a
request.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, JsonValue, ValidationError

from models.cases.case_flags import with_flags
from models.core.base import Model
from models.core.problems import ProblemsError, from_validation
from models.memory import Arguments

Count = Annotated[int, Field(gt=0, le=2**40)]
"""More than any run has; what is larger is a mistake, and may be too large for a float."""

MemoryGib = Annotated[float, Field(gt=0, le=2**20, allow_inf_nan=False)]


class Case(Model):
    """One question. `ep` is a switch or the number of expert-parallel ranks.

    `dcp` are decode context parallel ranks; `cpu_offload_gb` is the engine's flag, in GiB.
    """

    id: str = ""
    model: str | None = None
    gpu: str | None = None
    gpu_mem_gib: MemoryGib | None = None
    n_gpus: Count | None = None
    tp: Count | None = None
    pp: Count | None = None
    dp: Count | None = None
    ep: bool | Annotated[int, Field(ge=0, le=2**40)] | None = None
    dtype: str | None = None
    quant: str | None = None
    kv_cache_dtype: str | None = None
    max_model_len: Count | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Count | None = None
    enforce_eager: bool | None = None
    block_size: Count | None = None
    enable_prefix_caching: bool | None = None
    kv_cache_memory_bytes: Annotated[int, Field(gt=0, le=2**50)] | None = None
    dcp: Count | None = None
    language_model_only: bool | None = None
    speculative_tokens: Annotated[int, Field(ge=0, le=1024)] | None = None
    cpu_offload_gb: Annotated[float, Field(ge=0, le=2**20)] | None = None
    vllm_version: str | None = None


_TEXTS: Final = frozenset(
    {"id", "model", "gpu", "dtype", "quant", "kv_cache_dtype", "vllm_version"}
)
_SWITCHES: Final = frozenset(
    {"ep", "enforce_eager", "enable_prefix_caching", "language_model_only"}
)
_FRACTIONS: Final = frozenset({"gpu_mem_gib", "gpu_memory_utilization", "cpu_offload_gb"})
_MULTIPLES: Final[Mapping[str, int]] = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}
"""Suffixes of whole numbers as vLLM's parser takes them (0.33.0 `utils/argparse_utils.py`)."""
_NOT_INPUTS: Final = frozenset(
    {"source", "source_url", "observed", "class", "quote", "confidence", "notes"}
)
_NONE_WORDS: Final = frozenset({"", "null", "none", "n/a", "unknown", "default"})
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


def case_of(line: Mapping[str, JsonValue]) -> tuple[Case, tuple[str, ...]]:
    """Return a line as a case, and the fields in it that are not used.

    Raises:
        ProblemsError: naming every field that cannot be read.

    """
    names = Case.model_fields
    line = with_flags(line)
    given = {name: _tidied(name, line[name]) for name in names if name in line}
    try:
        case = Case.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        raise ProblemsError("case", from_validation(error)) from None
    unused = {name for name, value in line.items() if value is not None}
    return case, tuple(sorted(unused - set(names) - _NOT_INPUTS))


def _tidied(name: str, value: JsonValue) -> JsonValue:
    """Return a value as the field takes it where people write the same thing otherwise."""
    if isinstance(value, str):
        return _tidied_text(name, value.strip())
    if name in _TEXTS and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, float) and value.is_integer() and name not in _FRACTIONS:
        value = int(value)
    if name == "max_model_len" and value == -1:
        return None
    if name in _SWITCHES and value in (0, 1):
        return bool(value)
    if name in _FRACTIONS and type(value) is int:
        return float(value)
    return value


def _tidied_text(name: str, text: str) -> JsonValue:
    if name == "id":
        return text
    if text.lower() in _NONE_WORDS or (name == "max_model_len" and text.lower() == "auto"):
        return None
    if name in _TEXTS:
        return text
    if name in _SWITCHES and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"\d+", text.replace(",", "")):
        return _tidied(name, int(text.replace(",", "")))
    counted = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgKMG])", text)
    if counted is not None and name not in _FRACTIONS:
        return int(float(counted[1]) * _MULTIPLES[counted[2]])
    return float(text) if re.fullmatch(r"\d*\.\d+", text) else text


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
    if plain in _NONE_WORDS or plain in _UNQUANTIZED:
        return None
    if "gguf" in plain or re.fullmatch(r"q\d_[0-9a-z_]+", plain):
        return plain if plain.startswith("gguf") else f"gguf {plain.replace('gguf', '').strip()}"
    if re.search(r"(bnb|bitsandbytes).*8[- ]?bit", plain):
        return "int8"
    return next((name for word, name in _QUANTIZATIONS if word in plain), plain)


def dtype_of(text: str | None) -> str | None:
    """Return a dtype in its long spelling; None where the engine's `auto` is meant."""
    plain = (text or "").strip().lower().removeprefix("torch.")
    return None if plain in {"auto", *_NONE_WORDS} else _DTYPES.get(plain, plain)


def cache_dtype_of(text: str | None) -> str | None:
    """Return a KV cache dtype in the engine's spelling; None where it is not given."""
    plain = (text or "").strip().lower().removeprefix("torch.")
    if plain in _NONE_WORDS:
        return None
    return {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2", **_DTYPES}.get(plain, plain)


def arguments_of_case(case: Case) -> Arguments:
    """Return the engine arguments of a case.

    Without a tensor parallel size the GPUs that are given are shared by the other forms of
    parallelism first.

    Raises:
        ProblemsError: when the arguments do not go together.

    """
    others = (case.pp or 1) * (case.dp or 1)
    tensor = case.tp or max(1, (case.n_gpus or 1) // others)
    try:
        return Arguments(
            max_model_len=case.max_model_len,
            gpu_memory_utilization=case.gpu_memory_utilization,
            max_num_seqs=case.max_num_seqs,
            max_num_batched_tokens=case.max_num_batched_tokens,
            kv_cache_dtype=cache_dtype_of(case.kv_cache_dtype),
            dtype=dtype_of(case.dtype),
            quantization=quantization_of(case.quant),
            block_size=case.block_size,
            enable_prefix_caching=case.enable_prefix_caching,
            enforce_eager=case.enforce_eager,
            kv_cache_memory_bytes=case.kv_cache_memory_bytes,
            tensor=tensor,
            pipeline=case.pp or 1,
            data=case.dp or 1,
            expert_parallel=case.ep is True or (case.ep or 0) > 1,
            context=case.dcp or 1,
            language_model_only=bool(case.language_model_only),
            speculative_tokens=case.speculative_tokens or 0,
            cpu_offload_gib=case.cpu_offload_gb or 0.0,
        )
    except ValidationError as error:
        raise ProblemsError("engine arguments", from_validation(error)) from None
