"""Summaries of configurations: one flat record per model, as tools collect them.

A record holds the fields of `config.json` under one set of names, null where its source had none
(docs/sources.md#configurations-of-models). `config_of_facts` gives back a configuration that
`architecture` reads; what the record lacks stays missing and is named there.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from models.architecture.config.fields import is_mapping
from models.architecture.families.registry import FAMILIES, OF_CLASS

_NOT_CONFIG: Final = frozenset(
    {
        "source",
        "note",
        "total_params_b",
        "safetensors_gib",
        "other",
        "mamba",
        "linear_attention",
        "layer_pattern",
        "quantization",
    }
)


def is_facts(record: Mapping[str, JsonValue]) -> bool:
    """Tell whether a mapping is such a summary and not a `config.json`."""
    return "layer_pattern" in record or "safetensors_gib" in record or "note" in record


def config_of_facts(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the configuration that a summary stands for."""
    config: dict[str, JsonValue] = {
        name: value
        for name, value in record.items()
        if name not in _NOT_CONFIG and value is not None
    }
    for section in ("mamba", "linear_attention", "other"):
        inner = record.get(section)
        if is_mapping(inner):
            config.update({name: value for name, value in inner.items() if value is not None})
    classes = record.get("architectures")
    if "model_type" not in config and isinstance(classes, list) and classes:
        family = OF_CLASS.get(str(classes[0]))
        config["model_type"] = None if family is None else family.name
    _pattern(config, record.get("layer_pattern"))
    quantization = _quantization(record)
    if quantization:
        config["quantization_config"] = quantization
    _restated(config)
    return config


def _restated(config: dict[str, JsonValue]) -> None:
    """Give fields that summaries write under one name the name of the model's own class."""
    kind = config.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    families = [family] if family is not None else []
    if kind is None:
        families = [each for each in FAMILIES.values() if each.summarized_without_type]
    for each in families:
        if each.restate is not None:
            each.restate(config)


def _pattern(config: dict[str, JsonValue], pattern: JsonValue) -> None:
    """Write a summary's layer pattern as the configuration would."""
    if not is_mapping(pattern):
        return
    kinds = pattern.get("pattern")
    if isinstance(kinds, str):
        config["hybrid_override_pattern"] = kinds
    elif isinstance(kinds, list) and kinds:
        words = isinstance(kinds[0], str)
        config["layers_block_type" if words else "hybrid_layer_pattern"] = kinds
    period, layers = pattern.get("period"), config.get("num_hidden_layers")
    if isinstance(period, list) and period and isinstance(layers, int) and 0 < layers <= 1024:
        config["layer_types"] = [period[number % len(period)] for number in range(layers)]


def _quantization(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a summary's quantization, with the method where only its algorithm is given.

    What a summary leaves out (groups, layers) stays out: the weights are unknown then.
    """
    section = record.get("quantization")
    other = record.get("other")
    if not is_mapping(section):
        method = other.get("quantMethod") if is_mapping(other) else None
        return {"quant_method": "fp8"} if method == "fp8" else {}
    if "quant_method" not in section and "quant_algo" in section:
        return {**section, "quant_method": "modelopt"}
    return dict(section) if "quant_method" in section else {}
