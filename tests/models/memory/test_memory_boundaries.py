"""Boundaries of the memory model, each with its arithmetic written out.

Where the goldens' sizes are multiples of everything, one token more or less does not show. The
rules are those of vLLM 0.33.0: `v1/kv_cache_interface.py` (need of a request),
`distributed/utils.py` (stages), `config/vllm.py` (captured sizes), `engine/arg_utils.py` (steps).
"""

import math
from typing import Any

import pytest

from models.architecture import CacheKind, Part, architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, Verdict, budget
from models.memory.inputs.request import resolve
from models.memory.terms.kernels import refined_block
from models.memory.terms.pages import Page, PageDemand, blocks_per_request
from models.memory.terms.peaks import captured_sizes
from models.memory.terms.weights import Rank, allocation, stage_layers, weight_bytes
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
MIB = 1024 * 1024
GIB = 1024 * MIB


def request(
    config: dict[str, Any], memory_gib: float = 79.2, version: str = "0.33.0", **arguments: Any
) -> BudgetRequest:
    """Return a request on an H100 with every argument explicit."""
    explicit = {
        "max_model_len": 4096,
        "gpu_memory_utilization": 0.9,
        "max_num_seqs": 64,
        "max_num_batched_tokens": 2048,
        "kv_cache_dtype": "auto",
        **arguments,
    }
    return BudgetRequest(
        architecture=architecture(config),
        card=Card(memory_gib=memory_gib, capability=(9, 0)),
        behavior=behavior_of(version),
        arguments=EngineArguments.model_validate(explicit),
    )


def page(kind: CacheKind, window: int | None) -> Page:
    """Return a page of 16 tokens."""
    return Page(kind=kind, layers=(0,), block=16, bytes_=4096, padded=4096, window=window)


@pytest.mark.parametrize(
    ("kind", "window", "in_flight", "length", "blocks"),
    [
        # The window but one, and what is in flight: 1024 + 2048 = 192 blocks of 16; one more since
        # the window may start inside a block.
        (CacheKind.SLIDING, 1025, 2048, 100_000, 193),
        (CacheKind.SLIDING, 1026, 2048, 100_000, 194),
        # Not more than the request has.
        (CacheKind.SLIDING, 1025, 2048, 1600, 101),
        (CacheKind.MLA_SLIDING, 129, 16, 100_000, 10),
        # A whole chunk, and what is in flight; chunks start with a block.
        (CacheKind.CHUNKED, 1024, 2048, 100_000, 192),
        (CacheKind.CHUNKED, 1025, 2048, 100_000, 193),
        (CacheKind.CHUNKED, 1024, 2048, 1600, 100),
        (CacheKind.FULL, None, 2048, 1600, 100),
        (CacheKind.FULL, None, 2048, 1601, 101),
    ],
)
def test_a_request_needs_the_blocks_that_the_engine_admits_it_by(
    kind: CacheKind, window: int | None, in_flight: int, length: int, blocks: int
) -> None:
    serving = PageDemand(length=length, in_flight=in_flight, state_blocks=1)
    assert blocks_per_request(page(kind, window), serving) == blocks


def test_ranks_of_a_context_share_the_tokens_of_full_attention_only() -> None:
    """1601 tokens over 4 ranks are 401 each, 26 blocks; a window's stay whole."""
    serving = PageDemand(length=1601, in_flight=64, state_blocks=1, context=4)
    assert blocks_per_request(page(CacheKind.FULL, None), serving) == 26
    assert blocks_per_request(page(CacheKind.SLIDING, 65), serving) == 9


@pytest.mark.parametrize(
    ("layers", "stages"),
    [
        (2, [1, 1]),
        (3, [2, 1]),
        (4, [1, 2, 1]),
        (5, [2, 2, 1]),
        (22, [5, 6, 6, 5]),
        (23, [6, 6, 6, 5]),
        (80, [20, 20, 20, 20]),
    ],
)
def test_layers_left_over_go_to_the_stages_before_the_last(layers: int, stages: list[int]) -> None:
    """Most of these splits are the engine's own tests' (`tests/distributed`)."""
    ranges = [stage_layers(layers, len(stages), stage) for stage in range(len(stages))]
    assert [len(held) for held in ranges] == stages
    assert [layer for held in ranges for layer in held] == list(range(layers))


@pytest.mark.parametrize(
    ("size", "old", "new"),
    [
        (1, 512, 512),
        (512, 512, 512),
        (513, 1024, 1024),
        # Below 10 MiB nothing is rounded further.
        (10 * MIB - 512, 10 * MIB - 512, 10 * MIB - 512),
        # From there steps of 2 MiB; what is left over is split off above 1 MiB only.
        (11 * MIB, 12 * MIB, 12 * MIB),
        (11 * MIB - 512, 11 * MIB - 512, 11 * MIB - 512),
        (11 * MIB + 1, 12 * MIB, 12 * MIB),
        # The newer allocator never splits blocks of 20 MiB and more.
        (20 * MIB + 1, 20 * MIB + 512, 22 * MIB),
        (20 * MIB - 512, 20 * MIB, 20 * MIB),
    ],
)
def test_the_allocator_rounds_large_blocks(size: int, old: int, new: int) -> None:
    """PyTorch's CUDA caching allocator, by hand."""
    assert allocation(size, "old") == old
    assert allocation(size, "new") == new


