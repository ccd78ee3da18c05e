"""The pure memory model against every committed golden; run with `-s` to see the figures."""

from functools import cache
from statistics import median

import pytest

from catalog.goldens import load_goldens
from models.golden import config_sha256
from tests.goldens.golden_lab import VERSION, Score, catalogue, judge

pytestmark = pytest.mark.pure

WEIGHT_BAR = 0.005
"""Share by which weights may differ: tensors of a few bytes a layer are not counted."""


@cache
def score() -> Score:
    """Judge all goldens once."""
    found = Score()
    for name, held in load_goldens(VERSION).models.items():
        for golden in held.cases:
            judge(name, golden, found)
    return found


def test_there_are_goldens_of_every_model_of_the_release() -> None:
    """A model without goldens would be estimated without anybody noticing."""
    pinned = {name for name, model in catalogue().models.items() if model.entry.engine == VERSION}
    assert set(load_goldens(VERSION).models) == pinned


def test_goldens_were_asked_with_the_configurations_that_are_committed() -> None:
    """A golden of another configuration would say nothing of the model that is served."""
    stale = [
        name
        for name, held in load_goldens(VERSION).models.items()
        if held.config_sha256 != config_sha256(catalogue().models[name].config)
    ]
    assert not stale, f"run `make goldens`: {stale}"


def test_weights_are_the_engines() -> None:
    """Wrong weights make every other number wrong."""
    errors = score().weights
    wrong = {name: f"{error:+.3%}" for name, error in errors.items() if abs(error) > WEIGHT_BAR}
    sizes = sorted(abs(error) for error in errors.values())
    print(
        f"\n{score().cases} goldens, {score().refused} refused; weights of {len(sizes)}: "
        f"median error {median(sizes):.4%}, largest {sizes[-1]:.4%}"
    )
    assert not wrong


@pytest.mark.parametrize(
    "kind",
    [
        "refusal",
        "batched tokens",
        "groups",
        "pool",
        "need",
        "blocks",
        "tokens",
        "plan refusal",
        "longest",
    ],
)
def test_layout_blocks_tokens_and_refusals_are_the_engines(kind: str) -> None:
    """These are the numbers in the log, and the answers at start-up, that users compare."""
    wrong = score().differing.get(kind, [])
    assert not wrong, f"{len(wrong)} of {score().cases}: {wrong[:5]}"
