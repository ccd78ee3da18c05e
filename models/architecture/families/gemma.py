"""Families of Gemma. Their windowed layers have rotary tables of their own from Gemma 3 on."""

from typing import Final

from models.architecture.blocks.rotary import RotaryTables
from models.architecture.blocks.vision import Joint
from models.architecture.families.family import ModelFamily, Multimodal, Summary
from models.architecture.families.recipes.common import Style, dense, every_second, every_sixth
from models.architecture.families.recipes.gemma3n import gemma3n
from models.architecture.families.recipes.special import gemma4
from models.architecture.traits import EngineTraits

_LOCAL: Final = RotaryTables(of_each_kind=True)


def _with_experts(config: Summary) -> None:
    if "num_experts" in config:
        config["enable_moe_block"] = True


RECORDS: Final = (
    ModelFamily(
        name="gemma",
        recipe=dense(Style()),
        classes=("GemmaForCausalLM",),
        # PaliGemma's text part is Gemma or Gemma 2, and says which.
        outer=(Multimodal(name="paligemma", implies=False, bidirectional_prefix=True),),
        defaults={"head_dim": 256},
        tied=True,
    ),
    ModelFamily(
        name="gemma2",
        recipe=dense(Style(norms=4, windowed=every_second)),
        classes=("Gemma2ForCausalLM",),
        defaults={"head_dim": 256, "sliding_window": 4096},
        tied=True,
        engine=EngineTraits(refuses_float16=True),
    ),
    ModelFamily(
        name="gemma3_text",
        recipe=dense(Style(norms=4, head_norms=2, windowed=every_sixth)),
        classes=("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        outer=(Multimodal(name="gemma3", joint=Joint(projection=True), bidirectional_prefix=True),),
        defaults={
            "head_dim": 256,
            "sliding_window": 4096,
            "sliding_window_pattern": 6,
            "vocab_size": 262208,
        },
        tied=True,
        rotary=_LOCAL,
        engine=EngineTraits(refuses_float16=True),
    ),
    ModelFamily(
        name="gemma3n_text",
        recipe=gemma3n,
        outer=(Multimodal(name="gemma3n"),),
        defaults={
            "head_dim": 256,
            "sliding_window": 512,
            "num_kv_shared_layers": 15,
            "laurel_rank": 64,
            "altup_num_inputs": 4,
            "hidden_size_per_layer_input": 256,
            "vocab_size_per_layer_input": 262144,
        },
        tied=True,
        rotary=_LOCAL,
    ),
    ModelFamily(
        name="gemma4_text",
        recipe=gemma4,
        classes=("Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"),
        # vLLM 0.33.0 `gemma4_mm.py`: every rank holds the tower whole; two tables of positions.
        outer=(
            Multimodal(
                name="gemma4",
                joint=Joint(split_tower=False, position_tables=2, projection=True),
            ),
        ),
        defaults={"head_dim": 256, "global_head_dim": 512, "sliding_window": 512},
        tied=True,
        rotary=_LOCAL,
        restate=_with_experts,
        # Runs name 0.19 (docs/sources.md#runs-of-the-engine).
        engine=EngineTraits(first_release=(0, 19)),
    ),
    ModelFamily(
        name="vaultgemma",
        recipe=dense(Style(windowed=every_second)),
        defaults={"head_dim": 256, "sliding_window": 4096},
        tied=True,
        engine=EngineTraits(transformers_backend=True),
    ),
)
