"""Models outside the catalog, by name, against what vLLM 0.33.0 itself said of them.

Asked with `goldens.oracle` on a machine without a GPU (docs/goldens.md): max_model_len 4096, 256
sequences, the release's step on that card, prefix caching as it chose. Configurations are those
of the table of names, so that a wrong field there shows.
"""

import pytest

from benchmarks.shared.memory_cases import model_names
from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.facts.accelerators import capability
from models.memory import BudgetRequest, Card
from models.memory.verdict.measure import measure
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

ENGINE = [
    ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "9.0", 8, 140613132288, 12779520, 178913280),
    ("Qwen/Qwen3-VL-8B-Instruct", "9.0", 1, 17811805184, 2359296, 603979776),
    ("Qwen/Qwen3-VL-30B-A3B-Instruct", "9.0", 2, 31266697728, 786432, 201326592),
    ("XiaomiMiMo/MiMo-V2-Flash", "9.0", 4, 77785860096, 184320, 260444160),
    ("ibm-granite/granite-4.0-h-tiny", "9.0", 1, 13878127616, 3276800, 124518400),
    ("ai21labs/AI21-Jamba-1.5-Mini", "9.0", 4, 25789016064, 327680, 21626880),
    ("microsoft/phi-4", "9.0", 2, 14790027264, 1638400, 419430400),
    ("zai-org/GLM-4.5-Air", "9.0", 4, 53527800320, 753664, 192937984),
    ("Qwen/Qwen2.5-VL-7B-Instruct", "9.0", 1, 16723462656, 917504, 234881024),
    ("CohereForAI/c4ai-command-r-v01", "9.0", 2, 35014803456, 10485760, 2684354560),
    ("Qwen/Qwen3.5-122B-A10B", "9.0", 4, 61411897856, 13369344, 173801472),
    ("nvidia/Qwen3.6-27B-NVFP4", "10.0", 1, 21281600000, 52428800, 629145600),
    ("nvidia/Gemma-4-31B-IT-NVFP4", "10.0", 1, 33438912000, 5242880, 1871708160),
    ("nvidia/Qwen3.5-122B-A10B-NVFP4", "10.0", 2, 39308041216, 25952256, 259522560),
    ("google/gemma-4-E4B-it", "10.0", 1, 16459317248, 262144, 236191744),
    ("ibm-granite/granite-4.0-h-small", "10.0", 2, 32314982400, 4325376, 151388160),
    ("nvidia/MiniMax-M2.5-NVFP4", "10.0", 4, 33800113152, 507904, 130023424),
]
"""Name, compute capability, ranks; bytes of rank 0 as allocated, of a pool block, of a request."""


BESIDE = {
    "Qwen/Qwen3-VL-8B-Instruct": 722_432,
    "Qwen/Qwen3-VL-30B-A3B-Instruct": 687_616,
    "XiaomiMiMo/MiMo-V2-Flash": 49_152,
    "Qwen/Qwen2.5-VL-7B-Instruct": 1_360_896,
    "Qwen/Qwen3.5-122B-A10B": 606_208,
    "nvidia/Qwen3.6-27B-NVFP4": 2_271_744,
    "nvidia/Gemma-4-31B-IT-NVFP4": 2_446_336,
    "nvidia/Qwen3.5-122B-A10B-NVFP4": 1_865_728,
    "google/gemma-4-E4B-it": 874_496,
    "ibm-granite/granite-4.0-h-small": 1_048_576,
    "nvidia/MiniMax-M2.5-NVFP4": -23_998_464,
}
"""Bytes that the engine's answer has beside what is counted: small tensors of towers and kernels,
and MiniMax's exceptions, which are not listed. All others are equal to the byte."""


@pytest.mark.parametrize(("name", "card", "tensor", "weights", "block", "need"), ENGINE)
def test_weights_and_cache_are_the_engines(
    name: str, card: str, tensor: int, weights: int, block: int, need: int
) -> None:
    config = model_names().configuration(name)
    assert config is not None
    has = capability(card)
    taken = measure(
        BudgetRequest(
            architecture=architecture(config),
            card=Card(memory_gib=178.36 if has[0] == 10 else 79.18, capability=has),
            behavior=behavior_of("0.33.0"),
            arguments=EngineArguments(
                max_model_len=4096,
                max_num_seqs=256,
                tensor_parallel_size=tensor,
                enable_prefix_caching=True,
            ),
        )
    )
    scales = [
        4 * 512 * len(cache.layers)
        for cache in taken.request.architecture.caches
        if not cache.kind.is_state
    ]
    said = (taken.weights_gib or 0) * 2**30 + sum(scales)
    assert round(said) == weights - BESIDE.get(name, 0)
    assert taken.plan.block_bytes == block
    assert taken.plan.need_bytes == need
