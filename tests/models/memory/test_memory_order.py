"""Properties that hold for every model: what more of something may never do.

Examples are the same in every run (`derandomize`), and few: each is a whole budget. Arguments are
explicit, since the release's own defaults are not monotone: a card of 70 GiB takes steps of 8,192
tokens and 1,024 sequences, one of 160 GiB 16,384 (vLLM 0.33.0 `engine/arg_utils.py`), so that a
larger card may leave less for the cache than a smaller one, in the engine too.
"""

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.architecture import Architecture, architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, Verdict, budget
from models.memory.terms.weights import Rank, weight_bytes
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen3-30B-A3B",
    "openai/gpt-oss-120b",
    "google/gemma-2-9b-it",
    "deepseek-ai/DeepSeek-V2-Lite",
    "Qwen/Qwen3.5-27B",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "tfdefault/Mamba2-Codestral",
    "nvidia/Qwen3.6-35B-A3B-NVFP4",
)
VERSIONS = ("0.33.0", "0.18.0", "0.10.2")
QUIET = settings(max_examples=40, deadline=None, derandomize=True)


@cache
def shapes(model: str) -> Architecture:
    """Return a known model's architecture, built once."""
    return architecture(configs()[model])


@st.composite
def requests(draw: st.DrawFn) -> BudgetRequest:
    """Return a request near the border of what fits, every argument explicit."""
    return BudgetRequest(
        architecture=shapes(draw(st.sampled_from(MODELS))),
        card=Card(
            memory_gib=draw(st.floats(8, 200)),
            capability=draw(st.sampled_from([(8, 0), (8, 9), (9, 0), (10, 0)])),
        ),
        behavior=behavior_of(draw(st.sampled_from(VERSIONS))),
        arguments=EngineArguments(
            max_model_len=draw(st.integers(16, 8192)),
            gpu_memory_utilization=draw(st.sampled_from([0.7, 0.9, 0.95])),
            max_num_seqs=draw(st.integers(1, 1024)),
            max_num_batched_tokens=draw(st.sampled_from([256, 2048, 8192])),
            kv_cache_dtype=draw(st.sampled_from(["auto", "fp8"])),
            enforce_eager=draw(st.booleans()),
            enable_prefix_caching=draw(st.sampled_from([None, True, False])),
            tensor_parallel_size=draw(st.sampled_from([1, 2, 4])),
            pipeline_parallel_size=draw(st.sampled_from([1, 1, 2])),
        ),
    )


def changed(request: BudgetRequest, **arguments: Any) -> BudgetRequest:
    """Return a request with other arguments."""
    own = EngineArguments.model_validate({**request.arguments.model_dump(), **arguments})
    return request.model_copy(update={"arguments": own})


def larger(request: BudgetRequest, times: float) -> BudgetRequest:
    """Return a request on a card with more memory."""
    card = request.card.model_copy(update={"memory_gib": request.card.memory_gib * times})
    return request.model_copy(update={"card": card})


def fits(found: Budget) -> bool:
    """Tell whether the engine would serve."""
    return found.verdict is Verdict.FITS


@given(request=requests(), times=st.floats(1.0, 4.0))
@QUIET
def test_more_memory_never_turns_fits_into_a_refusal(request: BudgetRequest, times: float) -> None:
    less, more = budget(request), budget(larger(request, times))
    assert fits(more) or not fits(less)
    assert more.is_within_bound or not less.is_within_bound
    assert (more.gpu_blocks or 0) >= (less.gpu_blocks or 0)


@given(request=requests(), more=st.integers(0, 200_000))
@QUIET
def test_a_longer_context_never_fits_better(request: BudgetRequest, more: int) -> None:
    """From the second engine on, whose steps do not grow with the length.

    With the first, 35k tokens fit where 29k did not (vllm-project/vllm#10517).
    """
    length = (request.arguments.max_model_len or 0) + more
    short, longer = budget(request), budget(changed(request, max_model_len=length))
    assert fits(short) or not fits(longer)
    assert short.is_within_bound or not longer.is_within_bound
    assert (longer.max_concurrency or 0.0) <= (short.max_concurrency or 0.0) + 1e-9


