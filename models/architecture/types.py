"""What a model is, as far as memory goes: weights by part, and the caches its layers keep.

An `Architecture` says nothing about a GPU or an engine: shapes are whole, before any split over
ranks. `models/memory` turns it into bytes per rank.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from models.architecture.traits import EngineTraits
from models.core.base import Model

TOWERS = ("vision_config", "audio_config")
"""The sections of a configuration that describe what `--language-model-only` does not load."""


class Family(StrEnum):
    """The broad kind of a model: what it repeats, and whether every layer keeps a KV cache."""

    TRANSFORMER = "transformer"
    MOE = "moe"
    SSM = "ssm"
    HYBRID = "hybrid"


class CacheKind(StrEnum):
    """What one layer keeps per token or per request."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    MLA = "mla"
    MLA_SLIDING = "mla-sliding"
    MAMBA1 = "mamba1"
    MAMBA2 = "mamba2"
    GDN = "gdn"
    KDA = "kda"
    LINEAR = "linear"
    SHORT_CONV = "short-conv"

    @property
    def is_state(self) -> bool:
        """Whether the layer keeps a state of fixed size instead of one entry per token."""
        return self in _STATES


_STATES = frozenset(
    {
        CacheKind.MAMBA1,
        CacheKind.MAMBA2,
        CacheKind.GDN,
        CacheKind.KDA,
        CacheKind.LINEAR,
        CacheKind.SHORT_CONV,
    }
)


