"""A checkpoint's quantization: from `quantization_config` to storage schemes and exceptions.

Formats: fp8 (with and without blocks), compressed-tensors, AWQ, GPTQ, ModelOpt (FP8, NVFP4, mixed),
MXFP4, bitsandbytes, GGUF. What is not known here is a problem that names the value.
"""

from collections.abc import Mapping
from typing import Final, cast

from pydantic import JsonValue

from models.architecture.config.fields import Fields, is_mapping
from models.architecture.config.patterns import names_of
from models.architecture.types import Quantization, Rule, Scheme, SchemeKind

FP8_TENSOR: Final = Scheme(kind=SchemeKind.FP8_TENSOR, bits=8)
FP8_CHANNEL: Final = Scheme(kind=SchemeKind.FP8_CHANNEL, bits=8)
INT8_CHANNEL: Final = Scheme(kind=SchemeKind.INT8_CHANNEL, bits=8)
NVFP4: Final = Scheme(kind=SchemeKind.NVFP4, bits=4, group=16)
MXFP4: Final = Scheme(kind=SchemeKind.MXFP4, bits=4, group=32)
MXFP8: Final = Scheme(kind=SchemeKind.MXFP8, bits=8, group=32)
BNB4: Final = Scheme(kind=SchemeKind.BNB4, bits=4, group=64)
NONE: Final = Scheme(kind=SchemeKind.NONE)

_MODELOPT: Final[Mapping[str, Scheme]] = {
    "FP8": FP8_TENSOR,
    "FP8_PER_CHANNEL_PER_TOKEN": FP8_CHANNEL,
    "FP8_PB_WO": Scheme(kind=SchemeKind.FP8_BLOCK, bits=8, block=(128, 128)),
    "NVFP4": NVFP4,
    "W4A16_NVFP4": NVFP4,
    "NVFP4_AWQ": NVFP4,
    "MXFP8": MXFP8,
}

GGUF_BITS: Final[Mapping[str, float]] = {
    "q4_0": 4.5,
    "q4_k_m": 4.83,
    "q5_k_m": 5.67,
    "q6_k": 6.5625,
    "q8_0": 8.5,
}
"""Bits per weight of GGUF's block formats, scales included (ggml's block layouts)."""


def named_scheme(name: str, *, group: int = 128) -> Scheme | None:
    """Return the scheme that an engine method's name stands for without a checkpoint's details."""
    plain = name.lower().strip()
    words: Mapping[str, Scheme] = {
        "fp8": FP8_TENSOR,
        "modelopt": FP8_TENSOR,
        "ptpc_fp8": FP8_CHANNEL,
        "fbgemm_fp8": FP8_CHANNEL,
        "int8": INT8_CHANNEL,
        "w8a8": INT8_CHANNEL,
        "nvfp4": NVFP4,
        "modelopt_fp4": NVFP4,
        "mxfp4": MXFP4,
        "gpt_oss_mxfp4": MXFP4,
        "mxfp8": MXFP8,
        "bitsandbytes": BNB4,
        "awq": Scheme(kind=SchemeKind.WNA16, bits=4, group=group, zero_points=True),
        "gptq": Scheme(kind=SchemeKind.WNA16, bits=4, group=group),
        "int4": Scheme(kind=SchemeKind.WNA16, bits=4, group=group),
    }
    for suffix in ("_marlin", "auto_"):
        plain = plain.removesuffix(suffix).removeprefix(suffix)
    if plain in words:
        return words[plain]
    if plain.startswith("gguf"):
        bits = GGUF_BITS.get(plain.removeprefix("gguf").strip())
        return None if bits is None else Scheme(kind=SchemeKind.GGUF, bits=bits)
    return None


def quantization(fields: Fields) -> Quantization | None:
    """Return how the checkpoint is quantized, or None for a 16-bit one."""
    section = fields.section("quantization_config") or fields.section("compression_config")
    if not section:
        return None
    inner = fields.within("quantization_config", section)
    # ModelOpt's own file has no method; the engine knows it by its algorithm.
    method = inner.text("quant_method", default="modelopt" if "quant_algo" in section else None)
    found = None
    if method is None:
        inner.missing("quant_method")
    else:
        found = _parse(method, inner)
    fields.problems.extend(inner.problems)
    fields.incomplete.extend(inner.incomplete)
    return found


