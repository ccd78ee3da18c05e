"""What releases do with memory, at the border of each change; sizes of caches, blocks and groups.

Borders: the sources that catalog/engines/borders.yaml names, each of which names its test here.
Sizes by hand from vLLM 0.33.0 `v1/kv_cache_interface.py` and
`v1/core/kv_cache_planning.py`.
"""

from typing import Any

import pytest

from catalog.loader import load
from models.architecture import CacheKind, architecture
from models.core.releases import numbers
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, budget, size_defaults
from models.memory.terms.dtypes import cache_bytes
from models.memory.terms.groups import group_pages
from models.memory.terms.pages import Page, base_block
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of, release_of

pytestmark = pytest.mark.pure

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"


CHANGES = [
    ("first_engine_runs", "0.7.3", "default", "0.8.0", "optional"),
    ("first_engine_runs", "0.10.2", "optional", "0.11.0", "never"),
    ("counts_communication", "0.2.4", False, "0.2.5", True),
    ("keeps_load_cache", "0.2.4", False, "0.2.5", True),
    ("keeps_load_cache", "0.4.3", True, "0.5.0", False),
    ("shards_known", "0.4.3", False, "0.5.0", True),
    ("hybrid_groups", "0.9.2", False, "0.10.0", True),
    ("marlin_mxfp4", "0.11.2", True, "0.12.0", False),
    ("mamba_prefix_mode", "0.15.1", "none", "0.16.0", "align"),
    ("sampler", "0.15.1", "sorts", "0.16.0", "fused"),
    ("graphs_deducted", "0.19.1", False, "0.20.0", True),
    ("gpu_memory_utilization", "0.19.1", 0.9, "0.20.0", 0.92),
    ("machete_awq", "0.19.1", False, "0.20.0", True),
    ("reports", "0.20.2", "blocks", "0.21.0", "capacity"),
    ("allocator", "0.21.0", "old", "0.22.0", "new"),
    ("padded_mxfp4", "0.21.0", True, "0.22.0", False),
    ("in_flight_batches", "0.23.0", 1, "0.24.0", 2),
    ("null_block", "0.23.0", False, "0.24.0", True),
    ("trtllm_experts", "0.23.0", False, "0.24.0", True),
    ("whole_items", "0.23.0", False, "0.24.0", True),
    ("hybrid_caching", "0.24.0", False, "0.25.0", True),
    ("glm_fp8_cache", "0.29.0", False, "0.30.0", True),
    ("refined_fp8_blocks", "0.30.0", False, "0.31.0", True),
    ("prefill_checkpoints", "0.31.0", False, "0.32.0", True),
]


@pytest.mark.parametrize(
    ("field", "last", "old", "first", "new"),
    CHANGES,
    ids=[f"{field}-{first}" for field, _, _, first, _ in CHANGES],
)
def test_each_change_is_at_its_release(
    field: str, last: str, old: object, first: str, new: object
) -> None:
    assert getattr(behavior_of(last), field) == old
    assert getattr(behavior_of(first), field) == new


@pytest.mark.parametrize(
    ("version", "first", "chunked"),
    [
        ("0.7.3", True, False),
        ("0.8.0", False, True),
        ("0.10.2 (V0)", True, False),
        ("0.11.0 (V0)", False, True),
    ],
)
def test_the_first_engine_runs_by_default_or_where_it_is_asked_for(
    version: str, first: bool, chunked: bool
) -> None:
    assert (behavior_of(version).first_engine, behavior_of(version).chunked) == (first, chunked)


