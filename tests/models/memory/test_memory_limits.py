"""What lies beside the budget, and what is offered where it does not fit.

CUDA graphs: inside the budget from 0.20 (with a slack for their estimate), beside it before, where
the memory of the activation peak is free again when they are captured (docs/sources.md).
"""

from typing import Any

import pytest

from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, Verdict, budget
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
NEVER_FREE = 0.2
"""GiB that the driver and the context hold before the engine starts (docs/memory-model.md)."""


def ask(
    version: str,
    beside: float,
    *,
    memory: float = 80.0,
    config: dict[str, Any] | None = None,
    **arguments: Any,
) -> Budget:
    """Return a budget that leaves `beside` GiB of the card free beside itself."""
    explicit = {
        "max_model_len": 4096,
        "gpu_memory_utilization": (memory - NEVER_FREE - beside) / memory,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 2048,
        **arguments,
    }
    return budget(
        BudgetRequest(
            architecture=architecture(config or configs()[LLAMA_8B]),
            card=Card(memory_gib=memory, capability=(9, 0)),
            behavior=behavior_of(version),
            arguments=EngineArguments.model_validate(explicit),
        )
    )


@pytest.mark.parametrize(("beside", "fits"), [(0.29, False), (0.31, True)])
def test_inside_the_budget_graphs_need_a_slack_of_0_3_gib(beside: float, fits: bool) -> None:
    found = ask("0.33.0", beside)
    assert (found.verdict is Verdict.FITS) is fits
    assert ("cuda-graphs" in found.rules) is not fits


def test_before_0_20_graphs_take_the_room_of_the_activation_peak() -> None:
    """More than lies beside the budget, less than that with the peak."""
    found = ask("0.18.0", 0.02)
    graphs, peak = found.cuda_graph_gib or 0.0, found.activation_gib or 0.0
    assert 0.02 < graphs < peak, "the example does not tell"
    assert found.verdict is Verdict.FITS


def test_before_0_20_graphs_that_find_no_room_refuse_the_start() -> None:
    """Two sequences and steps of 64 tokens: the peak is smaller than the graphs."""
    small: dict[str, Any] = {"max_num_seqs": 2, "max_num_batched_tokens": 64}
    found = ask("0.18.0", 0.0, **small)
    graphs, peak = found.cuda_graph_gib or 0.0, found.activation_gib or 0.0
    assert graphs > peak
    assert list(found.rules) == ["cuda-graphs"]
    assert found.remedies[0].settings == {"enforce_eager": True}
    enough = ask("0.18.0", graphs - peak + 0.01, **small)
    assert enough.verdict is Verdict.FITS
    assert ask("0.18.0", graphs - peak - 0.01, **small).verdict is Verdict.CANNOT_START
    assert ask("0.18.0", 0.0, enforce_eager=True, **small).verdict is Verdict.FITS


def test_graphs_inside_the_budget_shrink_the_cache_and_outside_they_do_not() -> None:
    """The cache is what the budget leaves: with graphs from 0.20 on, without before."""
    for version, inside in (("0.19.0", False), ("0.20.0", True), ("0.33.0", True)):
        found, eager = ask(version, 8.0), ask(version, 8.0, enforce_eager=True)
        lost = (eager.kv_cache_gib or 0.0) - (found.kv_cache_gib or 0.0)
        assert lost == pytest.approx((found.cuda_graph_gib or 0.0) if inside else 0.0, abs=1e-6)
        assert eager.cuda_graph_gib == 0.0


def test_bytes_given_for_the_cache_ask_nothing_of_what_lies_beside() -> None:
    found = ask("0.33.0", 0.0, kv_cache_memory_bytes=8 * 2**30, gpu_memory_utilization=1.0)
    assert found.verdict is Verdict.FITS


def offered(found: Budget) -> set[str]:
    """Return the names of the settings that remedies change."""
    return {name for remedy in found.remedies for name in remedy.settings}


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}


