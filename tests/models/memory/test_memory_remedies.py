"""What a refusal offers, with the arithmetic of each number written out."""

import pytest

from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, budget
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
