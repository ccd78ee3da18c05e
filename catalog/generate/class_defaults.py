"""Records what configuration classes of `transformers` stand for when a `config.json` is silent.

    python -m catalog.generate.class_defaults FILE

FILE is tests/models/architecture/class_defaults.json. Needs an environment of its own with
transformers (no torch); the project has none, since the memory
model reads `config.json` by itself. The record is what its tables of defaults are held against.
"""

import argparse
import importlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from models.architecture.families.registry import FAMILIES
from models.architecture.families.towers import TOWERS

_ROW: Final = re.compile(r'\("([\w.-]+)", "(\w+(?:ForCausalLM|ForConditionalGeneration))"\)')
_NUMBERS: Final = TypeAdapter(Annotated[list[int], Field(max_length=8)])


def recorded(types: Iterable[str], fields: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return by model type the fields that its class has without being told anything."""
    mapping: Any = importlib.import_module(
        "transformers.models.auto.configuration_auto"
    ).CONFIG_MAPPING
    rows: dict[str, dict[str, Any]] = {}
    for name in sorted(set(types)):
        try:
            config: Any = mapping[name]()
        except KeyError:
            # The class is in the checkpoint's own repository.
            continue
        object.__setattr__(config, "allow_global_per_layer_attribute_access", True)
        rows[name] = _row(config, fields)
    return rows


def _row(config: Any, fields: Sequence[str]) -> dict[str, Any]:
    row = {name: _plain(getattr(config, name, None)) for name in fields}
    kept = {name: value for name, value in row.items() if value is not None}
    layers: list[str] = list(getattr(config, "layer_types", None) or ())
    if "full_attention" in layers[1:] and layers[0] != "full_attention":
        kept["first_full_attention_layer"] = layers.index("full_attention") + 1
    rope: Mapping[str, Any] = getattr(config, "rope_parameters", None) or {}
    if isinstance(rope.get("partial_rotary_factor"), float):
        kept["partial_rotary_factor"] = rope["partial_rotary_factor"]
    return kept


def _plain(value: Any) -> Any:
    """Return a number, a flag or a short list of numbers; None for anything else."""
    if isinstance(value, int | float):
        return value
    try:
        return _NUMBERS.validate_python(value)
    except ValidationError:
        return None


def types_of_classes(source: str) -> dict[str, list[str]]:
    """Return by class the model types for which transformers takes it."""
    found: dict[str, list[str]] = {}
    for model_type, name in _ROW.findall(source):
        types = found.setdefault(name, [])
        if model_type not in types:
            types.append(model_type)
    return found


def main(arguments: Sequence[str]) -> int:
    """Write the record."""
    parser = argparse.ArgumentParser(description="record class defaults of transformers")
    parser.add_argument("target", type=Path)
    target: Path = parser.parse_args(arguments).target
    transformers: Any = importlib.import_module("transformers")
    known = (*FAMILIES.values(), *TOWERS.values())
    fields = sorted({name for each in known for name in each.defaults} | {"tie_word_embeddings"})
    auto = Path(transformers.__file__).parent / "models" / "auto" / "modeling_auto.py"
    record = {
        "transformers": transformers.__version__,
        "defaults": recorded((each.name for each in known), fields),
        "types_of_class": types_of_classes(auto.read_text(encoding="utf-8")),
    }
    target.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
