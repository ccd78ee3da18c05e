"""Checkpoints by name: what is stored how, and that the table of names gives their sizes."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from benchmarks.shared.memory_cases import model_names
from models.architecture import SchemeKind, architecture, with_quantization
from models.cases.quantization import quantization_in_name, stored_as_named
from models.core.problems import ProblemsError
from models.engine.arguments import EngineArguments
from models.memory.terms.rank import Rank
from models.memory.terms.weights import weight_bytes
from tests.helpers.models.memory_data import configs, read

pytestmark = pytest.mark.pure

ONE_GPU = Rank(
    tensor=1,
    pipeline=1,
    stage=0,
    data=1,
    expert_parallel=False,
    capability=(9, 0),
    padded_mxfp4=False,
    marlin_mxfp4=False,
    dtype=None,
    batched_tokens=8192,
)

MORE_IN_THE_FILES = {
    "openai/gpt-oss-120b": "the repository holds the weights twice",
    "openai/gpt-oss-20b": "the repository holds the weights twice",
    "google/gemma-3-4b-it": "the rotary table of linear scaling is the engine's own",
    "mistralai/Ministral-3-3B-Instruct-2512": "its tower is not described",
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4": "its exceptions and draft are not described",
    "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4": "the draft is in 16 bit and not loaded",
    "Qwen/Qwen3.5-397B-A17B-GPTQ-Int4": "the draft is in 16 bit and not loaded",
    "deepseek-ai/DeepSeek-V4-Flash-0731": "the drafts are not loaded",
}
"""Where the files and the engine's weights differ by more than 3 %, and why."""


def test_the_table_of_names_gives_the_sizes_of_the_checkpoints() -> None:
    """A wrong field in a configuration known by heart shows in the bytes; drafts are 2 %."""
    known, compared = model_names(), 0
    records = cast("dict[str, dict[str, Any]]", json.loads(read("model_configs.json")))
    for name, record in records.items():
        size = record.get("safetensors_gib")
        if size is None or name in MORE_IN_THE_FILES:
            continue
        config = known.configuration(name)
        if config is None or config.get("model_type") is None:
            continue
        try:
            found = architecture(config)
        except ProblemsError:
            continue
        if found.incomplete:
            continue
        counted = weight_bytes(found, ONE_GPU, "new").raw / 2**30
        assert counted == pytest.approx(size, rel=0.03), name
        compared += 1
    assert compared >= 36


@pytest.mark.parametrize(
    ("name", "gib_per_gpu", "ranks"),
    [("Inferact/Qwen3.8-27B-NVFP4", 12.02, 2), ("unsloth/Qwen3.8-27B-NVFP4", 10.64, 2)],
)
def test_two_builds_of_one_model_have_their_own_size(
    name: str, gib_per_gpu: float, ranks: int
) -> None:
    """Both are "NVFP4"; what else they keep differs by 2.8 GiB (vLLM's recipes)."""
    config = model_names().configuration(name)
    assert config is not None
    rank = replace(ONE_GPU, tensor=ranks, capability=(12, 0))
    weights = weight_bytes(architecture(config), rank, "new").allocated / 2**30
    assert weights == pytest.approx(gib_per_gpu, rel=0.04)


def test_exceptions_of_a_named_quantization_are_those_of_its_kind() -> None:
    def named(model: str) -> dict[str, SchemeKind]:
        found = with_quantization(architecture(configs()[model]), "nvfp4").quantization
        assert found is not None
        assert found.assumed
        return {pattern: rule.scheme.kind for rule in found.rules for pattern in rule.patterns}

    assert named("Qwen/Qwen3.5-27B")["linear_attn"] is SchemeKind.FP8_TENSOR
    assert named("deepseek-ai/DeepSeek-V2-Lite")["self_attn"] is SchemeKind.NONE
    assert named("Qwen/Qwen3-30B-A3B")["self_attn"] is SchemeKind.NONE
    assert named("meta-llama/Llama-3.1-8B-Instruct") == {}


