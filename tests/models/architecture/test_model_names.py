"""A model's name is never guessed by a part of it: a known name, or unknown with the nearest."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from benchmarks.shared.memory_cases import model_names
from catalog.loader import load
from catalog.readers import names as tables
from catalog.readers.tables import gpu_families
from models.architecture import architecture
from models.architecture.names.name_words import NameWords, WordRow
from models.architecture.names.names import Alias, ModelNames, model_key
from models.cases.asking import Sources, ask
from models.cases.cards import CardNames
from models.cases.cases import Case
from models.cases.quantization import quantization_in_name
from models.memory import budget
from tests.helpers.models.memory_data import read

pytestmark = pytest.mark.pure

BASE: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "quantization_config": {"quant_method": "fp8"},
}
WORDS = NameWords(
    formats=(WordRow(words=("awq", "fp8", "bf16", "unsloth bnb 4bit", "q4 k m"), source="test"),),
    details=(WordRow(words=("dynamic", "4bit"), source="test"),),
    remarks=(WordRow(words=("shape", "id not printed"), source="test"),),
)


def named(*others: Alias) -> ModelNames:
    alias = Alias(id="org/Base-7B-Instruct", names=("Base 7B",), configuration=BASE, source="test")
    return ModelNames(lambda: (alias, *others), {}, lambda: WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "org/Base-7B-Instruct",
        "ORG/base_7b-instruct",
        "base 7b",
        "else/Base-7B-Instruct",
        "Base-7B-Instruct",
        "else/Base-7B-Instruct-AWQ",
        "else/Base-7B-Instruct-FP8-dynamic",
        "else/Base-7B-Instruct-unsloth-bnb-4bit",
        "Base-7B-Instruct-Q4_K_M",
        "org/Base-7B-Instruct (AWQ)",
        "Base-7B-Instruct shape (id not printed)",
    ],
)
def test_a_whole_name_and_words_of_a_format_are_read(text: str) -> None:
    assert named().configuration(text) == BASE


@pytest.mark.parametrize(
    "text",
    [
        "org/Base-7B-Instruct-upscaled-14B",
        "org/Base-7B-Instruct-MoE-8x",
        "org/My-Base-7B-Instruct",
        "org/Base-7B-Instruct-dynamic",
        "org/Base-7B-Instruct-AWQ-merged",
        "a fine-tune (org/base-7b-instruct) of mine",
        "org/Base-7B-Instruct (MoE)",
        "Base",
        "AWQ",
        "",
    ],
)
def test_any_other_word_makes_it_unknown(text: str) -> None:
    assert named().configuration(text) is None


def test_numbers_keep_what_stands_between_them() -> None:
    """Qwen2-57B-A14B once found the sizes of Qwen2.5-7B."""
    assert model_key("Qwen/Qwen2-57B") != model_key("Qwen/Qwen2.5-7B")
    assert model_key("Qwen/Qwen2.5_7B") == model_key("qwen/qwen 2.5-7b")
    assert model_key("gpt-oss-120b") == model_key("GPT OSS 120B")


def test_one_name_of_two_models_is_read_as_neither() -> None:
    other = Alias(id="else/Base-7B-Instruct", like="org/Base-7B-Instruct", source="test")
    wide = other.model_copy(update={"changes": {"vocab_size": 64000}})
    assert named(other).configuration("third/Base-7B-Instruct") == BASE
    assert named(wide).configuration("third/Base-7B-Instruct") is None
    assert (named(wide).configuration("else/Base-7B-Instruct") or {})["vocab_size"] == 64000


def test_alternatives_are_read_if_they_mean_one_configuration() -> None:
    def table(**changes: JsonValue) -> ModelNames:
        later = Alias(id="org/Fam3.6-7B", like="org/Fam3.5-7B", changes=changes, source="test")
        first = Alias(id="org/Fam3.5-7B", configuration=BASE, source="test")
        return named(first, later)

    assert table().configuration("Fam3.5/3.6-7B shape") == BASE
    assert table(vocab_size=7).configuration("Fam3.5/3.6-7B") is None
    assert table().configuration("Fam3.5/3.7-7B") is None


def test_sixteen_bit_copies_lose_the_quantization() -> None:
    """Else a BF16 copy of a quantized model would weigh half or a quarter."""
    assert "quantization_config" not in (named().configuration("x/Base-7B-Instruct-BF16") or {})


def test_the_nearest_is_the_longest_known_beginning() -> None:
    short = Alias(id="org/Base", configuration=BASE, source="test")
    names = named(short)
    assert names.nearest("x/Base-7B-Instruct-MoE") == "org/Base-7B-Instruct"
    assert names.nearest("x/Base-13B") == "org/Base"
    assert names.nearest("x/Bsae-7B-Instruct") == "org/Base-7B-Instruct"
    assert names.nearest("wholly different") is None


@pytest.fixture(scope="module", name="sources")
def real_sources() -> Sources:
    read("model_configs.json")
    catalog = load()
    cards = CardNames(catalog.accelerators, tables.other_gpus(), gpu_families())
    return Sources(catalog=catalog, names=model_names(), cards=cards)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("acme/Qwen2.5-7B-Instruct-upscaled-14B", "Qwen/Qwen2.5-7B-Instruct"),
        ("x/Mistral-7B-Instruct-v0.2-MoE-8x", "mistralai/Mistral-7B-Instruct-v0.2"),
    ],
)
def test_a_model_made_from_another_is_unknown_and_the_nearest_is_named(
    name: str, nearest: str, sources: Sources
) -> None:
    asked = ask(Case(model=name, gpu="H100 80GB"), sources)
    assert asked.request is None
    assert len(asked.missing) == 1
    assert nearest in asked.missing[0]


def test_what_a_name_is_read_as_is_said(sources: Sources) -> None:
    asked = ask(Case(model="acme/Qwen2.5-7B-Instruct-AWQ", gpu="H100 80GB"), sources)
    assert any("Qwen/Qwen2.5-7B-Instruct" in note and "awq" in note for note in asked.notes)
    assert any("quantization: awq" in note for note in asked.notes)


def test_an_ambiguous_gpu_is_unknown_without_its_memory(sources: Sources) -> None:
    """One run's "ROCm GPU" was an MI300X; others are not."""
    case = Case(model="Qwen/Qwen2.5-7B-Instruct", gpu="ROCm GPU")
    assert ask(case, sources).request is None
    sized = ask(case.model_copy(update={"gpu_mem_gib": 63.98}), sources)
    assert sized.request is not None
    assert sized.request.card.memory_gib == 63.98


