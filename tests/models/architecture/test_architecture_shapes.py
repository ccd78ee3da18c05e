"""Single numbers of architectures, by hand: what no golden's sizes tell apart."""

from typing import Any

import pytest

from models.architecture import CacheKind, Part, architecture
from tests.helpers.models.memory_data import configs

pytestmark = pytest.mark.pure

LITE = "deepseek-ai/DeepSeek-V2-Lite"
SPARSE = "deepseek-ai/DeepSeek-V3.2"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def test_a_latent_is_its_rank_and_its_rotary_part() -> None:
    """512 and 64 numbers per token, one head's."""
    found = architecture(configs()[LITE])
    assert (found.head_dim, found.kv_heads, found.heads) == (576, 1, 16)
    assert [cache.head_dim for cache in found.caches] == [576]


@pytest.mark.parametrize(("size", "entry"), [(128, 132), (129, 137), (256, 264), (257, 269)])
def test_an_index_key_has_a_scale_for_each_128_numbers(size: int, entry: int) -> None:
    """One byte a number, a float32 for every 128 of them and the rest."""
    found = architecture({**configs()[SPARSE], "index_head_dim": size})
    index = found.caches[-1]
    assert (index.kind, index.entry_bytes) == (CacheKind.MLA, entry)


MODELOPT: dict[str, Any] = {
    "quant_method": "modelopt",
    "quant_algo": "FP8",
    "exclude_modules": ["lm_head"],
}


@pytest.mark.parametrize(
    ("written", "dtype"),
    [
        # vLLM 0.33.0 `utils/torch_utils.py`: static floats of 8 and of 4 bits.
        ({"kv_cache_scheme": {"type": "float", "num_bits": 8}}, "fp8_e4m3"),
        ({"kv_cache_scheme": {"num_bits": 8, "dynamic": False}}, "fp8_e4m3"),
        ({"kv_cache_scheme": {"type": "float", "num_bits": 4}}, "nvfp4"),
        ({"kv_cache_scheme": {"type": "float", "num_bits": 16}}, None),
        ({"kv_cache_scheme": {"type": "int", "num_bits": 8}}, None),
        ({"kv_cache_scheme": {"type": "float", "num_bits": 8, "dynamic": True}}, None),
        ({"kv_cache_quant_algo": "FP8"}, "fp8_e4m3"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"kv_cache_quant_algo": "INT8"}, None),
        ({}, None),
    ],
)
def test_modelopt_writes_down_the_dtype_of_the_cache(
    written: dict[str, Any], dtype: str | None
) -> None:
    config = {**configs()[LLAMA], "quantization_config": {**MODELOPT, **written}}
    found = architecture(config).quantization
    assert found is not None
    assert found.kv_cache_dtype == dtype


@pytest.mark.parametrize("layers", [1, 1024])
def test_as_many_layers_as_a_model_can_have(layers: int) -> None:
    config = {**configs()[LLAMA], "num_hidden_layers": layers}
    assert architecture(config).num_layers == layers


def test_a_towers_layer_has_four_norms_with_weight_and_bias_counted() -> None:
    """Two LayerNorms of a vision transformer's layer, each a weight and a bias."""
    found = architecture(configs()["google/gemma-3-27b-it"])
    width = configs()["google/gemma-3-27b-it"]["vision_config"]["hidden_size"]
    norms = [
        weight
        for weight in found.weights
        if weight.part is Part.VISION and weight.columns == 1 and weight.copies == 27
    ]
    vectors = [sum(rows.size for rows in weight.rows) for weight in norms]
    # Beside them the biases of queries, keys and values, of the output, and of the two of the MLP.
    intermediate = configs()["google/gemma-3-27b-it"]["vision_config"]["intermediate_size"]
    assert sorted(vectors) == sorted([*[width] * 4, 3 * width, width, intermediate, width])
