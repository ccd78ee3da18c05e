"""The traps about memory, parallelism, dtype and length: a good replica, then one field broken.

Names are the cases of docs/traps.md.
"""

import re
from typing import Any

import pytest

from catalog.loader import load
from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, Verdict, budget
from models.memory.calculator import CalculatorInput, old_calculator
from models.memory.inputs.behavior import behavior_of_contract
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
CATALOG = load()
CONTRACT = CATALOG.engines["0.33.0"]


def ask(config: dict[str, Any], card: str = "h100-80gb", gpus: int = 1, **arguments: Any) -> Budget:
    """Return the budget of a model on a catalog card under the pinned engine."""
    accelerator = CATALOG.accelerators[card]
    return budget(
        BudgetRequest(
            architecture=architecture(config),
            card=Card(
                memory_gib=accelerator.memory_gib,
                capability=accelerator.capability,
                product=accelerator.product,
            ),
            behavior=behavior_of_contract(CONTRACT),
            arguments=EngineArguments(**arguments),
            n_gpus=gpus,
            minimum=CONTRACT.minimum_capability,
            quantization_names=dict(CONTRACT.quantization_names),
        )
    )


def model(name: str = LLAMA_8B, **changes: Any) -> dict[str, Any]:
    """Return a known configuration with some fields changed."""
    return {**configs()[name], **changes}


def refused(found: Budget, rule: str, words: str) -> None:
    """Assert that a budget refuses for a rule and says so, with the remedy."""
    assert found.verdict in (Verdict.CANNOT_START, Verdict.CANNOT_SERVE)
    assert rule in found.rules
    assert words in " ".join(found.reasons)


def test_the_compliant_replica_passes() -> None:
    assert ask(model(), max_model_len=8192).verdict is Verdict.FITS


@pytest.mark.parametrize(("heads", "tensor"), [(28, 8), (40, 3), (52, 8), (64, 6)])
def test_vllm_01_heads_that_cannot_be_divided(heads: int, tensor: int) -> None:
    config = model(num_attention_heads=heads, num_key_value_heads=4, head_dim=128)
    found = ask(config, gpus=tensor, tensor_parallel_size=tensor, max_model_len=4096)
    refused(found, "heads", "tensor parallel size to one of 1, 2, 4")


def test_vllm_02_kv_heads_that_neither_divide_nor_are_divided() -> None:
    broken = model(num_attention_heads=40, num_key_value_heads=10, head_dim=128)
    found = ask(broken, gpus=4, tensor_parallel_size=4, max_model_len=4096)
    refused(found, "kv-heads", "set the tensor parallel size to one of 1, 2, 5")


def test_vllm_02_replicated_kv_heads_pass_and_are_counted_whole() -> None:
    config = model(num_attention_heads=32, num_key_value_heads=4)
    eight = ask(config, gpus=8, tensor_parallel_size=8, max_model_len=4096)
    four = ask(config, gpus=4, tensor_parallel_size=4, max_model_len=4096)
    assert eight.verdict is Verdict.FITS
    assert eight.kv_heads_replicated
    assert not four.kv_heads_replicated
    assert eight.kv_bytes_per_token == four.kv_bytes_per_token


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}


@pytest.mark.parametrize("size", [29568, 13696])
def test_vllm_03_quantization_groups_that_ranks_would_cut(size: int) -> None:
    broken = model(intermediate_size=size, torch_dtype="float16", quantization_config=AWQ)
    refused(
        ask(broken, gpus=2, tensor_parallel_size=2, max_model_len=4096),
        "quantization-groups",
        "set the tensor parallel size to 1",
    )
    assert ask(broken, max_model_len=4096).verdict is Verdict.FITS