def _parse(method: str, fields: Fields) -> Quantization | None:
    plain = method.lower().replace("-", "_")
    parsers = {
        "fp8": _fp8,
        "fbgemm_fp8": _fbgemm,
        "compressed_tensors": _compressed,
        "modelopt": _modelopt,
        "modelopt_fp4": _modelopt,
        "awq": _wna16,
        "gptq": _wna16,
        "mxfp4": _mxfp4,
        "bitsandbytes": _bitsandbytes,
    }
    parser = parsers.get(plain)
    if parser is None:
        fields.wrong("quant_method", method, ", ".join(sorted(parsers)))
        return None
    return parser(fields, method)


def _ignored(fields: Fields) -> tuple[str, ...]:
    return (
        fields.texts("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules") or ()
    )


def _modelopt_cache(fields: Fields) -> str | None:
    """Return the KV cache dtype that ModelOpt writes down (vLLM 0.33.0 `utils/torch_utils.py`)."""
    stated = fields.raw("kv_cache_scheme", "kv_cache_quant_algo")
    if is_mapping(stated):
        if stated.get("type", "float") != "float" or stated.get("dynamic") is True:
            return None
        bits = stated.get("num_bits")
        return "fp8_e4m3" if bits == 8 else "nvfp4" if bits == 4 else None
    text = stated.lower() if isinstance(stated, str) else ""
    return {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}.get(text)


def _fp8(fields: Fields, method: str) -> Quantization:
    block = fields.numbers("weight_block_size")
    scheme = FP8_TENSOR
    if block is not None:
        if len(block) != 2 or min(block) < 1:
            fields.wrong("weight_block_size", list(block), "two positive numbers")
        else:
            scheme = Scheme(kind=SchemeKind.FP8_BLOCK, bits=8, block=(block[0], block[1]))
    experts = fields.text("moe_quant_algo")
    if experts is not None and experts not in _MODELOPT:
        fields.wrong("moe_quant_algo", experts, ", ".join(sorted(_MODELOPT)))
    return Quantization(
        method=method,
        scheme=scheme,
        ignored=fields.texts("ignored_layers", "modules_to_not_convert") or (),
        expert_scheme=_MODELOPT.get(experts or ""),
    )


def _fbgemm(fields: Fields, method: str) -> Quantization:
    return Quantization(method=method, scheme=FP8_CHANNEL, ignored=_ignored(fields))


def _mxfp4(fields: Fields, method: str) -> Quantization:
    return Quantization(method=method, scheme=MXFP4, ignored=_ignored(fields), experts_only=True)


def _bitsandbytes(fields: Fields, method: str) -> Quantization:
    skipped = fields.texts("llm_int8_skip_modules") or ()
    scheme = INT8_CHANNEL if fields.flag("load_in_8bit") else BNB4
    return Quantization(method=method, scheme=scheme, ignored=skipped)


def _wna16(fields: Fields, method: str) -> Quantization:
    bits = fields.size("bits", "w_bit", default=4)
    group = fields.raw("group_size", "q_group_size")
    size = 128 if group is None else group
    if isinstance(size, bool) or not isinstance(size, int) or size < -1 or bits not in (2, 3, 4, 8):
        fields.wrong("bits, group_size", [bits, size], "2, 3, 4 or 8 bits; a group or -1")
        return Quantization(method=method, scheme=NONE)
    zero_points = method.lower() == "awq" or not fields.flag("sym", default=True)
    scheme = Scheme(kind=SchemeKind.WNA16, bits=bits, group=max(0, size), zero_points=zero_points)
    return Quantization(method=method, scheme=scheme, ignored=_ignored(fields))


def _modelopt(fields: Fields, method: str) -> Quantization:
    algorithm = fields.text("quant_algo", default=None)
    kv_cache = _modelopt_cache(fields)
    if algorithm == "MIXED_PRECISION":
        layers = fields.section("quantized_layers")
        if not layers:
            fields.incomplete.append("quantization_config.quantized_layers")
        by_scheme: dict[Scheme, list[str]] = {}
        for name, entry in layers.items():
            by_scheme.setdefault(_modelopt_layer(fields, name, entry), []).append(name)
        rules = tuple(
            Rule(patterns=tuple(names), scheme=scheme) for scheme, names in by_scheme.items()
        )
        return Quantization(
            method=method,
            scheme=NONE,
            rules=rules,
            ignored=_ignored(fields),
            kv_cache_dtype=kv_cache,
            quantizes_head="lm_head" in layers,
        )
    scheme = NONE if algorithm is None else _MODELOPT.get(algorithm)
    if scheme is None or algorithm is None:
        fields.wrong("quant_algo", algorithm, ", ".join(sorted(_MODELOPT)) + ", MIXED_PRECISION")
        scheme = NONE
    listed = fields.raw("ignore", "exclude_modules", "modules_to_not_convert") is not None
    return Quantization(
        method=method,
        scheme=scheme,
        ignored=_ignored(fields),
        kv_cache_dtype=kv_cache,
        assumed=scheme == NVFP4 and not listed,
    )


