"""Reading a vLLM start-up log: what the engine measured, and the arguments that it prints.

Formats by release, read in the source distributions of 0.9.2 to 0.33.0:

- to 0.10 (first engine): "model weights take 2.88GiB; non_torch_memory takes ..; PyTorch activation
  peak memory takes ..; the rest of the memory reserved for KV Cache is ..", "# GPU blocks: N" or
  "# cuda blocks: N", "Loading model weights took 14.99 GB" (GiB, in spite of the unit);
- all: "Model loading took X GiB", "Available KV cache memory: X GiB", "GPU KV cache size: N
  tokens", "Maximum concurrency for N tokens per request: Nx", "Graph capturing finished .., took X
  GiB";
- 0.10.2 to 0.24: "Actual usage is X GiB for weight, Y GiB for peak activation, Z GiB for non-torch
  memory, and W GiB for CUDAGraph memory";
- from 0.31: "Actual usage is X GiB for consumed memory (weights + non-torch), Y GiB for peak
  activation, and Z GiB ..", where the peak includes the estimate of CUDA graphs that was deducted;
- "To serve at least one request .." of a run that did not start.

Several ranks print the same lines: the least KV memory and the most of anything else are kept,
since the engine goes by the worst rank.
"""

import re
from collections.abc import Callable
from typing import Final

from pydantic import Field

from models.core.base import Model
from models.engine.arguments import ARGUMENTS


class Measured(Model):
    """What a log says; GiB where the name says so, None where it says nothing.

    `consumed_gib` is weights and non-torch memory together. `graph_estimate_gib` was taken out of
    the KV budget, `cuda_graph_gib` is what capturing really took. `peak_gib` is as printed;
    `peak_has_graphs` tells whether it includes the estimate.
    """

    free_gib: float | None = None
    total_gib: float | None = None
    utilization: float | None = None
    requested_gib: float | None = None
    weights_gib: float | None = None
    consumed_gib: float | None = None
    non_torch_gib: float | None = None
    peak_gib: float | None = None
    peak_has_graphs: bool = False
    graph_estimate_gib: float | None = None
    cuda_graph_gib: float | None = None
    kv_cache_gib: float | None = None
    gpu_blocks: int | None = None
    kv_cache_tokens: int | None = None
    max_concurrency: float | None = None
    needed_kv_gib: float | None = None


class StartupLog(Model):
    """A log: what was measured, and what it says about model, release and arguments."""

    measured: Measured
    model: str | None = None
    gpu: str | None = None
    version: str | None = None
    settings: dict[str, str] = Field(default_factory=dict)
    """Engine arguments as the log spells them, by the engine's own names."""


_N: Final = r"(-?[\d.]+)\s*"
_GIB: Final = _N + r"(?:GiB|GB)"

_PATTERNS: Final[tuple[tuple[str, str, Callable[..., float]], ...]] = (
    ("free_gib", r"Free memory on device[^(]*\(" + _N + r"/[\d.]+\s*GiB\)", min),
    ("free_gib", r"[Ff]ree:? " + _N + r"/[\d.]+(?: GiB)?;", min),
    ("total_gib", r"Free memory on device[^(]*\([\d.]+/" + _GIB, min),
    ("total_gib", r"total_gpu_memory \(" + _GIB, min),
    ("utilization", r"gpu_memory_utilization \(" + _N + r"\)", min),
    ("utilization", r"[Dd]esired GPU memory utilization is \(" + _N + ",", min),
    ("requested_gib", r"[Dd]esired GPU memory utilization is \([\d.]+,\s*" + _GIB, min),
    ("requested_gib", r"gpu_memory_utilization \([\d.]+\) = " + _GIB, min),
    ("weights_gib", r"Model loading took " + _GIB, max),
    ("weights_gib", r"Loading model weights took " + _GIB, max),
    ("weights_gib", r"model weights take " + _GIB, max),
    ("weights_gib", r"Actual usage is " + _GIB + r" for weight\b", max),
    ("consumed_gib", r"Actual usage is " + _GIB + r" for consumed memory", max),
    ("non_torch_gib", r"non_torch_memory takes " + _GIB, max),
    ("non_torch_gib", _GIB + r" for non-torch memory", max),
    ("peak_gib", r"PyTorch activation peak memory takes " + _GIB, max),
    ("peak_gib", _GIB + r" for peak activation", max),
    ("graph_estimate_gib", r"Estimated CUDA graph memory: " + _GIB, max),
    ("graph_estimate_gib", r"\(actual\), " + _GIB + r" \(estimated\)", max),
    ("cuda_graph_gib", r"CUDA graph pool memory: " + _GIB + r" \(actual\)", max),
    ("cuda_graph_gib", r"Graph capturing finished in .*?took " + _GIB, max),
    ("cuda_graph_gib", _GIB + r" for CUDAGraph memory", max),
    ("kv_cache_gib", r"Available KV cache memory: " + _GIB, min),
    ("kv_cache_gib", r"memory reserved for KV Cache is " + _GIB, min),
    ("kv_cache_gib", r"available KV cache\s+memory \(" + _GIB, min),
    ("kv_cache_gib", r"Current kv cache memory in use is " + _GIB, min),
    ("gpu_blocks", r"# (?:GPU|cuda|CUDA|rocm|ROCm) blocks: " + _N, min),
    ("kv_cache_tokens", r"(?:GPU )?KV cache size: ([\d,]+) tokens", min),
    ("max_concurrency", r"Maximum concurrency for [\d,]+ tokens per request: " + _N + "x", min),
    ("needed_kv_gib", r"max seq len \([\d,]+\),? \(?" + _GIB + r" KV", max),
)