def test_a_release_that_is_not_known_is_assumed_from_the_side_that_leaves_less() -> None:
    found = behavior_of(None)
    assert (found.assumed, found.release) == (True, (0, 11))
    assert (found.sampler, found.gpu_memory_utilization) == ("sorts", 0.9)
    later = behavior_of(None, at_least=(0, 24))
    assert (later.release, later.sampler, later.gpu_memory_utilization) == ((0, 24), "sorts", 0.9)
    assert behavior_of("main").release == (0, 31)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("v0.8.5.post1", (0, 8)),
        ("~0.10 (Aug 2025)", (0, 10)),
        ("fork of 0.9 (Nov 2026)", (0, 33)),
        ("main, Oct 2026", (0, 31)),
        ("dev build, Jan 2026", (0, 14)),
        ("fork of 0.9 (Dec 2025)", (0, 9)),
        ("0.1.dev17", None),
        ("0.1.2", (0, 1)),
        ("nightly", None),
        (None, None),
    ],
)
def test_a_version_as_people_write_it(text: str | None, release: tuple[int, int] | None) -> None:
    assert release_of(text) == release


def test_after_the_last_month_that_is_known_its_release_is_the_newest() -> None:
    major, minor, _ = max(map(numbers, load().engines))
    assert release_of("main (Dec 2099)") == (major, minor)


@pytest.mark.parametrize(
    ("version", "memory", "product", "step", "sequences"),
    [
        ("0.33.0", 160.0, "B200", 16384, 1024),
        ("0.33.0", 159.9, "B200", 8192, 1024),
        ("0.33.0", 70.0, "NVIDIA-H100-80GB-HBM3", 8192, 1024),
        ("0.33.0", 69.9, "NVIDIA-H100-80GB-HBM3", 2048, 256),
        ("0.33.0", 79.2, "NVIDIA-A100-SXM4-80GB", 2048, 256),
        ("0.33.0", 119.7, "NVIDIA GB10", 2048, 256),
        ("0.31.0", 119.7, "NVIDIA GB10", 8192, 1024),
        ("0.25.0", 178.0, "B200", 16384, 1024),
        ("0.24.0", 178.0, "B200", 8192, 1024),
        ("0.7.0", 178.0, "B200", 2048, 256),
    ],
)
def test_a_servers_default_sizes_by_card(
    version: str, memory: float, product: str, step: int, sequences: int
) -> None:
    sizes = size_defaults(behavior_of(version), memory, product)
    assert (sizes.max_num_batched_tokens, sizes.max_num_seqs) == (step, sequences)


@pytest.mark.parametrize(
    ("cache", "model", "size"),
    [
        ("auto", "bfloat16", 256),
        ("auto", "float32", 512),
        ("float16", "float32", 256),
        ("fp8", "bfloat16", 128),
        ("fp8_e5m2", "bfloat16", 128),
        ("int8", "bfloat16", 128),
        # A float32 scale beside each vector.
        ("fp8_per_token_head", "bfloat16", 132),
        ("int4_per_token_head", "bfloat16", 68),
        # Half a byte a number, and a byte for every 16.
        ("nvfp4", "bfloat16", 72),
    ],
)
def test_one_heads_entry_of_128_numbers(cache: str, model: str, size: int) -> None:
    assert cache_bytes(128, cache, model) == size
    assert cache_bytes(0, cache, model) == 0


@pytest.mark.parametrize(
    ("name", "capability", "cache", "tokens"),
    [
        (LLAMA_8B, (9, 0), "auto", 16),
        (LLAMA_8B, (10, 0), "fp8", 16),
        ("deepseek-ai/DeepSeek-R1", (8, 0), "auto", 16),
        ("deepseek-ai/DeepSeek-R1", (9, 0), "auto", 16),
        ("deepseek-ai/DeepSeek-R1", (9, 0), "fp8", 64),
        ("deepseek-ai/DeepSeek-R1", (10, 0), "auto", 32),
        ("deepseek-ai/DeepSeek-R1", (12, 0), "auto", 16),
        ("deepseek-ai/DeepSeek-V3.2", (9, 0), "auto", 64),
        ("google/gemma-4-26B-A4B", (9, 0), "fp8", 64),
        ("google/gemma-4-26B-A4B", (9, 0), "auto", 16),
    ],
)
def test_the_block_that_a_cards_backend_wants(
    name: str, capability: tuple[int, int], cache: str, tokens: int
) -> None:
    assert base_block(architecture(configs()[name]), capability, cache) == tokens


