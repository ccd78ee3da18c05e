"""The pure memory model against every committed golden; run with `-s` to see the figures."""

from functools import cache
from statistics import median

import pytest

from catalog.readers.goldens import load_goldens
from models.facts.golden import config_sha256
from tests.helpers.models.goldens import VERSION, Score, catalog, judge

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
    pinned = {name for name, model in catalog().models.items() if model.entry.engine == VERSION}
    assert set(load_goldens(VERSION).models) == pinned


def test_goldens_were_asked_with_the_configurations_that_are_committed() -> None:
    """A golden of another configuration would say nothing of the model that is served."""
    stale = [
        name
        for name, held in load_goldens(VERSION).models.items()
        if held.config_sha256 != config_sha256(catalog().models[name].config)
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


BESIDE = {
    "deepseek-r1/sm100": {33_913_120, 21_322_208},
    "falcon-mamba-7b": {36_864},
    "gemma3-1b-it": {2},
    "gemma3-27b-it": {41_986},
    "gpt-oss-120b/sm100": {3_400_704, 1_774_080, 887_040},
    "gpt-oss-20b/sm100": {2_267_136, 1_182_720, 591_360},
    "llama33-70b-instruct-fp8/sm75": {410_240},
    "llama33-70b-instruct-fp8/sm80": {1_106_560},
    "llama33-70b-instruct-fp8/sm86": {819_840},
    "nemotron3-nano-30b-a3b": {15_826_944},
    "qwen3-30b-a3b-fp8/sm100": {6_857_088, 3_428_736, 1_714_560},
    "qwen36-35b-a3b-nvfp4/sm75": {605_440, 603_136, 601_984},
    "qwen36-35b-a3b-nvfp4/sm8": {610_048, 605_440, 603_136, 610_368, 605_760, 603_456},
    "qwen36-35b-a3b-nvfp4/sm90": {1_121_472, 1_116_864, 1_262_016},
    "qwen36-35b-a3b-nvfp4/sm100": {610_368, 605_760, 603_456},
}
"""Bytes of small tensors that the engine allocates beside what is counted, by the beginning of a
golden's name: buffers of kernels, or of the model's class. All others are equal to the byte."""


def test_weights_are_the_engines_to_the_byte() -> None:
    """A norm forgotten in every layer is far below half a per cent."""
    wrong = {
        name: beside
        for name, beside in score().beside.items()
        if {0, *_beside(name)}.isdisjoint(beside)
    }
    assert not wrong
    exact = sum(0 in beside for beside in score().beside.values())
    assert exact > 0.7 * len(score().beside)


def _beside(name: str) -> set[int]:
    return {size for start, sizes in BESIDE.items() if name.startswith(start) for size in sizes}


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
