"""What a refusal offers, and what a release takes by default: from both sides of each condition."""

from typing import Any

import pytest

from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, budget
from models.memory.inputs.request import resolve
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure


def refused(memory: float, utilization: float, model: str = "Qwen/Qwen3-0.6B") -> Budget:
    """Return what is said of a small model with a budget that is too small for it."""
    return budget(
        BudgetRequest(
            architecture=architecture(configs()[model]),
            card=Card(memory_gib=memory, capability=(7, 5)),
            behavior=behavior_of("0.33.0"),
            arguments=EngineArguments(
                max_model_len=512,
                gpu_memory_utilization=utilization,
                max_num_seqs=1,
                max_num_batched_tokens=512,
                enforce_eager=True,
            ),
        )
    )


@pytest.mark.parametrize(
    ("memory", "share"),
    [
        (3.0, 0.93),  # 0.2 of 3.0 GiB are the driver's: 0.9333 are left, whole hundredths
        (3.5, 0.94),  # 3.3 / 3.5 = 0.9428
        (24.0, 0.95),  # 23.8 / 24.0 = 0.9916, more than is ever offered
    ],
)
def test_the_share_offered_leaves_what_the_driver_holds_and_never_passes_95_hundredths(
    memory: float, share: float
) -> None:
    offered = [each.settings for each in refused(memory, 0.05).remedies]
    shares = [
        each["gpu_memory_utilization"] for each in offered if "gpu_memory_utilization" in each
    ]
    assert shares == [share]


def test_a_remedy_offers_nothing_that_is_already_set() -> None:
    """The request is eager and has one sequence and one step's tokens as few as may be."""
    offered = [each.settings for each in refused(3.0, 0.05).remedies]
    assert offered
    assert not [each for each in offered if "enforce_eager" in each]
    assert not [each for each in offered if "max_num_seqs" in each]


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


def without_room(**changes: Any) -> Budget:
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
    fit = without_room(capability=capability, kv_cache_dtype=stored, max_model_len=tokens)
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
