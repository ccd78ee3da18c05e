"""The pure model against the pinned engine's own code, from config.json alone."""

import re
from collections import Counter

import pytest

from models.memory.inputs.request import resolve
from models.memory.terms.kvcache import cache_plan
from models.memory.terms.weights import Rank, weight_bytes
from tests.helpers.models.memory_data import Golden, golden_request, goldens, scalars, step_floats

pytestmark = pytest.mark.pure

GOLDENS = goldens()


def name_of(golden: Golden) -> str:
    """Return a golden's id for the report."""
    return golden["id"]


def allowed_weight_error(golden: Golden) -> float:
    """Return the share by which weights may differ: MXFP4 kernels pad as they like."""
    return 0.06 if "mxfp4" in str(golden["engine"]["quantization"]) else 0.005


MARLIN_BY_HAND = "x:gptoss120b-h100-marlin"
"""moe_backend=marlin was forced, which no argument of the model tells."""


@pytest.mark.parametrize(
    "golden",
    [g for g in GOLDENS if g.get("weights_alloc_bytes") and g["id"] != MARLIN_BY_HAND],
    ids=name_of,
)
@pytest.mark.parametrize("allocator", ["new", "old"])
def test_weight_bytes_are_the_engines(golden: Golden, allocator: str) -> None:
    """Wrong weights make every other number wrong."""
    request = golden_request(golden)
    found, engine = request.architecture, golden["engine"]
    rank = Rank(
        tensor=engine["tp"],
        capability=request.card.capability,
        expert_parallel=request.arguments.enable_expert_parallel,
        dtype=None if engine["dtype"] == found.dtype else engine["dtype"],
        batched_tokens=engine["max_num_batched_tokens"],
    )
    field = "weights_alloc_bytes" if allocator == "new" else "weights_alloc_old_bytes"
    said = weight_bytes(found, rank, allocator).allocated
    assert said == pytest.approx(golden[field], rel=allowed_weight_error(golden))


NOT_COUNTED = {
    "r:gb10-gemma4-26b-nvfp4": 263_754,
    "r:myoceane-gemma4-26b-a100": 202_074,
    "g:gemma4-26b": 202_074,
    "g:gemma2-9b": 2,
    "g:gemma3-1b": 2,
    "g:llama33-70b-fp8-nv-tp2": 3_840,
    "g:qwen3-235b-fp8-tp4": 24_064,
    "g:llama4-scout-tp4": 229_225_920,
    "g:qwen35-27b": 616_320,
    "g:tf-falcon-h1": 172_032,
    "g:dsv4-flash-tp8": 396_780,
    "g:dsr1-tp8-h200-ep": 100_384,
    "g:dsr1-tp8-b200": 40_992,
    "g:dsv32-tp8": 2_819_664,
    "g:kimi-k25-tp8-h200": 228_608,
    "g:kimi-k3-tp16": 761_228_960,
    "g:gptoss120-b200": 3_400_704,
    "x:club3090-612-noapc": 775_490,
}
"""Bytes that the engine allocates beside what is counted, by golden: small buffers of a kernel or a
tower. All others are equal to the byte."""


@pytest.mark.parametrize(
    "golden",
    [g for g in GOLDENS if g.get("weights_bytes") and g["id"] != MARLIN_BY_HAND],
    ids=name_of,
)
def test_weights_are_the_engines_to_the_byte(golden: Golden) -> None:
    """A norm forgotten in every layer is far below half a per cent."""
    request = golden_request(golden)
    found, engine = request.architecture, golden["engine"]
    rank = Rank(
        tensor=engine["tp"],
        capability=request.card.capability,
        expert_parallel=request.arguments.enable_expert_parallel,
        dtype=None if engine["dtype"] == found.dtype else engine["dtype"],
        batched_tokens=engine["max_num_batched_tokens"],
    )
    said = weight_bytes(found, rank, "new").raw
    said += step_floats(
        found, engine["tp"], engine["max_num_batched_tokens"], golden["attn_backends"]
    )
    beside = {golden["weights_bytes"] - said - each for each in scalars(found)}
    assert NOT_COUNTED.get(golden["id"], 0) in beside


@pytest.mark.parametrize("golden", GOLDENS, ids=name_of)
def test_groups_pages_and_pool_are_the_engines(golden: Golden) -> None:
    """Grouping and padding are where other estimators are off by factors."""
    request = golden_request(golden)
    plan = cache_plan(request, resolve(request))
    said = Counter((g.layers, g.block_size, g.page_bytes) for g in plan.summary())
    seen = Counter((g["layers"], g["block_size"], g["page_bytes"]) for g in golden["groups"])
    assert said == seen
    assert plan.block_bytes == golden["pool_bytes_per_block"]
    assert plan.need_bytes == golden["need_bytes_one_request"]


@pytest.mark.parametrize("golden", GOLDENS, ids=name_of)
def test_blocks_tokens_concurrency_and_refusals_are_the_engines(golden: Golden) -> None:
    """These are the numbers in the log that users compare."""
    request = golden_request(golden)
    plan = cache_plan(request, resolve(request))
    for seen in golden["plans"]:
        given = seen["kv_bytes"]
        if "num_blocks" in seen:
            blocks = plan.blocks(given)
            assert blocks == seen["num_blocks"]
            assert plan.tokens(blocks) == seen["tokens"]
            assert plan.concurrency(blocks) == pytest.approx(seen["max_concurrency"], abs=6e-5)
            continue
        assert plan.need_bytes > plan.usable(given)
        longest = re.search(r"maximum model length is (\d+)", seen["refusal"])
        if longest:
            said = plan.longest(given, golden["engine"]["max_model_len"])
            assert said == int(longest[1])