def pages(kind: CacheKind, start: int, count: int, size: int = 64) -> Page:
    """Return the page of `count` layers."""
    layers = tuple(range(start, start + count))
    window = 128 if kind in (CacheKind.SLIDING, CacheKind.MLA_SLIDING) else None
    return Page(kind=kind, layers=layers, block=16, bytes_=size, padded=size, window=window)


@pytest.mark.parametrize(
    ("full", "slid", "sizes"),
    [
        # Groups are as large as the smallest kind; the last is padded.
        (10, 52, [10, 9, 9, 9, 9, 8, 8]),
        (12, 36, [12, 12, 12, 12]),
        # Less than one and a half times the smallest: as large as the largest instead.
        (10, 14, [10, 14]),
        (10, 15, [10, 8, 7]),
        (14, 10, [14, 10]),
    ],
)
def test_layers_are_cut_into_groups_of_the_smallest_kind(
    full: int, slid: int, sizes: list[int]
) -> None:
    """Gemma 3 27B: 10 full and 52 windowed layers are seven groups of ten."""
    found = group_pages(
        [pages(CacheKind.FULL, 0, full), pages(CacheKind.SLIDING, full, slid)], packed=False
    )
    assert [group.count for group in found] == sizes


def test_pages_of_another_size_take_more_tokens_or_padding() -> None:
    """A page of 64 bytes becomes one of 192 by three times the tokens; one of 80 is padded."""
    fit = group_pages(
        [pages(CacheKind.FULL, 0, 4, 192), pages(CacheKind.SLIDING, 4, 4, 64)], packed=False
    )
    assert [(group.block, group.pages[0].padded) for group in fit] == [(16, 192), (48, 192)]
    odd = group_pages(
        [pages(CacheKind.FULL, 0, 4, 192), pages(CacheKind.SLIDING, 4, 4, 80)], packed=False
    )
    assert [(group.block, group.pages[0].padded) for group in odd] == [(16, 192), (16, 192)]


@pytest.mark.parametrize(
    ("repeats", "sizes"),
    [
        # Six layers against four pairs: 4 or 6 to a group both pad two, and the larger is taken.
        (6, [8, 6]),
        # Eight against four: 4 pads nothing.
        (8, [8, 4, 4]),
        # Seven against four: 4 pads one, 7 three.
        (7, [8, 4, 3]),
    ],
)
def test_pages_side_by_side_are_grouped_to_pad_least(repeats: int, sizes: list[int]) -> None:
    mixed = [pages(CacheKind.FULL, 0, 4, 64), pages(CacheKind.FULL, 4, 4, 32)]
    other = pages(CacheKind.MLA_SLIDING, 8, repeats, 64)
    found = group_pages([*mixed, other], packed=True)
    assert [group.count for group in found] == sizes


def refused(memory: float = 80.0, config: dict[str, Any] | None = None, **asked: Any) -> Budget:
    """Return the budget of Llama 3.1 8B with some arguments."""
    return budget(
        BudgetRequest(
            architecture=architecture(config or configs()[LLAMA_8B]),
            card=Card(memory_gib=memory, capability=(9, 0)),
            behavior=behavior_of("0.33.0"),
            arguments=EngineArguments.model_validate({"max_model_len": 4096, **asked}),
        )
    )


@pytest.mark.parametrize(("length", "stands"), [(131072, False), (131073, True)])
def test_a_length_of_all_positions_is_allowed(length: int, stands: bool) -> None:
    assert ("positions" in refused(max_model_len=length).rules) is stands


@pytest.mark.parametrize(("share", "stands"), [(0.9974, False), (0.9976, True)])
def test_0_2_gib_of_a_card_are_never_free(share: float, stands: bool) -> None:
    """Of 80 GiB 79.8 are free at start, 99.75 %; what is offered is rounded down."""
    found = refused(gpu_memory_utilization=share, enforce_eager=True)
    assert ("utilization" in found.rules) is stands
    if stands:
        assert found.remedies[0].settings == {"gpu_memory_utilization": 0.99}