def test_vllm_04_bfloat16_before_ampere() -> None:
    """`auto` must be resolved from the checkpoint, not waved through."""
    small = model("Qwen/Qwen3-0.6B")
    broken = ask(small, card="t4", max_model_len=2048)
    refused(broken, "capability", "set dtype to half (float16)")
    assert broken.remedies[0].settings == {"dtype": "half"}
    assert ask(small, card="t4", max_model_len=2048, dtype="half").verdict is Verdict.FITS


def test_vllm_05_fp8_cache_on_ampere() -> None:
    broken = ask(model(), card="a100-80gb", max_model_len=8192, kv_cache_dtype="fp8")
    refused(broken, "capability", "set kv_cache_dtype to auto")
    assert ask(model(), card="a100-80gb", max_model_len=8192).verdict is Verdict.FITS


def test_vllm_07_prefix_caching_and_blocks_on_a_pure_ssm() -> None:
    config = model("tfdefault/Mamba2-Codestral")
    good = ask(config, max_model_len=2048, max_num_seqs=64)
    assert good.verdict is Verdict.FITS
    broken = ask(config, max_model_len=2048, max_num_seqs=64, enable_prefix_caching=True)
    refused(broken, "prefix-caching", "leave out --enable-prefix-caching")
    broken = ask(config, max_model_len=2048, max_num_seqs=64, block_size=16)
    refused(broken, "block-size", "leave out --block-size")


def test_vllm_09_one_request_must_fit_and_the_greatest_length_is_told() -> None:
    config = model("meta-llama/Llama-2-7b-hf", max_position_embeddings=32768)
    broken = ask(config, card="a10g", max_model_len=32768, gpu_memory_utilization=0.9)
    assert broken.verdict is Verdict.CANNOT_SERVE
    refused(broken, "one-request", "one request of 32768 tokens needs 16.00 GiB")
    longest = broken.longest_model_len or 0
    assert 2048 < longest < 16384
    shorter = ask(config, card="a10g", max_model_len=longest, gpu_memory_utilization=0.9)
    assert shorter.verdict is Verdict.FITS


def test_vllm_14_method_below_its_capability() -> None:
    """gpt-oss's MXFP4 needs 8.0; the checkpoint says so, no label does."""
    broken = ask(model("openai/gpt-oss-120b"), card="t4", max_model_len=4096, dtype="half")
    refused(broken, "capability", "quantization mxfp4 needs compute capability 8.0")


def test_vllm_15_utilization_of_what_the_card_has_free() -> None:
    broken = ask(model("Qwen/Qwen3-0.6B"), card="a10g", gpu_memory_utilization=1.0)
    refused(broken, "utilization", "set gpu_memory_utilization to 0.99 or less")
    shared = budget(
        BudgetRequest(
            architecture=architecture(model("Qwen/Qwen3-0.6B")),
            card=Card(memory_gib=22.05, capability=(8, 6), other_gib=11.0),
            behavior=behavior_of("0.33.0"),
            arguments=EngineArguments(gpu_memory_utilization=0.5, max_model_len=2048),
        )
    )
    refused(shared, "utilization", "are free at start")


def test_vllm_19_parallelism_that_is_not_the_gpus() -> None:
    refused(
        ask(model(), gpus=1, tensor_parallel_size=4), "gpus", "needs 4 GPUs, the replica gets 1"
    )
    refused(
        ask(model(), gpus=4, tensor_parallel_size=2), "gpus", "needs 2 GPUs, the replica gets 4"
    )


def test_pstk_05_volta_under_a_current_engine() -> None:
    broken = ask(model("Qwen/Qwen3-0.6B"), card="v100-16gb", dtype="half", max_model_len=2048)
    refused(broken, "capability", "this engine release needs compute capability 7.5")


