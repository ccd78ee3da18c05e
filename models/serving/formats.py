"""What format a checkpoint is in: from its configuration, else from the names of its files.

The engine reads the method from `quantization_config`; what it is told on the command line must
agree with that. Names of files only count where the configuration says nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from models.architecture import Architecture, Scheme, SchemeKind, named_scheme
from models.architecture.types import Quantization
from models.core.base import Model
from models.core.findings import Finding
from models.core.problems import shown

FORMATS: Final = (
    "bf16",
    "fp16",
    "fp8",
    "awq",
    "gptq",
    "nvfp4",
    "mxfp4",
    "mxfp8",
    "int8",
    "w4a16",
    "bitsandbytes",
    "gguf",
)
CONTAINERS: Final = ("auto", "safetensors")
"""Words for a format that say nothing of the weights: what the checkpoint says stands."""

_UNQUANTIZED: Final = {"bfloat16": "bf16", "float16": "fp16"}

_OF_SCHEME: Final[Mapping[SchemeKind, str]] = {
    SchemeKind.FP8_TENSOR: "fp8",
    SchemeKind.FP8_CHANNEL: "fp8",
    SchemeKind.FP8_BLOCK: "fp8",
    SchemeKind.INT8_CHANNEL: "int8",
    SchemeKind.NVFP4: "nvfp4",
    SchemeKind.MXFP4: "mxfp4",
    SchemeKind.MXFP8: "mxfp8",
    SchemeKind.BNB4: "bitsandbytes",
    SchemeKind.GGUF: "gguf",
}

SIDE_FILES: Final[Mapping[str, str]] = {
    "hf_quant_config.json": "modelopt",
    "quant_config.json": "awq",
    "quantize_config.json": "gptq",
}
"""Files beside config.json in which older tools wrote the quantization, and their method."""

_NAMED: Final = ("nvfp4", "mxfp4", "mxfp8", "awq", "gptq", "gguf", "fp8", "w4a16", "int8")


class FoundFormat(Model):
    """A checkpoint's format, how it is known, and the method to tell the engine (or None)."""

    format: str
    why: str
    quantization: str | None = None
    warnings: tuple[str, ...] = ()


def merged_config(
    config: Mapping[str, JsonValue], side: Mapping[str, Mapping[str, JsonValue]]
) -> dict[str, JsonValue]:
    """Return the configuration with the quantization that stands in a file beside it.

    `side` are the parsed `SIDE_FILES` by name. A configuration that has its own keeps it, as in
    the engine.
    """
    found = dict(config)
    if found.get("quantization_config") or found.get("compression_config"):
        return found
    for name, method in SIDE_FILES.items():
        if name in side:
            found["quantization_config"] = _side_section(side[name], method)
            return found
    return found


def _side_section(section: Mapping[str, JsonValue], method: str) -> dict[str, JsonValue]:
    """Return a side file's content as `quantization_config`; ModelOpt nests it one level down."""
    inner = section.get("quantization") if method == "modelopt" else None
    content = dict(inner) if isinstance(inner, dict) else dict(section)
    return {"quant_method": method, **content}


def stored_format(architecture: Architecture) -> str:
    """Return the format that the configuration states."""
    if architecture.quantization is None:
        return _UNQUANTIZED.get(architecture.dtype, "bf16")
    scheme = _main_scheme(architecture.quantization)
    if scheme.kind is SchemeKind.WNA16:
        method = architecture.quantization.method.lower()
        return next((name for name in ("awq", "gptq") if name in method), "w4a16")
    return _OF_SCHEME.get(scheme.kind, architecture.quantization.method)


def _main_scheme(quantization: Quantization) -> Scheme:
    """Return the scheme of most weights; a checkpoint of mixed ones has it in its rules."""
    if quantization.scheme.kind is not SchemeKind.NONE or not quantization.rules:
        return quantization.scheme
    return max(quantization.rules, key=lambda rule: len(rule.patterns)).scheme


def named_format(names: Iterable[str]) -> str | None:
    """Return the format that names of files, or of their directory, tell, or None."""
    text = " ".join(names).lower()
    return next((word for word in _NAMED if word in text), None)


def find_format(
    architecture: Architecture, names: Sequence[str], asked: str | None
) -> tuple[FoundFormat, list[Finding]]:
    """Return the format of a checkpoint; `asked` overrides what was detected.

    What contradicts the checkpoint's own statement is a problem: the engine compares the two and
    stops.
    """
    stated = stored_format(architecture)
    if asked is not None and asked.lower() not in CONTAINERS:
        return _asked(architecture, stated, asked.lower())
    if architecture.quantization is not None:
        why = f"config.json: quantization_config.quant_method {architecture.quantization.method}"
        return FoundFormat(format=stated, why=why), []
    hint = named_format(names)
    if hint is None:
        why = f"config.json: no quantization_config, dtype {architecture.dtype}"
        return FoundFormat(format=stated, why=why), []
    why = f"the names of the files say {hint}; config.json has no quantization_config"
    return _told(hint, why), []


def _asked(
    architecture: Architecture, stated: str, asked: str
) -> tuple[FoundFormat, list[Finding]]:
    if asked not in FORMATS:
        problem = Finding(
            path="format",
            message="no such format",
            value=shown(asked),
            allowed=", ".join((*FORMATS, *CONTAINERS)),
        )
        return FoundFormat(format=stated, why="config.json"), [problem]
    if asked == stated:
        return FoundFormat(format=stated, why="asked for, and config.json agrees"), []
    if architecture.quantization is not None:
        problem = Finding(
            path="format",
            message="the checkpoint says otherwise, and the engine would stop at the contradiction",
            value=shown(asked),
            allowed=f"{stated} (quant_method {architecture.quantization.method})",
            remedy="leave --format out, or give the checkpoint that is in this format",
        )
        return FoundFormat(format=stated, why="config.json"), [problem]
    if asked in _UNQUANTIZED.values():
        return FoundFormat(format=asked, why=f"asked for; config.json says {stated}"), []
    return _told(asked, "asked for; config.json has no quantization_config"), []


_METHODS: Final[Mapping[str, str]] = {
    "nvfp4": "modelopt_fp4",
    "w4a16": "compressed-tensors",
    "int8": "int8_per_channel_weight_only",
}
"""What the engine calls a format where it has another word for it (vLLM 0.33.0's parser)."""

_ONLINE: Final = frozenset({"fp8", "mxfp8", "int8"})
"""Formats that the engine makes of a 16-bit checkpoint while it loads."""


def _told(name: str, why: str) -> FoundFormat:
    """Return a format that the engine must be told, since the configuration lacks it."""
    warnings = ()
    if name not in _ONLINE:
        text = f"vLLM wants the details of {name} beside the weights (quantization_config, or "
        warnings = (text + ", ".join(SIDE_FILES) + "): without them it stops",)
    return FoundFormat(
        format=name, why=why, quantization=_METHODS.get(name, name), warnings=warnings
    )


def under_format(architecture: Architecture, chosen: FoundFormat) -> Architecture:
    """Return the architecture as stored in a format that its configuration does not state."""
    name = chosen.format
    scheme = named_scheme("int4" if name == "w4a16" else name)
    if chosen.quantization is None or scheme is None or architecture.quantization is not None:
        return architecture
    stored = Quantization(
        method=chosen.quantization,
        scheme=scheme,
        experts_only=name == "mxfp4",
        online=name in _ONLINE,
    )
    return architecture.model_copy(update={"quantization": stored})
