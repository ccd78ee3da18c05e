"""What a checkpoint's files hold, counted from the configuration.

Other tools read this from the hub: the safetensors headers state each tensor's dtype and shape.
Zero points and one-number scales are left out; they are below 0.1 % of a checkpoint.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from models.architecture import Architecture, Part, Scheme, SchemeKind, Weight, scheme_of

_DTYPES: Final[Mapping[str, str]] = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}


def header(found: Architecture, dtype: str) -> dict[str, int]:
    """Return how many elements of which dtype the checkpoint's files hold."""
    counted: Counter[str] = Counter()
    for weight in found.weights:
        if weight.part is Part.BUFFER or weight.derived_from is not None:
            continue
        layers = 1 if weight.layers is None else len(weight.layers)
        if not layers:
            continue
        each = weight.parameters // layers
        plain = _DTYPES.get(weight.dtype or dtype, "BF16")
        for scheme in _schemes(found, weight):
            counted.update(_stored(scheme, each, plain))
    return dict(sorted(counted.items()))


def _schemes(found: Architecture, weight: Weight) -> Sequence[Scheme]:
    layers: Sequence[int] = weight.layers if weight.layers is not None else (0,)
    head = weight.part is Part.HEAD
    quantization = found.quantization
    if not weight.linear or quantization is None or (head and not quantization.quantizes_head):
        return [Scheme(kind=SchemeKind.NONE)] * len(layers)
    return [
        scheme_of(
            quantization,
            tuple(name.format(layer) for name in weight.modules),
            expert=weight.experts > 0,
        )
        for layer in layers
    ]


def _stored(scheme: Scheme, number: int, plain: str) -> dict[str, int]:
    """Return one quantized weight's elements by dtype: data and scales (zero points left out)."""
    groups = number // scheme.group if scheme.group else 0
    match scheme.kind:
        case SchemeKind.NONE:
            return {plain: number}
        case SchemeKind.FP8_TENSOR | SchemeKind.FP8_CHANNEL | SchemeKind.FP8_BLOCK:
            high, wide = scheme.block or (number, 1)
            return {"F8_E4M3": number, "F32": max(1, number // (high * wide))}
        case SchemeKind.INT8_CHANNEL:
            return {"I8": number}
        case SchemeKind.WNA16:
            return {"I32": int(number * scheme.bits) // 32, "F16": groups}
        case SchemeKind.NVFP4:
            return {"U8": number // 2, "F8_E4M3": groups}
        case SchemeKind.MXFP8:
            return {"F8_E4M3": number, "U8": groups}
        case SchemeKind.BNB4:
            return {"U8": number // 2, "F32": groups}
        case SchemeKind.MXFP4:
            return {"U8": number // 2 + groups}
        case SchemeKind.GGUF:
            return {"U8": int(number * scheme.bits) // 8}
