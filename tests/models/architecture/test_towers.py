"""Towers beside the text part: counted where they are known, the weights unknown where not."""

import pytest
from pydantic import JsonValue

from benchmarks.shared.memory_cases import model_names
from models.architecture import Part, architecture
from models.core.problems import ProblemsError
from models.engine.arguments import EngineArguments
from models.memory import BudgetRequest, Card, Verdict, budget
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

_AUDIO: dict[str, JsonValue] = {
    "model_type": "gemma4_audio",
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "subsampling_conv_channels": [128, 32],
    "conv_kernel_size": 5,
    "output_proj_dims": 1536,
}

_NAMED: dict[str, JsonValue] = {"model_type": "gemma4_audio"}
_NEW: dict[str, JsonValue] = {"model_type": "new_tower"}


def _config(**sections: JsonValue) -> dict[str, JsonValue]:
    found = model_names().configuration("google/gemma-4-E4B-it")
    assert found is not None
    return {**found, **sections}


def _request(config: dict[str, JsonValue], tensor: int = 1, *, text: bool = False) -> BudgetRequest:
    return BudgetRequest(
        architecture=architecture(config),
        card=Card(memory_gib=178.36, capability=(10, 0)),
        behavior=behavior_of("0.33.0"),
        arguments=EngineArguments(
            max_model_len=4096,
            max_num_seqs=256,
            tensor_parallel_size=tensor,
            language_model_only=text,
        ),
    )


@pytest.mark.parametrize(
    ("section", "tensor", "allocated", "beside"),
    [
        (_AUDIO, 1, 16459317248, 923_648),
        (_AUDIO, 2, 9079177216, 661_504),
        (None, 1, 15841543680, 667_648),
    ],
)
def test_gemma_4s_audio_tower_takes_what_the_engine_says(
    section: JsonValue, tensor: int, allocated: int, beside: int
) -> None:
    """Asked of vLLM 0.33.0 as in test_engine_answers; `beside` are small tensors, not counted."""
    found = budget(_request(_config(audio_config=section), tensor))
    assert round((found.weights_gib or 0) * 2**30) == allocated - beside


def test_the_class_defaults_of_the_audio_tower_are_its_own() -> None:
    whole, short = (architecture(_config(audio_config=section)) for section in (_AUDIO, _NAMED))
    assert whole.parameters()[Part.VISION] == short.parameters()[Part.VISION]
    assert "audio_config.output_proj_dims = 1536 by the class default" in short.notes


@pytest.mark.parametrize(
    "section",
    [
        {"audio_config": {"model_type": "voxtral_encoder", "d_model": 1280}},
        {"audio_config": {"hidden_size": 1024}},
        {"vision_config": {"model_type": "new_tower", "width": 1280}},
    ],
)
def test_a_tower_that_is_not_known_is_not_left_out(section: dict[str, JsonValue]) -> None:
    found = budget(_request(_config(**section)))
    assert found.verdict is Verdict.UNKNOWN
    assert found.weights_gib is None
    (reason,) = found.reasons
    assert next(iter(section)) in reason
    assert "--language-model-only" in reason
    assert (found.needed_kv_gib or 0) > 0, "the cache does not depend on towers"


@pytest.mark.parametrize("name", ["audio_config", "vision_config"])
def test_the_text_alone_needs_no_tower(name: str) -> None:
    unknown = budget(_request(_config(**{name: _NEW}), text=True))
    known = budget(_request(_config(), text=True))
    assert unknown.verdict is Verdict.FITS
    assert unknown.weights_gib == known.weights_gib


@pytest.mark.parametrize("value", [[128], [128, 0], "128,32", [1, 2, 3]])
def test_a_wrong_field_of_the_tower_is_named(value: JsonValue) -> None:
    section: JsonValue = {**_AUDIO, "subsampling_conv_channels": value}
    with pytest.raises(ProblemsError, match=r"audio_config\.subsampling_conv_channels"):
        architecture(_config(audio_config=section))
