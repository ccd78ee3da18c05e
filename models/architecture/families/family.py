"""`ModelFamily`: everything that is known of the models of one `model_type`, in one record.

What the engine does otherwise than a model's shapes tell is in `engine`
(`models/architecture/traits.py`). Fields say where their values come from; a record's own comment
names what is particular to it, and its recipe the source of the shapes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from models.architecture.blocks.draft import Draft
from models.architecture.blocks.rotary import NO_ROTARY, RotaryTables
from models.architecture.blocks.vision import Joint
from models.architecture.config.fields import Fields, layer_count
from models.architecture.traits import EngineTraits

Recipe = Callable[[Draft], None]
"""Adds a model's layers to the draft that holds its fields."""

Summary = dict[str, JsonValue]
"""A flat summary of a configuration (`models/architecture/names/facts.py`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Multimodal:
    """A `model_type` around the family's text part."""

    name: str
    """The outer configuration's `model_type`."""
    implies: bool = True
    """Whether its text part is of this family where it does not say so itself."""
    joint: Joint = field(default_factory=Joint)
    """How its vision tower is split and joined."""
    bidirectional_prefix: bool = False
    """Whether the tokens of an image attend to each other both ways, where `use_bidirectional_
    attention` says nothing: vLLM 0.33.0 `config/model.py`, `is_mm_prefix_lm`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TowerFamily:
    """A `model_type` inside `vision_config` or `audio_config`."""

    name: str
    gated: bool = False
    """Whether a vision tower's feed-forward is gated, and without biases."""
    recipe: Callable[[Draft, Fields], None] | None = None
    """What adds an audio tower's weights; None where they are not known."""
    defaults: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """As in `ModelFamily`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFamily:
    """The models of one `model_type`: how they are built, and what holds for them only."""

    name: str
    """The `model_type` that the configuration of the text part states."""
    recipe: Recipe
    """Adds its layers: the shapes that the engine's class allocates (vLLM 0.33.0)."""
    classes: tuple[str, ...] = ()
    """Classes (`architectures`) that mean the family in a summary without a `model_type`:
    transformers 5 `models/auto/modeling_auto.py`, vLLM 0.33.0 `registry.py`."""
    outer: tuple[Multimodal, ...] = ()
    """Multimodal types whose text part it is."""
    defaults: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What its configuration class stands for where a `config.json` leaves a field out
    (transformers 5, by model type). A hub `config.json` holds only what differs from the class.
    Only what changes sizes is listed; None says that the class leaves the field empty."""
    tied: bool = False
    """Whether its class ties the output head to the embedding unless told otherwise (transformers
    5)."""
    ties_itself: bool = False
    """Whether only the text part's own `tie_word_embeddings` counts. Into other text parts the
    engine copies what stands outside (vLLM 0.33.0 `config/vllm.py`; measured)."""
    own_code: bool = False
    """Whether transformers 5 has no class for it: the checkpoint brings one, or the engine does."""
    rotary: RotaryTables = field(default_factory=RotaryTables)
    """The tables of rotary positions in the GPU's memory."""
    attention_sinks: bool = False
    """Whether attention has learned sinks, which only some of the engine's kernels compute."""
    layers: Callable[[Fields], int] = layer_count
    """Counts its layers."""
    mxfp4_experts_only: bool = False
    """Whether an MXFP4 checkpoint stores the experts so and nothing else."""
    restate: Callable[[Summary], None] | None = None
    """Gives the fields of a summary the names that the family's own class gives them, or the
    summary another `model_type` (docs/sources.md#configurations-of-models)."""
    summarized_without_type: bool = False
    """Whether a summary that names neither type nor class is read by `restate`."""
    engine: EngineTraits = field(default_factory=EngineTraits)
    """What the engine does differently for it."""

    @property
    def tables(self) -> RotaryTables:
        """The rotary tables in memory: the Transformers backend keeps frequencies, and no table."""
        return NO_ROTARY if self.engine.transformers_backend else self.rotary