def test_a_modelopt_checkpoint_without_its_list_is_assumed_one_with_it_is_not() -> None:
    plain: dict[str, Any] = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    base = configs()["Qwen/Qwen3-30B-A3B"]
    bare = architecture({**base, "quantization_config": plain}).quantization
    listed = architecture({**base, "quantization_config": {**plain, "ignore": []}}).quantization
    assert bare is not None
    assert listed is not None
    assert (bare.assumed, bool(bare.rules)) == (True, True)
    assert (listed.assumed, bool(listed.rules)) == (False, False)


def test_modelopt_is_known_by_its_algorithm_and_tells_the_cache() -> None:
    """Checkpoints exist whose section has no `quant_method`, and whose cache is a word."""
    base = configs()["Qwen/Qwen3-30B-A3B"]
    section: dict[str, Any] = {"quant_algo": "FP8", "kv_cache_scheme": "FP8", "ignore": ["lm_head"]}
    found = architecture({**base, "quantization_config": section}).quantization
    assert found is not None
    assert found.kv_cache_dtype == "fp8_e4m3"
    dynamic: dict[str, Any] = {
        **section,
        "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": True},
    }
    found = architecture({**base, "quantization_config": dynamic}).quantization
    assert found is not None
    assert found.kv_cache_dtype is None


def test_experts_in_nvfp4_beside_fp8_blocks() -> None:
    """DeepSeek V4's NVFP4 build: `moe_quant_algo`; its `ignore` is not the FP8 method's field."""
    base = configs()["deepseek-ai/DeepSeek-V4-Flash"]
    section: dict[str, Any] = {
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "ignore": ["*.attn.*"],
    }
    plain = architecture({**base, "quantization_config": section}).quantization
    built: dict[str, Any] = {**section, "moe_quant_algo": "NVFP4"}
    found = architecture({**base, "quantization_config": built}).quantization
    assert plain is not None
    assert found is not None
    assert plain.ignored == ()
    assert found.expert_scheme is not None
    assert found.expert_scheme.kind is SchemeKind.NVFP4
    assert found.scheme.kind is SchemeKind.FP8_BLOCK


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("nvidia/DeepSeek-R1-FP4", "nvfp4"),
        ("casperhansen/llama-3.3-70b-instruct-awq", "awq"),
        ("RedHatAI/Llama-4-Scout-17B-16E-Instruct-quantized.w4a16", "int4"),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", "int8"),
        ("Qwen3-8B-Q4_K_M.gguf", "gguf q4_k_m"),
        ("turboderp/Qwen3-8B-exl3", "exl3"),
        ("Qwen/Qwen3-8B", None),
        ("meta-llama/Llama-3.1-8B-Instruct", None),
        (None, None),
    ],
)
def test_the_method_in_a_checkpoints_name(name: str | None, method: str | None) -> None:
    assert quantization_in_name(name) == method


def test_a_checkpoint_made_from_an_fp8_model_is_stored_as_named() -> None:
    """`DeepSeek-R1-AWQ` finds R1's configuration, whose FP8 would count it twice as large."""
    shape = architecture(configs()["deepseek-ai/DeepSeek-R1"])
    made = stored_as_named("some/DeepSeek-R1-AWQ", shape, EngineArguments())
    assert made.shape.quantization is None
    assert made.arguments.quantization == "awq"
    assert made.note is not None
    same = stored_as_named("some/DeepSeek-R1", shape, EngineArguments(quantization="fp8"))
    assert same.shape.quantization == shape.quantization


def test_summaries_that_name_each_layer_are_read() -> None:
    """Nemotron 3 Ultra has no number of layers, MiMo its windows as a list."""
    known = model_names()
    for name, layers in (
        ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 108),
        ("XiaomiMiMo/MiMo-V2-Flash", 48),
        ("stepfun-ai/Step-3.7-Flash", 45),
    ):
        config = known.configuration(name)
        assert config is not None, name
        found = architecture(config)
        assert found.num_layers == layers
        assert not found.incomplete
