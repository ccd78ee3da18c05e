"""Tables of defaults, ties and classes against what transformers itself says.

`class_defaults.json` is made by `python -m catalog.generate.class_defaults` from the release that
it names; nothing in it was typed.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from models.architecture.families.registry import FAMILIES, text_type
from models.architecture.families.towers import TOWERS
from models.architecture.names.facts import config_of_facts

pytestmark = pytest.mark.pure

RECORD: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("class_defaults.json").read_text(encoding="utf-8")
)
UPSTREAM: Final[dict[str, dict[str, Any]]] = RECORD["defaults"]
CLASSES: Final[dict[str, list[str]]] = RECORD["types_of_class"]

IN_FIVE_OTHERWISE: Final = {
    # transformers 5 writes the layers out (`layer_types`): where the first full one comes.
    "full_attention_interval": "first_full_attention_layer",
    "sliding_window_pattern": "first_full_attention_layer",
}
NOT_IN_FIVE: Final = {("gemma4_text", "global_head_dim")}
"""Held by the engine's own answers instead (`engine_families.json`, the goldens)."""

TIED_IN_ITS_TEXT_PART_ONLY: Final = {"qwen3_vl_moe_text"}
"""The outer configuration, which the engine asks, says false."""


DEFAULTS: Final = {each.name: each.defaults for each in (*FAMILIES.values(), *TOWERS.values())}


@pytest.mark.parametrize("model_type", sorted(name for name in DEFAULTS if DEFAULTS[name]))
def test_a_default_is_the_classes(model_type: str) -> None:
    if model_type in FAMILIES and FAMILIES[model_type].own_code:
        return
    for field, value in DEFAULTS[model_type].items():
        if (model_type, field) in NOT_IN_FIVE:
            assert field not in UPSTREAM[model_type]
            continue
        known = UPSTREAM[model_type].get(IN_FIVE_OTHERWISE.get(field, field))
        assert known == value, f"{field} of {model_type}"


@pytest.mark.parametrize("model_type", sorted(set(UPSTREAM) & set(FAMILIES)))
def test_what_is_tied_is_tied_by_its_class(model_type: str) -> None:
    tied = bool(UPSTREAM[model_type].get("tie_word_embeddings"))
    if model_type in TIED_IN_ITS_TEXT_PART_ONLY:
        assert tied
        return
    assert FAMILIES[model_type].tied == tied


def test_every_known_type_is_a_type_of_transformers_or_brings_its_code() -> None:
    """Also the reminder to ask transformers of a family that is new."""
    assert set(FAMILIES) - set(UPSTREAM) == {
        each.name for each in FAMILIES.values() if each.own_code
    }
    assert len(UPSTREAM) > 80


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_is_of_the_types_that_transformers_gives_it(name: str) -> None:
    """A summary names the class; whoever reads it needs the type, of the text part at that."""
    found = config_of_facts({"architectures": [name], "layer_pattern": None}).get("model_type")
    if found is not None:
        types = {text_type(each) for each in CLASSES[name]}
        assert found in types


def test_many_classes_are_known() -> None:
    known = [
        name
        for name in CLASSES
        if config_of_facts({"architectures": [name], "layer_pattern": None}).get("model_type")
    ]
    assert {"LlamaForCausalLM", "CohereForCausalLM", "Qwen3ForCausalLM"} <= set(known)
    assert len(known) > 25
