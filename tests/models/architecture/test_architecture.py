"""From config.json to an architecture: what is there is read, what is missing is named."""

import json
from contextlib import suppress
from typing import Any, cast

import pytest

from models.architecture import CacheKind, Family, Part, SchemeKind, architecture, matches
from models.architecture.names.facts import config_of_facts
from models.core.problems import ProblemsError
from tests.helpers.models.memory_data import configs, read

pytestmark = pytest.mark.pure

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def problems(config: dict[str, Any]) -> str:
    """Return the text of what is wrong with a configuration."""
    with pytest.raises(ProblemsError) as caught:
        architecture(config)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "family", "kinds"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", Family.TRANSFORMER, {CacheKind.FULL}),
        ("Qwen/Qwen3-30B-A3B", Family.MOE, {CacheKind.FULL}),
        ("openai/gpt-oss-120b", Family.MOE, {CacheKind.FULL, CacheKind.SLIDING}),
        ("google/gemma-2-9b-it", Family.TRANSFORMER, {CacheKind.FULL, CacheKind.SLIDING}),
        (
            "meta-llama/Llama-4-Scout-17B-16E-Instruct",
            Family.MOE,
            {CacheKind.FULL, CacheKind.CHUNKED},
        ),
        ("deepseek-ai/DeepSeek-R1", Family.MOE, {CacheKind.MLA}),
        ("Qwen/Qwen3.5-27B", Family.HYBRID, {CacheKind.FULL, CacheKind.GDN}),
        ("moonshotai/Kimi-K3", Family.HYBRID, {CacheKind.MLA, CacheKind.KDA}),
        ("tfdefault/Jamba", Family.HYBRID, {CacheKind.FULL, CacheKind.MAMBA1}),
        ("tfdefault/Falcon-H1", Family.HYBRID, {CacheKind.FULL, CacheKind.MAMBA2}),
        ("tfdefault/Mamba2-Codestral", Family.SSM, {CacheKind.MAMBA2}),
    ],
)
def test_families_and_attention_kinds(name: str, family: Family, kinds: set[CacheKind]) -> None:
    found = architecture(configs()[name])
    assert found.family is family
    assert set(found.attention_kinds) == kinds


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 8.03),
        ("meta-llama/Llama-3.3-70B-Instruct", 70.55),
        ("Qwen/Qwen3-30B-A3B", 30.53),
        ("deepseek-ai/DeepSeek-R1", 671.0),
        ("openai/gpt-oss-120b", 116.8),
        ("google/gemma-2-9b-it", 9.24),
    ],
)
def test_parameters_are_the_models_own_count(name: str, billions: float) -> None:
    found = architecture(configs()[name])
    assert sum(found.parameters().values()) / 1e9 == pytest.approx(billions, rel=0.003)


def test_parts_are_told_apart() -> None:
    parts = architecture(configs()["deepseek-ai/DeepSeek-R1"]).parameters()
    wanted = {Part.EMBEDDING, Part.HEAD, Part.ATTENTION, Part.EXPERTS, Part.SHARED_EXPERTS}
    assert wanted | {Part.ROUTER, Part.MLP, Part.NORM} <= set(parts)
    assert parts[Part.EXPERTS] > 0.9 * sum(parts.values())


def test_a_missing_field_is_named_not_guessed() -> None:
    broken = {k: v for k, v in LLAMA.items() if k not in ("hidden_size", "num_attention_heads")}
    text = problems(broken)
    assert "hidden_size" in text
    assert "num_attention_heads" in text


def test_a_field_that_only_weights_need_leaves_the_cache_known() -> None:
    """Half a configuration still tells the KV cache; the weights stay unknown, and say so."""
    half = {k: v for k, v in LLAMA.items() if k != "intermediate_size"}
    found = architecture(half)
    assert found.incomplete
    assert "intermediate_size" in found.incomplete[0]
    assert found.caches == architecture(LLAMA).caches


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "brand_new"}, "this model type is not known"),
        ({"kv_lora_rank": 512}, "kv_lora_rank: the field is not understood"),
        ({"layer_types": ["strange"] * 32}, "layer_types: the value cannot be used"),
        ({"torch_dtype": "float8"}, "torch_dtype: the value cannot be used"),
        ({"num_hidden_layers": "many"}, "num_hidden_layers"),
        ({"quantization_config": {"quant_method": "magic"}}, "quant_method"),
    ],
)
def test_what_is_not_understood_is_an_error(change: dict[str, Any], words: str) -> None:
    assert words in problems({**LLAMA, **change})


def test_all_problems_are_told_at_once() -> None:
    text = problems({"model_type": "llama"})
    assert text.count("the field is missing") >= 3


def test_class_defaults_are_used_and_said() -> None:
    config = {**LLAMA, "model_type": "gemma2", "num_attention_heads": 16}
    found = architecture(config)
    assert found.head_dim == 256
    assert "head_dim = 256 by the class default" in found.notes


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, SchemeKind.FP8_BLOCK),
        ({"quant_method": "fp8"}, SchemeKind.FP8_TENSOR),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, SchemeKind.WNA16),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, SchemeKind.WNA16),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, SchemeKind.NVFP4),
        ({"quant_method": "mxfp4"}, SchemeKind.MXFP4),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, SchemeKind.BNB4),
    ],
)
def test_quantization_formats(section: dict[str, Any], kind: SchemeKind) -> None:
    found = architecture({**LLAMA, "quantization_config": section})
    assert found.quantization is not None
    assert found.quantization.scheme.kind is kind


@pytest.mark.parametrize(
    ("pattern", "module", "named"),
    [
        ("lm_head", "lm_head", True),
        ("gate", "layers.3.mlp.gate", True),
        ("gate", "layers.3.mlp.gate_proj", False),
        ("model.layers.1.mlp", "layers.1.mlp.down_proj", True),
        ("model.layers.1.mlp", "layers.10.mlp.down_proj", False),
        ("re:.*self_attn.*", "layers.0.self_attn.q_proj", True),
        ("model.language_model.layers.0.mlp*", "layers.0.mlp.up_proj", True),
        ("re:(", "layers.0.mlp.up_proj", False),
    ],
)
def test_ignore_lists(pattern: str, module: str, *, named: bool) -> None:
    assert matches(pattern, module) is named


def test_summaries_are_read_like_configurations() -> None:
    """The collected summaries hold most models' fields under one set of names."""
    table = cast("dict[str, dict[str, Any]]", json.loads(read("model_configs.json")))
    read_whole = 0
    for record in table.values():
        if record.get("hidden_size") is None:
            continue
        with suppress(ProblemsError):
            read_whole += not architecture(config_of_facts(record)).incomplete
    assert read_whole >= 100
