"""Defaults and remedies of the memory model, each seen from both sides of its condition."""

from typing import Any

import pytest

from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, budget
from models.memory.inputs.request import resolve
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
CODESTRAL_MAMBA = "tfdefault/Mamba2-Codestral"
HYBRID = "nvidia/Nemotron-H-56B-Base-8K"
FP8 = "keep the KV cache in FP8"


def request(
    model: str, *, capability: tuple[int, int] = (9, 0), gib: float = 80.0, version: str = "0.33.0",
    **arguments: Any,
) -> BudgetRequest:  # fmt: skip  # one signature, read like its neighbors
    return BudgetRequest(
        architecture=architecture(configs()[model]),
        card=Card(memory_gib=gib, capability=capability),
        behavior=behavior_of(version),
        arguments=EngineArguments.model_validate(arguments),
    )


def refused(**changes: Any) -> Budget:
    """Return the budget of a replica whose one request has no room: 16 GiB of weights of 20 GiB."""
    return budget(request(LLAMA_8B, gib=20.0, max_num_seqs=8, **changes))


@pytest.mark.parametrize(
    ("capability", "stored", "tokens", "offered"),
    [
        ((8, 9), "auto", 30000, True),
        ((8, 0), "auto", 30000, False),
        ((8, 9), "fp8", 60000, False),
    ],
)
def test_fp8_for_the_cache_is_offered_where_it_would_change_something(
    capability: tuple[int, int], stored: str, tokens: int, offered: bool
) -> None:
    """FP8 needs 8.9 (docs/sources.md), and a cache that is FP8 already has nothing to gain."""
    fit = refused(capability=capability, kv_cache_dtype=stored, max_model_len=tokens)
    assert fit.rules
    assert (FP8 in [each.text for each in fit.remedies]) is offered


@pytest.mark.parametrize(
    ("model", "version", "cached"),
    [
        (LLAMA_8B, "0.10.2", True),
        (LLAMA_8B, "0.33.0", True),
        # A pure state space model has no KV blocks to share; a hybrid caches from a release on.
        (CODESTRAL_MAMBA, "0.33.0", False),
        (HYBRID, "0.10.2", False),
        (HYBRID, "0.33.0", True),
    ],
)
def test_prefix_caching_is_on_by_default_where_the_release_can(
    model: str, version: str, cached: bool
) -> None:
    asked = request(model, version=version)
    assert resolve(asked).enable_prefix_caching is cached
    off = request(model, version=version, enable_prefix_caching=False)
    assert resolve(off).enable_prefix_caching is False


@pytest.mark.parametrize(("ranks", "refuses"), [(2, False), (3, True), (128, False)])
def test_the_heads_of_a_state_space_model_are_split_like_attention_heads(
    ranks: int, refuses: bool
) -> None:
    """Mamba-2's 128 heads (config.json, num_heads) are divided over the ranks."""
    fit = budget(request(CODESTRAL_MAMBA, tensor_parallel_size=ranks))
    assert ("heads" in fit.rules) is refuses