def test_weights_in_16_bit_are_offered_to_be_quantized_and_others_are_not() -> None:
    """Online quantization of a checkpoint that states its own is refused by the engine."""
    tight: dict[str, Any] = {
        "memory": 12.0,
        "max_model_len": 2048,
        "max_num_seqs": 4,
        "enforce_eager": True,
    }
    plain = ask("0.33.0", 0.6, **tight)
    assert plain.verdict is Verdict.CANNOT_START
    assert "quantization" in offered(plain)
    stated = {**configs()[LLAMA_8B], "torch_dtype": "float16", "quantization_config": AWQ}
    small: dict[str, Any] = {**tight, "memory": 5.5}
    refused = ask("0.33.0", 0.6, config=stated, **small)
    assert refused.verdict is Verdict.CANNOT_START
    assert "quantization" not in offered(refused)


def test_five_remedies_at_the_most_and_the_shorter_length_first() -> None:
    found = ask("0.33.0", 1.0, memory=24.0, max_model_len=131072)
    assert found.verdict is Verdict.CANNOT_SERVE
    assert len(found.remedies) in range(1, 6)
    length = found.remedies[0].settings["max_model_len"]
    assert length == (found.longest_model_len or 0) // 256 * 256


def test_each_running_sequence_needs_a_block_of_its_state() -> None:
    """As many blocks as sequences start; one less refuses, and eager mode does not check it."""
    config = configs()["nvidia/Nemotron-H-56B-Base-8K"]
    asked: dict[str, Any] = {
        "config": config,
        "memory": 141.0,
        "max_model_len": 8192,
        "max_num_batched_tokens": 8192,
        "enable_prefix_caching": False,
        "max_num_seqs": 64,
    }
    block = ask("0.33.0", 10.0, **asked).kv_bytes_per_block or 0
    enough = ask("0.33.0", 10.0, **asked, kv_cache_memory_bytes=64 * block)
    assert "mamba-blocks" not in enough.rules
    short = ask("0.33.0", 10.0, **asked, kv_cache_memory_bytes=64 * block - 1)
    assert "mamba-blocks" in short.rules
    assert short.remedies[0].settings == {"max_num_seqs": 63}
    eager = ask("0.33.0", 10.0, **asked, kv_cache_memory_bytes=64 * block - 1, enforce_eager=True)
    assert "mamba-blocks" not in eager.rules


@pytest.mark.parametrize(
    ("capability", "offered_there"), [((8, 6), False), ((8, 9), True), ((9, 0), True)]
)
def test_fp8_is_offered_from_ada_on(capability: tuple[int, int], offered_there: bool) -> None:
    """Cards before 8.9 have neither an FP8 cache nor online quantization in FP8."""
    found = budget(
        BudgetRequest(
            architecture=architecture(configs()[LLAMA_8B]),
            card=Card(memory_gib=24.0, capability=capability),
            behavior=behavior_of("0.33.0"),
            arguments=EngineArguments(
                max_model_len=65536,
                gpu_memory_utilization=0.95,
                max_num_seqs=8,
                max_num_batched_tokens=2048,
            ),
        )
    )
    assert found.verdict is Verdict.CANNOT_SERVE
    assert ({"kv_cache_dtype": "fp8"} in [each.settings for each in found.remedies]) is (
        offered_there
    )


def test_more_gpus_are_offered_as_powers_of_two_up_to_sixteen() -> None:
    """70B on cards of 24 GiB: eight hold it, two and four do not."""
    found = ask(
        "0.33.0",
        1.0,
        memory=24.0,
        config=configs()["meta-llama/Llama-3.3-70B-Instruct"],
        max_num_seqs=8,
    )
    sizes = [remedy.settings.get("tensor_parallel_size") for remedy in found.remedies]
    assert 8 in sizes
    assert 2 not in sizes
    assert 4 not in sizes
    started = ask(
        "0.33.0",
        1.0,
        memory=24.0,
        config=configs()["meta-llama/Llama-3.3-70B-Instruct"],
        max_num_seqs=8,
        tensor_parallel_size=2,
    )
    assert 8 in [remedy.settings.get("tensor_parallel_size") for remedy in started.remedies]