@pytest.mark.parametrize(
    ("sequences", "version", "sizes"),
    [
        # 1, 2, 4, then every 8th to 256, then every 16th to 512: 3 + 32 + 16.
        (256, "0.33.0", 51),
        (1024, "0.33.0", 51),
        # Twice the sequences is the largest: 1, 2, 4, 8 to 256.
        (128, "0.33.0", 35),
        # 1, 2, 4, 8 to 256, and 272.
        (136, "0.33.0", 36),
        (4, "0.33.0", 4),
        (2, "0.33.0", 3),
        (1, "0.33.0", 2),
        # The first engine captured to 256, and no more than the sequences.
        (256, "0.6.0", 35),
        (1024, "0.6.0", 35),
        (1, "0.6.0", 1),
    ],
)
def test_graphs_are_captured_for_so_many_sizes(sequences: int, version: str, sizes: int) -> None:
    asked = request(configs()[LLAMA_8B], version=version, max_num_seqs=sequences)
    assert captured_sizes(resolve(asked), asked.behavior) == sizes


@pytest.mark.parametrize(
    ("sequences", "length", "tokens"),
    [(1, 1024, 1024), (7, 1024, 7168), (8, 1024, 8192), (256, 1024, 8192)],
)
def test_a_step_is_no_longer_than_all_requests_together(
    sequences: int, length: int, tokens: int
) -> None:
    """The release's step of 8192 on an H100 is cut to sequences x length."""
    asked = request(
        configs()[LLAMA_8B],
        max_num_seqs=sequences,
        max_model_len=length,
        max_num_batched_tokens=None,
    )
    assert resolve(asked).max_num_batched_tokens == tokens


@pytest.mark.parametrize(
    ("block", "inner", "hidden", "refined"),
    [
        ((128, 128), 768, 2048, (128, 128)),
        ((128, 128), 192, 2048, (64, 64)),
        # 32 is the least that the kernel takes.
        ((128, 128), 96, 2048, (32, 32)),
        ((128, 128), 48, 2048, None),
        ((128, 64), 192, 2048, (64, 64)),
        ((64, 128), 192, 2048, (64, 64)),
        ((128, 128), 192, 2080, (32, 32)),
    ],
)
def test_blocks_of_experts_are_refined_to_what_divides_everything(
    block: tuple[int, int], inner: int, hidden: int, refined: tuple[int, int] | None
) -> None:
    assert refined_block(block, inner, hidden) == refined


def test_the_margin_counts_the_block_that_the_engine_holds_back() -> None:
    """0.24 and later keep one null block; the start-up check compares without it."""
    config = configs()[LLAMA_8B]
    for version, held in (("0.33.0", 1), ("0.18.0", 0)):
        found = budget(request(config, version=version, kv_cache_memory_bytes=2 * GIB))
        # 32 layers x 16 tokens x 8 heads x 128 numbers x 2 bytes x keys and values.
        block = 32 * 16 * 8 * 128 * 2 * 2
        need = 4096 // 16 * block
        assert found.margin_gib == (2 * GIB - held * block - need) / GIB


def test_one_block_decides_whether_a_request_has_room() -> None:
    block = 32 * 16 * 8 * 128 * 2 * 2
    need = 4096 // 16 * block
    config = configs()[LLAMA_8B]
    enough = budget(request(config, kv_cache_memory_bytes=need + block))
    short = budget(request(config, kv_cache_memory_bytes=need + block - 1))
    assert enough.verdict is Verdict.FITS
    assert enough.margin_gib == 0
    assert short.verdict is Verdict.CANNOT_SERVE
    assert short.longest_model_len == 4096 - 16


# Pipelines.


def terms(found: Budget) -> float:
    """Return what is left of the budget when everything but the cache is taken out, in bytes."""
    taken = (
        found.weights_gib,
        found.activation_gib,
        found.non_torch_gib,
        found.cuda_graph_gib,
    )
    return ((found.requested_gib or 0.0) - sum(each or 0.0 for each in taken)) * GIB


def test_a_tied_embedding_is_on_the_first_and_on_the_last_stage() -> None:
    """The head of a tied model is the embedding, which the last stage has no other copy of.

    151,936 x 1,024 x 2 bytes are 296.75 MiB, 298 as the allocator holds them.
    """
    found = architecture(configs()["Qwen/Qwen3-0.6B"])
    stages = [weight_bytes(found, Rank(pipeline=4, stage=each), "new") for each in range(4)]
    held = [stage.by_part.get(Part.EMBEDDING, 0) for stage in stages]
    assert held == [298 * MIB, 0, 0, 298 * MIB]