RUNS_WITHOUT_A_MODEL = {
    "Qwen/Qwen3.8-Flash-Next",
    "Chinese-alpaca-2 (size not printed)",
    "nvidia Nemotron 120B (NIM)",
}
"""No configuration is at hand; the size, or which of three formats, is not said."""


def test_the_visible_runs_keep_their_models() -> None:
    lines = [json.loads(line) for line in read("vram_cases.jsonl").splitlines()]
    names = model_names()
    unread = {line["model"] for line in lines if names.read(line["model"]) is None}
    assert unread == RUNS_WITHOUT_A_MODEL


def test_two_spellings_never_mean_two_models() -> None:
    names = model_names()
    owners: dict[str, Mapping[str, JsonValue] | None] = {}
    for name in names.known():
        assert owners.setdefault(model_key(name), names.exactly(name)) == names.exactly(name), name


def test_every_alias_has_a_configuration() -> None:
    names = model_names()
    empty = [name for name in names.known() if names.exactly(name) is None]
    assert not empty


def test_eight_bit_gptq_is_not_taken_for_four(sources: Sources) -> None:
    """Half of the weights would be missing: 7.6 billion elements take 7.1 GiB in 8 bit."""
    assert quantization_in_name("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8") == "int8"
    for quant in (None, "gptq"):
        case = Case(model="Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", gpu="H100 80GB", quantization=quant)
        request = ask(case, sources).request
        assert request is not None
        assert (budget(request).weights_gib or 0.0) > 7.6e9 / 2**30
    bf16 = names_bytes("unsloth/gpt-oss-20b-BF16")
    assert bf16 > 2 * names_bytes("openai/gpt-oss-20b")


def names_bytes(name: str) -> float:
    """Return the bytes of a model's parameters as they are stored."""
    from models.memory.terms.weights import Rank, weight_bytes

    config = model_names().configuration(name)
    assert config is not None
    return weight_bytes(architecture(config), Rank(), "new").raw
