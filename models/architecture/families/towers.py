"""Towers of multimodal models by the `model_type` of their section, and adding those of sound."""

from typing import Final

from models.architecture.blocks.audio import gemma4_audio
from models.architecture.blocks.draft import Draft
from models.architecture.config.fields import Fields
from models.architecture.families.family import TowerFamily

TOWERS: Final = {
    tower.name: tower
    for tower in (
        # Gated in transformers 5 (`modeling_gemma4.py`, `modeling_pixtral.py`,
        # `modeling_qwen2_5_vl.py`).
        TowerFamily(name="gemma4_vision", gated=True),
        TowerFamily(name="pixtral", gated=True),
        TowerFamily(name="qwen2_5_vl", gated=True),
        TowerFamily(
            name="gemma4_audio",
            recipe=gemma4_audio,
            defaults={
                "hidden_size": 1024,
                "num_hidden_layers": 12,
                "num_attention_heads": 8,
                "subsampling_conv_channels": [128, 32],
                "conv_kernel_size": 5,
                "output_proj_dims": 1536,
            },
        ),
    )
}
"""Any other tower of images is taken for one with biases; the weights of any other of sound are
not known."""


def is_gated(outer: Fields) -> bool:
    """Tell whether the vision tower's feed-forward is gated, and without biases."""
    tower = TOWERS.get(str(outer.section("vision_config").get("model_type")))
    return tower is not None and tower.gated


def audio(draft: Draft, outer: Fields) -> None:
    """Add the tower that `audio_config` describes, or say that its weights are not known."""
    section = outer.section("audio_config")
    if not section:
        return
    stated = section.get("model_type")
    kind = stated if isinstance(stated, str) and stated else "unnamed"
    tower = TOWERS.get(kind)
    if tower is None or tower.recipe is None:
        outer.incomplete.append(
            f"audio_config: an audio tower of type {kind} (--language-model-only loads none)"
        )
        return
    fields = Fields(section, tower.name, path="audio_config.", defaults=tower.defaults)
    tower.recipe(draft, fields)
    outer.problems.extend(fields.problems)
    outer.notes.extend(f"audio_config.{note}" for note in fields.notes)