def test_fb_13_graphs_come_out_of_the_budget_from_0_21() -> None:
    """The same utilization holds less after an upgrade."""

    def cache(version: str, *, eager: bool = False) -> float:
        found = budget(
            BudgetRequest(
                architecture=architecture(model()),
                card=Card(memory_gib=79.2, capability=(9, 0)),
                behavior=behavior_of(version),
                arguments=EngineArguments(
                    gpu_memory_utilization=0.9,
                    max_model_len=8192,
                    max_num_seqs=256,
                    max_num_batched_tokens=2048,
                    enforce_eager=eager,
                ),
            )
        )
        return found.kv_cache_gib or 0.0

    assert cache("0.24.0") < cache("0.18.0")
    assert cache("0.24.0", eager=True) == pytest.approx(cache("0.18.0", eager=True))


def test_more_sequences_than_state_blocks() -> None:
    """Graph capture aborts; the default of 1,024 sequences is the usual cause."""
    config = model("nvidia/Nemotron-H-56B-Base-8K")
    broken = ask(config, gpus=2, tensor_parallel_size=2, max_model_len=8192, max_num_seqs=1024)
    refused(broken, "mamba-blocks", "max_num_seqs (1024) exceeds")
    number = broken.remedies[0].settings["max_num_seqs"]
    assert isinstance(number, int)
    fixed = ask(config, gpus=2, tensor_parallel_size=2, max_model_len=8192, max_num_seqs=number)
    assert fixed.verdict is Verdict.FITS


def test_more_length_than_positions() -> None:
    refused(ask(model(), max_model_len=200_000), "positions", "set max_model_len to 131072")


def test_the_budget_is_per_replica_not_headroom_outside_it() -> None:
    """`--gpu-memory-utilization 0.90 leaves 10 % for the KV cache` is wrong: it lies inside."""
    found = ask(model(), max_model_len=8192, gpu_memory_utilization=0.9)
    assert found.requested_gib == pytest.approx(0.9 * 79.2, rel=0.01)
    assert (found.kv_cache_gib or 0) < 0.9 * 79.2 - 14.9


def test_two_hundred_llama_3_8b_requests_do_not_fit_an_a100() -> None:
    """At 4,096 tokens each takes half a GiB: about 100 to 128, not 200."""
    found = ask(model("meta-llama/Meta-Llama-3-8B"), card="a100-80gb", max_model_len=4096)
    assert found.needed_kv_gib == pytest.approx(0.5)
    assert 100 <= (found.max_concurrency or 0) <= 128


def test_the_old_calculator_is_kept_with_its_faults() -> None:
    given = CalculatorInput(
        total_vram=8.0, model_size=4.7, quant="awq", batch=1, context=8192, layers=32, heads=32
    )
    said = old_calculator(given)
    assert said is not None
    assert said.kv_cache_gb == pytest.approx(2 * 8192 * 32 * 32 * 0.5 / 1e9)
    assert said.fits
    ours = ask(model(), max_model_len=8192).kv_bytes_per_token
    theirs = old_calculator(given.model_copy(update={"quant": "fp16"}))
    assert theirs is not None
    assert ours == pytest.approx(32 * theirs.kv_cache_gb * 1e9 / 8192)


@pytest.mark.parametrize(
    ("version", "utilization", "said"),
    [("0.33.0", 0.9955, "more than is estimated inside"), ("0.18.0", 0.9965, "outside the budget")],
)
def test_a_refusal_of_graphs_names_what_it_compares(
    version: str, utilization: float, said: str
) -> None:
    """A message whose figures contradict it teaches people to ignore it."""
    found = budget(
        BudgetRequest(
            architecture=architecture(model()),
            card=Card(memory_gib=79.2, capability=(9, 0)),
            behavior=behavior_of(version),
            arguments=EngineArguments(
                gpu_memory_utilization=utilization,
                max_model_len=4096,
                max_num_seqs=2,
                max_num_batched_tokens=64,
            ),
        )
    )
    reason = next(text for text in found.reasons if "CUDA graphs" in text)
    assert said in reason
    wanted, left = (float(each) for each in re.findall(r"(\d+\.\d+) GiB", reason)[:2])
    assert wanted > left