@given(request=requests(), more=st.integers(0, 2048))
@QUIET
def test_more_sequences_never_free_memory(request: BudgetRequest, more: int) -> None:
    """The estimate; its bound may come nearer where the sampler's peak overtakes a layer's.

    What is known of a layer's results is a step of its own (`bound_layer`, a third of a GiB), which
    falls away there; the engine has no such bound.
    """
    sequences = (request.arguments.max_num_seqs or 0) + more
    few, many = budget(request), budget(changed(request, max_num_seqs=sequences))
    assert fits(few) or not fits(many)
    assert (many.kv_cache_gib or 0.0) <= (few.kv_cache_gib or 0.0) + 1e-9
    assert (many.kv_cache_gib_low or 0.0) <= (few.kv_cache_gib_low or 0.0) + 0.5


@pytest.mark.parametrize("name", sorted(configs()))
@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (10, 0)])
def test_more_ranks_never_store_more_weights_each(name: str, capability: tuple[int, int]) -> None:
    """Whatever is copied or padded: a rank of twice as many holds no more."""
    found = shapes(name)
    held = [
        weight_bytes(
            found, Rank(tensor=tensor, capability=capability, batched_tokens=2048), "new"
        ).allocated
        for tensor in (1, 2, 4, 8, 16)
    ]
    assert held == sorted(held, reverse=True)


@pytest.mark.parametrize("name", sorted(configs()))
def test_more_experts_ranks_never_store_more_weights_each(name: str) -> None:
    found = shapes(name)
    held = [
        weight_bytes(found, Rank(data=data, expert_parallel=True), "new").allocated
        for data in (1, 2, 4, 8)
    ]
    assert held == sorted(held, reverse=True)


# Remedies.

FOUND_BY_TRYING = {"no-memory", "one-request"}
"""Refusals whose remedies the model finds by evaluating them."""


def applied(request: BudgetRequest, given: dict[str, int | float | str | bool]) -> BudgetRequest:
    """Return the request with a remedy's settings, and as many GPUs as it then takes."""
    after = changed(request, **given)
    own = after.arguments
    gpus = own.tensor_parallel_size * own.pipeline_parallel_size * own.data_parallel_size
    return after.model_copy(update={"n_gpus": gpus if after.n_gpus is not None else None})


@given(request=requests())
@QUIET
def test_a_remedy_found_by_trying_is_accepted(request: BudgetRequest) -> None:
    """A remedy that does not help is worse than none."""
    found = budget(request)
    if not found.rules or not set(found.rules) <= FOUND_BY_TRYING:
        return
    for remedy in found.remedies:
        if remedy.settings:
            assert fits(budget(applied(request, remedy.settings))), remedy.text


@given(request=requests(), tensor=st.integers(1, 12), length=st.integers(16, 10**6))
@QUIET
def test_remedies_lead_to_acceptance_or_to_a_larger_card(
    request: BudgetRequest, tensor: int, length: int
) -> None:
    """Following the first remedy that is a setting ends: each step takes away the rule it fixes.

    What is left then is nothing, or what no setting fixes.
    """
    asked = changed(
        request,
        tensor_parallel_size=tensor,
        max_model_len=length,
        gpu_memory_utilization=1.0,
        max_num_seqs=1024,
    )
    seen: list[tuple[str, ...]] = []
    for _ in range(12):
        found = budget(asked)
        remedy = next((each for each in found.remedies if each.settings), None)
        if fits(found) or remedy is None:
            assert fits(found) or found.remedies
            return
        seen.append(found.rules)
        after = applied(asked, remedy.settings)
        assert after != asked, f"{remedy.text} changes nothing"
        asked = after
    pytest.fail(f"remedies go round: {seen}")