_WHOLE: Final = frozenset({"gpu_blocks", "kv_cache_tokens"})

_VALUE: Final = r"['\"]?\s*[=:]\s*['\"]?([\w.\-/]+)"


def read_log(text: str) -> StartupLog:
    """Return what a start-up log says. Lines that are not known are passed over."""
    found: dict[str, float | int] = {}
    for name, pattern, worst in _PATTERNS:
        values = [v for v in map(_number, re.findall(pattern, text)) if v is not None]
        if values and name not in found:
            value = worst(values)
            found[name] = int(value) if name in _WHOLE else float(value)
    estimate = _deducted_share(text)
    if estimate is not None and "total_gib" in found and "graph_estimate_gib" not in found:
        found["graph_estimate_gib"] = estimate * found["total_gib"]
    has_graphs = "for consumed memory (weights + non-torch)" in text
    measured = Measured.model_validate({**found, "peak_has_graphs": has_graphs})
    return StartupLog(
        measured=measured,
        model=_model(text),
        gpu=_first(text, _CARD),
        version=_first(text, r"engine \(v([^)\s]+)\)|vLLM (?:API server )?version v?([\w.+]+)"),
        settings=_settings(text),
    )


_CARD: Final = r"(NVIDIA (?:GeForce |RTX |Tesla )*[A-Z]*\d[\w-]*(?: \d+GB[ \w]*| NVL| Ti)?)"


def _model(text: str) -> str | None:
    """Return the model's name; where it was loaded from a folder, the name it is served by."""
    named = _first(text, r"with config: .*?model='([^']+)'|non-default args: .*?'model': '([^']+)'")
    served = _first(text, r"served_model_name=\[?'?([^',\]\s]+)")
    return served if served is not None and (named or "/").startswith("/") else named


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").rstrip("."))
    except ValueError:
        return None


def _first(text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return None if found is None else next((g.strip() for g in found.groups() if g), None)


def _deducted_share(text: str) -> float | None:
    """Return the share of the card that graphs took, as 0.21 and later say it."""
    found = re.search(
        r"--gpu-memory-utilization=([\d.]+) is\s+equivalent to --gpu-memory-utilization=([\d.]+)",
        text,
    )
    return None if found is None else max(0.0, float(found[1]) - float(found[2].rstrip(".")))


def _settings(text: str) -> dict[str, str]:
    """Return the arguments in the printed configuration; `non-default args` win."""
    found: dict[str, str] = {}
    printed = "\n".join(re.findall(r"with config: .*", text))
    asked = "\n".join(re.findall(r"non-default args: .*", text))
    for source in (printed, asked):
        for name in ARGUMENTS:
            match = re.search(r"(?<![\w.])" + name + _VALUE, source)
            if match is not None and match[1] not in ("None", "auto"):
                found[name] = match[1].removeprefix("torch.").removeprefix("AttentionBackendEnum.")
    length = _first(text, r"max_seq_len=(\d+)|Using max model len (\d+)")
    if length is None:
        length = _first(text, r"Maximum concurrency for ([\d,]+) tokens per request")
    if length is not None:
        found["max_model_len"] = length.replace(",", "")
    tokens = _first(text, r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)")
    if tokens is not None:
        found["max_num_batched_tokens"] = tokens
    return found