class Part(StrEnum):
    """The part of a model that a weight belongs to."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    MIXER = "mixer"
    MLP = "mlp"
    EXPERTS = "experts"
    SHARED_EXPERTS = "shared-experts"
    ROUTER = "router"
    NORM = "norm"
    VISION = "vision"
    MTP = "mtp"
    BUFFER = "buffer"


class Shard(StrEnum):
    """How tensor parallelism splits a weight: by rows (outputs), columns (inputs), or not."""

    OUTPUT = "output"
    INPUT = "input"
    VOCABULARY = "vocabulary"
    NONE = "none"


class Rows(Model):
    """One slice of a weight's output rows: `units` blocks of `width` rows.

    `replicated` slices (KV heads, state groups) keep at least one unit on every rank.
    """

    units: PositiveInt
    width: PositiveInt
    replicated: bool = False

    @property
    def size(self) -> int:
        """All rows of the slice."""
        return self.units * self.width


class Weight(Model):
    """One tensor as the engine allocates it, repeated once per layer in `layers`.

    `modules` are the checkpoint's names of what is merged into it (`{}` stands for the layer),
    which quantization's ignore lists are matched with. `experts` > 0 marks a stack of experts.
    `dtype` is set where the tensor keeps its own whatever the model's is. Only a `linear` weight
    can be quantized; one with `derived_from` is a 16-bit copy that the engine makes where that
    module is quantized.
    """

    part: Part
    modules: Annotated[tuple[str, ...], Field(min_length=1)]
    rows: Annotated[tuple[Rows, ...], Field(min_length=1)]
    columns: PositiveInt = 1
    shard: Shard = Shard.NONE
    layers: tuple[NonNegativeInt, ...] | None = None
    experts: NonNegativeInt = 0
    dtype: str | None = None
    linear: bool = False
    derived_from: str | None = None
    copies: PositiveInt = 1

    @property
    def parameters(self) -> int:
        """Number of parameters over all layers and experts."""
        count = sum(rows.size for rows in self.rows) * self.columns * self.copies
        return count * max(1, self.experts) * (1 if self.layers is None else len(self.layers))


class State(Model):
    """The state of one recurrent layer, before any split.

    The convolution keeps `kernel - 1` columns of `conv_size` rows, plus `groups` x `group_width`
    rows that ranks share if they outnumber the groups; the recurrence keeps `heads` x
    `head_elements` numbers of `dtype` (None: the convolution's, that is the model's).
    """

    kernel: PositiveInt
    conv_size: NonNegativeInt
    groups: NonNegativeInt = 0
    group_width: NonNegativeInt = 0
    heads: NonNegativeInt = 0
    head_elements: NonNegativeInt = 0
    dtype: str | None = None


class CacheLayers(Model):
    """Layers that keep the same kind of cache of the same size.

    For MLA `head_dim` is the width of the latent with its rotary part and `head_dim_v` is 0.
    `compress` is the number of tokens that one entry covers; `block` fixes the tokens per block
    where the model does; `entry_bytes` fixes the bytes of one entry where the format does, and
    `alignment` rounds a page up to a multiple. `dtype` fixes the entries' dtype (a cache that
    `kv_cache_dtype` does not touch).
    """

    kind: CacheKind
    layers: Annotated[tuple[NonNegativeInt, ...], Field(min_length=1)]
    kv_heads: PositiveInt = 1
    head_dim: NonNegativeInt = 0
    head_dim_v: NonNegativeInt = 0
    window: PositiveInt | None = None
    state: State | None = None
    compress: PositiveInt = 1
    block: PositiveInt | None = None
    entry_bytes: PositiveInt | None = None
    alignment: PositiveInt | None = None
    dtype: str | None = None


class SchemeKind(StrEnum):
    """How a quantized weight is stored."""

    FP8_TENSOR = "fp8-tensor"
    FP8_CHANNEL = "fp8-channel"
    FP8_BLOCK = "fp8-block"
    INT8_CHANNEL = "int8-channel"
    WNA16 = "wna16"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    MXFP8 = "mxfp8"
    BNB4 = "bnb4"
    GGUF = "gguf"
    NONE = "none"


class Scheme(Model):
    """One storage scheme: `bits` per weight, `group` inputs per scale (0: one per row or tensor).

    `block` is the square of a block-scaled FP8 weight.
    """

    kind: SchemeKind
    bits: Annotated[float, Field(gt=0, le=32)] = 16
    group: NonNegativeInt = 0
    zero_points: bool = False
    block: tuple[PositiveInt, PositiveInt] | None = None


class Rule(Model):
    """Modules whose names match one of `patterns` (see `matches`) are stored by `scheme`."""

    patterns: tuple[str, ...]
    scheme: Scheme


class Quantization(Model):
    """The checkpoint's quantization: `method` as written, the scheme of linear weights, exceptions.

    `rules` come first, then `ignored`, then `scheme`. `kv_cache_dtype` is what the checkpoint asks
    the engine to use, `experts_only` says that only experts are quantized,
    `expert_scheme` that they are stored otherwise than the rest. `online` marks one that is only
    named (or that the engine makes while loading), `assumed` one whose exceptions are not stated.
    """

    method: str
    scheme: Scheme
    rules: tuple[Rule, ...] = ()
    ignored: tuple[str, ...] = ()
    kv_cache_dtype: str | None = None
    experts_only: bool = False
    expert_scheme: Scheme | None = None
    online: bool = False
    assumed: bool = False
    quantizes_head: bool = False


class Architecture(Model):
    """A model's shapes, whole: weights, caches, and the numbers that activations depend on.

    `intermediate_width` is the widest intermediate result per token (elements); `heads` the query
    heads; `top_k` experts per token. `vision_tokens` is the encoder's largest item (0 without an
    encoder) and `vision_width` the elements that its layer holds per token of it; `step_elements`
    per token of a step are kept for what decoder layers take beside their inputs. `index_top_k`
    positions are chosen by sparse attention's indexer. `incomplete` names fields whose absence
    leaves the weights unknown, though not the caches; those of `TOWERS` only while their tower is
    loaded. `notes` say what was taken from a class
    default.
    """

    model_type: str
    classes: tuple[str, ...] = ()
    """The model classes that the configuration names (`architectures`)."""
    family: Family
    dtype: str
    hidden_size: PositiveInt
    vocab_size: PositiveInt
    num_layers: PositiveInt
    heads: NonNegativeInt
    kv_heads: NonNegativeInt
    head_dim: NonNegativeInt
    max_positions: PositiveInt | None
    intermediate_width: NonNegativeInt
    tied_embeddings: bool
    experts: NonNegativeInt = 0
    top_k: NonNegativeInt = 0
    expert_intermediate: NonNegativeInt = 0
    multimodal: bool = False
    vision_tokens: NonNegativeInt = 0
    vision_width: NonNegativeInt = 0
    step_elements: NonNegativeInt = 0
    bidirectional_prefix: bool = False
    attention_sinks: bool = False
    engine: EngineTraits = EngineTraits()
    """What the engine does differently for the model's family."""
    mtp_layers: NonNegativeInt = 0
    index_top_k: NonNegativeInt = 0
    incomplete: tuple[str, ...] = ()
    weights: tuple[Weight, ...]
    caches: tuple[CacheLayers, ...]
    quantization: Quantization | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_hybrid(self) -> bool:
        """Whether recurrent layers and attention layers are mixed."""
        kinds = {cache.kind.is_state for cache in self.caches}
        return len(kinds) == 2

    @property
    def attention_kinds(self) -> tuple[CacheKind, ...]:
        """The kinds of cache that the layers keep, in order of first appearance."""
        return tuple(dict.fromkeys(cache.kind for cache in self.caches))

    def parameters(self) -> dict[Part, int]:
        """Return the number of parameters by part (buffers are not parameters)."""
        counted: dict[Part, int] = {}
        for weight in self.weights:
            if weight.part is not Part.BUFFER:
                counted[weight.part] = counted.get(weight.part, 0) + weight.parameters
        return counted
