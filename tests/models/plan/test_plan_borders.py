"""What the plan counts and says, where one sign more or less would not show elsewhere."""

from typing import Any

import pytest

from models.plan.proofs import Demand, Supply, unplaced
from tests.helpers.plans.dev import dev_plan

pytestmark = pytest.mark.pure


def test_replicas_of_one_model_that_find_no_node_add_up() -> None:
    """Two rows of one model, one and three replicas, none of which a node of one GPU takes."""
    rows = [
        Demand(model="m", pool="p", gpus=2, replicas=1),
        Demand(model="m", pool="p", gpus=4, replicas=3),
    ]
    assert unplaced(rows, Supply(pool="p", nodes=9, gpus=1)) == {"m": 4}


def test_a_model_without_a_revision_is_said_so_outside_of_prod() -> None:
    """qwen3-06b has no revision in the catalog; qwen3-8b has one."""

    def only(name: str) -> list[str]:
        def change(settings: dict[str, Any]) -> None:
            settings["models"] = [{"model": name, "pool": "gpu-l4-pool", "replicas": 1}]

        return [each.message for each in dev_plan(change).notices]

    text = "qwen3-06b has no resolved revision: what is seeded is not pinned"
    assert text in only("qwen3-06b")
    assert not [each for each in only("qwen3-8b") if "revision" in each]
