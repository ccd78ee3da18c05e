"""Fields of configurations that every published model leaves at one value.

No golden tells whether such a field is read at all; the difference it makes is written out here
from the layers' shapes (transformers 5: the modules' own constructors).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from models.architecture import Architecture, Part, architecture
from tests.helpers.models.memory_data import configs

pytestmark = pytest.mark.pure

CONFIGURATIONS = Path(__file__).with_name("engine_families.json")
NEMOTRON = "nvidia/Nemotron-H-56B-Base-8K"


def family(name: str, **changes: Any) -> Architecture:
    """Return a family's architecture with some fields changed."""
    families: list[dict[str, Any]] = json.loads(CONFIGURATIONS.read_text(encoding="utf-8"))
    config: dict[str, Any] = next(each["config"] for each in families if each["name"] == name)
    return architecture({**config, **changes})


def numbers(found: Architecture) -> int:
    """Return how many numbers the weights have."""
    return sum(weight.parameters for weight in found.weights)


@pytest.mark.parametrize(
    ("name", "changes", "more"),
    [
        # 1024 channels of the scan, one group of 256 for B and for C, in 32 layers.
        ("falcon_h1", {"mamba_conv_bias": False}, -32 * (1024 + 2 * 256)),
        # Into the mixer: gate, scan, B, C and 128 heads' steps; out of it the hidden 4096.
        ("falcon_h1", {"mamba_proj_bias": True}, 32 * (2 * 1024 + 2 * 256 + 128 + 4096)),
        # Mamba 1 convolves its 1536 channels only.
        ("falcon_mamba", {"use_conv_bias": False}, -32 * 1536),
        # Gate and scan in, 768 out.
        ("falcon_mamba", {"use_bias": True}, 32 * (2 * 1536 + 768)),
    ],
)
def test_biases_of_recurrent_mixers_are_read(
    name: str, changes: dict[str, bool], more: int
) -> None:
    assert numbers(family(name, **changes)) - numbers(family(name)) == more


def test_nemotrons_convolutions_can_go_without_bias() -> None:
    """Channels of the scan and of B and C of every group, in each layer marked M."""
    config = configs()[NEMOTRON]
    layers = config["hybrid_override_pattern"].count("M")
    scan = config["mamba_num_heads"] * config["mamba_head_dim"]
    channels = scan + 2 * config["n_groups"] * config["ssm_state_size"]
    plain = architecture({**config, "use_conv_bias": False})
    assert numbers(architecture({**config, "use_conv_bias": True})) - numbers(plain) == (
        layers * channels
    )


def test_every_second_layer_of_ernie_may_have_the_experts() -> None:
    """Of layers 1 to 27 those whose number, counted from one, is even: 14; before, 27."""
    step, every = family("ernie4_5_moe", moe_layer_interval=2), family("ernie4_5_moe")
    layers = {weight.layers for weight in step.weights if weight.part is Part.ROUTER}
    assert layers == {tuple(range(1, 28, 2))}
    dense = 3 * 2560 * 12288
    # 64 experts and two shared ones of 1536, the router and its correction of 64.
    sparse = 3 * 2560 * 1536 * (64 + 2) + 64 * 2560 + 64
    assert numbers(every) - numbers(step) == 13 * (sparse - dense)


def test_experts_of_ernie_may_end_before_the_last_layer() -> None:
    found = family("ernie4_5_moe", moe_layer_start_index=3, moe_layer_end_index=20)
    layers = {weight.layers for weight in found.weights if weight.part is Part.ROUTER}
    assert layers == {tuple(range(3, 21))}


def test_a_whole_number_written_with_a_point_is_that_number() -> None:
    config = configs()["meta-llama/Llama-3.1-8B-Instruct"]
    assert architecture({**config, "intermediate_size": 14336.0}) == architecture(config)


def test_a_model_of_text_takes_no_other_input() -> None:
    assert not architecture(configs()["meta-llama/Llama-3.1-8B-Instruct"]).multimodal