def _modelopt_layer(fields: Fields, name: str, entry: JsonValue) -> Scheme:
    algorithm = entry.get("quant_algo") if is_mapping(entry) else None
    scheme = _MODELOPT.get(algorithm) if isinstance(algorithm, str) else None
    if scheme is None:
        fields.wrong(f"quantized_layers.{name}", entry, "a quant_algo known to ModelOpt")
        return NONE
    return scheme


def _compressed(fields: Fields, method: str) -> Quantization:
    cache = fields.section("kv_cache_scheme")
    groups = fields.section("config_groups")
    if not groups:
        fields.incomplete.append("quantization_config.config_groups")
    rules: list[Rule] = []
    general: Scheme = NONE
    for name, group in groups.items():
        if not is_mapping(group):
            fields.wrong(f"config_groups.{name}", group, "an object")
            continue
        scheme = _compressed_scheme(fields, name, group)
        targets = group.get("targets")
        names = cast("list[str]", targets) if isinstance(targets, list) else ["Linear"]
        if "Linear" in names:
            general = scheme
        else:
            rules.append(Rule(patterns=tuple(str(each) for each in names), scheme=scheme))
    return Quantization(
        method=method,
        scheme=general,
        rules=tuple(rules),
        ignored=_ignored(fields),
        kv_cache_dtype="fp8_e4m3" if cache.get("num_bits") == 8 else None,
    )


def _compressed_scheme(fields: Fields, name: str, group: Mapping[str, JsonValue]) -> Scheme:
    weights = group.get("weights")
    if not is_mapping(weights):
        fields.wrong(f"config_groups.{name}.weights", weights, "an object")
        return NONE
    bits, kind = weights.get("num_bits"), weights.get("type")
    strategy, size = weights.get("strategy"), weights.get("group_size")
    group_size = size if isinstance(size, int) and size > 0 else 0
    if kind == "float" and bits == 8:
        return _compressed_fp8(strategy, weights.get("block_structure"), group_size)
    if kind == "float" and bits == 4:
        return MXFP4 if group_size == 32 else NVFP4
    if kind == "int" and bits == 8 and group.get("input_activations") is not None:
        return INT8_CHANNEL
    if kind == "int" and isinstance(bits, int) and bits in (2, 3, 4, 8):
        symmetric = weights.get("symmetric") is not False
        return Scheme(kind=SchemeKind.WNA16, bits=bits, group=group_size, zero_points=not symmetric)
    fields.wrong(f"config_groups.{name}.weights", dict(weights), "int or float of 2 to 8 bits")
    return NONE


def _compressed_fp8(strategy: JsonValue, structure: JsonValue, group: int) -> Scheme:
    if strategy == "block":
        block = (128, 128)
        if isinstance(structure, list) and len(structure) == 2:
            first, second = structure
            if isinstance(first, int) and isinstance(second, int) and min(first, second) > 0:
                block = (first, second)
        return Scheme(kind=SchemeKind.FP8_BLOCK, bits=8, block=block)
    if group == 32:
        return MXFP8
    return FP8_TENSOR if strategy == "tensor" else FP8_CHANNEL


def scheme_of(found: Quantization | None, modules: tuple[str, ...], *, expert: bool) -> Scheme:
    """Return how a linear weight merged from `modules` (full names) is stored.

    A merged weight is one scheme: the first module that a rule or an ignore entry names decides,
    as in the engine, which wants merged modules to agree.
    """
    if found is None:
        return NONE
    for rule in found.rules:
        listed = names_of(rule.patterns)
        if any(listed.has(module) for module in modules):
            return rule.scheme
    ignored = names_of(found.ignored)
    if any(ignored.has(module) for module in modules):
        return NONE
    if found.experts_only and not expert:
        return NONE
    return (found.expert_scheme if expert else None) or found.scheme
