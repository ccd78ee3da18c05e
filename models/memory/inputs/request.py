"""What a budget is asked for: the model, the card, the engine, the arguments."""

from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from models.architecture import Architecture
from models.core.base import Model
from models.engine.arguments import EngineArguments
from models.engine.values import dtype_of
from models.facts.accelerators import Accelerator
from models.facts.contract import EngineContract, MinimumCapability
from models.facts.golden import ModelGoldens
from models.memory.inputs.behavior import Behavior, behavior_of_contract, size_defaults


class Card(Model):
    """One GPU: `memory_gib` is CUDA's total in GiB, `capability` its compute capability."""

    memory_gib: PositiveFloat
    capability: tuple[int, int]
    product: str = ""
    other_gib: Annotated[float, Field(ge=0)] = 0.0
    """GiB that other processes on the card hold."""
    rocm: bool = False


class Resolved(Model):
    """The arguments whose defaults depend on release, model and card, with these filled in."""

    max_model_len: PositiveInt
    gpu_memory_utilization: float
    max_num_seqs: PositiveInt
    max_num_batched_tokens: PositiveInt
    kv_cache_dtype: str
    dtype: str
    enable_prefix_caching: bool
    enforce_eager: bool


class BudgetRequest(Model):
    """Everything a budget depends on. `n_gpus` are the GPUs that the replica gets.

    `minimum` is the release's table of compute capabilities; without it that check is left out.
    `quantization_names` maps a checkpoint's method to the engine's. `goldens` are what the
    release's own code said of this very configuration; where one fits, it is read instead of
    counting.
    """

    architecture: Architecture
    card: Card
    behavior: Behavior
    arguments: EngineArguments = EngineArguments()
    n_gpus: PositiveInt | None = None
    minimum: MinimumCapability | None = None
    quantization_names: dict[str, str] = Field(default_factory=dict)
    goldens: ModelGoldens | None = None

    @classmethod
    def of(
        cls,
        architecture: Architecture,
        accelerator: Accelerator,
        contract: EngineContract,
        arguments: EngineArguments,
        n_gpus: int | None = None,
        goldens: ModelGoldens | None = None,
    ) -> "BudgetRequest":
        """Return the request for a replica as the plan and the catalog describe it.

        Goldens of another release are left out.
        """
        same = goldens is not None and goldens.engine == contract.version
        return cls(
            architecture=architecture,
            card=Card(
                memory_gib=accelerator.memory_gib,
                capability=accelerator.capability,
                product=accelerator.product,
            ),
            behavior=behavior_of_contract(contract, architecture.classes),
            arguments=arguments,
            n_gpus=arguments.gpus if n_gpus is None else n_gpus,
            minimum=contract.minimum_capability,
            quantization_names=dict(contract.quantization_names),
            goldens=goldens if same else None,
        )


_FALLBACK_LENGTH = 4096


def resolve(request: BudgetRequest) -> Resolved:
    """Fill in the defaults of the release on this card.

    Lengths come from the model's positions. Before chunked prefill a step took a whole prompt:
    max(max_model_len, 2048) tokens, cut to 2048 above 32k (docs/sources.md#memory-by-release).
    """
    asked, behavior = request.arguments, request.behavior
    found = request.architecture
    length = asked.max_model_len or found.max_positions or _FALLBACK_LENGTH
    sizes = size_defaults(behavior, request.card.memory_gib, request.card.product)
    seqs = asked.max_num_seqs or sizes.max_num_seqs
    tokens = asked.max_num_batched_tokens
    if tokens is None:
        tokens = sizes.max_num_batched_tokens
        if not behavior.chunked and length <= 32768:
            tokens = max(length, tokens)
        if _holds_whole_items(request):
            tokens = max(tokens, found.vision_tokens)
        tokens = min(tokens, seqs * length)
    cache_dtype = asked.kv_cache_dtype or "auto"
    if cache_dtype == "auto" and found.quantization is not None:
        cache_dtype = found.quantization.kv_cache_dtype or "auto"
    if cache_dtype == "auto" and _prefers_fp8_cache(request):
        cache_dtype = "fp8_e4m3"
    state_only = all(cache.kind.is_state for cache in found.caches)
    caching = asked.enable_prefix_caching
    if caching is None:
        caching = not state_only and (not found.is_hybrid or behavior.hybrid_caching)
    return Resolved(
        max_model_len=length,
        gpu_memory_utilization=asked.gpu_memory_utilization or behavior.gpu_memory_utilization,
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        kv_cache_dtype=cache_dtype,
        dtype=dtype_of(asked.dtype) or found.dtype,
        enable_prefix_caching=caching and not state_only,
        enforce_eager=bool(asked.enforce_eager),
    )


def _holds_whole_items(request: BudgetRequest) -> bool:
    """Tell whether a step must take a whole image: its tokens attend to each other.

    vLLM 0.33.0 `engine/arg_utils.py`: prefix-LM models only.
    """
    found = request.architecture
    kept = found.multimodal and not request.arguments.language_model_only
    return kept and found.bidirectional_prefix and request.behavior.whole_items


def _prefers_fp8_cache(request: BudgetRequest) -> bool:
    """Tell whether the release takes FP8 for the model on this card: data-center Blackwell only."""
    preferred = request.architecture.engine.prefers_fp8_cache
    return preferred and request.card.capability[0] == 10 and request.behavior.glm_fp8_cache