def test_an_untied_embedding_is_on_the_first_stage_and_the_head_on_the_last() -> None:
    """128,256 x 4,096 x 2 bytes are 1,002 MiB."""
    found = architecture(configs()[LLAMA_8B])
    stages = [weight_bytes(found, Rank(pipeline=4, stage=each), "new") for each in range(4)]
    assert [stage.by_part.get(Part.EMBEDDING, 0) for stage in stages] == [1002 * MIB, 0, 0, 0]
    assert [stage.by_part.get(Part.HEAD, 0) for stage in stages] == [0, 0, 0, 1002 * MIB]


def test_a_tower_is_on_the_first_stage() -> None:
    found = architecture(configs()["google/gemma-3-27b-it"])
    stages = [weight_bytes(found, Rank(pipeline=2, stage=each), "new") for each in range(2)]
    assert stages[0].by_part[Part.VISION] > 0
    assert Part.VISION not in stages[1].by_part


def test_stages_together_hold_what_one_gpu_holds() -> None:
    """But for what every stage has a copy of: rotary tables."""
    found = architecture(configs()[LLAMA_8B])
    whole = weight_bytes(found, Rank(), "new").raw
    table = 131072 * 128 * 2
    split = [weight_bytes(found, Rank(pipeline=3, stage=each), "new").raw for each in range(3)]
    assert sum(split) == whole + 2 * table


def test_blocks_of_a_pipeline_are_those_of_the_stage_that_has_the_fewest() -> None:
    """29 layers on two stages are 15 and 14; each stage's cache is its own layers' only.

    The last has the head, the first an embedding as large and a layer more, so that the first
    decides; its block is 15 layers of 16 tokens.
    """
    config = {**configs()[LLAMA_8B], "num_hidden_layers": 29}
    found = budget(request(config, pipeline_parallel_size=2))
    layer = 16 * 8 * 128 * 2 * 2
    assert found.kv_bytes_per_block == 15 * layer
    assert found.gpu_blocks == math.floor(terms(found)) // (15 * layer)


def test_the_room_of_a_narrow_stage_is_told_as_if_it_had_the_widest_stages_block() -> None:
    """4 layers on three stages are 1, 2 and 1; an embedding of 22.9 GiB makes the first decide.

    Its blocks are of one layer, the middle's of two: the cache is told twice as large as the first
    stage's room, so that it has as many blocks in the layout of the widest.
    """
    config = {**configs()[LLAMA_8B], "num_hidden_layers": 4, "vocab_size": 3_000_000}
    found = budget(request(config, memory_gib=40.0, pipeline_parallel_size=3, max_num_seqs=1))
    layer = 16 * 8 * 128 * 2 * 2
    assert (found.weights_gib or 0.0) > 3_000_000 * 4096 * 2 / GIB
    assert found.kv_bytes_per_block == 2 * layer
    assert found.gpu_blocks == math.floor(terms(found)) // layer
    assert (found.kv_cache_gib or 0.0) * GIB == pytest.approx(2 * terms(found), abs=4)
    low = (found.kv_cache_gib_low or 0.0) * GIB
    one = budget(request(config, memory_gib=40.0, pipeline_parallel_size=1, max_num_seqs=1))
    slack = ((one.kv_cache_gib or 0.0) - (one.kv_cache_gib_low or 0.0)) * GIB
    assert low < (found.kv_cache_gib or 0.0) * GIB - 1.5 * slack, "the bound is scaled too"


def test_more_stages_than_layers_are_as_many_as_layers() -> None:
    config = {**configs()[LLAMA_8B], "num_hidden_layers": 2}
    two, four = (budget(request(config, pipeline_parallel_size=each)) for each in (2, 4))
    assert four.weights_gib == two.weights_gib
    assert four.kv_bytes_per_block == two.kv_bytes_per_block


def test_a_window_of_a_pipeline_holds_a_batch_of_every_stage() -> None:
    """As many batches are in flight as there are stages, and one more since they overlap
    (`config/vllm.py: max_concurrent_batches`): three of 2,048 tokens on two stages, two on one GPU.

    gemma 2 has 21 windows of 4,096 and 21 full layers, in groups of 21: 4095 + 6144 tokens are 640
    blocks of 16 and one more.
    """
    config = configs()["google/gemma-2-9b-it"]
    for pipeline, blocks in ((1, 513), (2, 641)):
        asked = request(config, pipeline_parallel_size=pipeline, max_model_len=100_000)
        groups = budget(asked).groups
        assert {group.blocks_per_request for group in groups} == {blocks, 6250}
