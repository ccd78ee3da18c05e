"""The terms that no source states: activation peak, non-torch memory, CUDA graphs. All in GiB.

Their form follows the engine's profile run (`v1/worker/gpu_worker.py`, `gpu_model_runner.py`): a
step of max_num_batched_tokens, then the sampler on max_num_seqs sequences, then the largest item of
the encoder; the peak is the largest of the three. The factors are in `constants.py`.
"""

from models.architecture import Architecture
from models.core.base import GIB
from models.memory.inputs.behavior import Behavior
from models.memory.inputs.request import BudgetRequest, Resolved
from models.memory.terms.constants import FITTED, Fitted

_CAPTURE_LIMIT = 512
_CAPTURE_LIMIT_FIRST = 256


def activation_gib(request: BudgetRequest, resolved: Resolved, fitted: Fitted = FITTED) -> float:
    """Return the peak of activations in GiB on one GPU."""
    sampler, other = peaks(request, resolved, fitted)
    return max(sampler, other) + fitted.activation_floor


def sampler_copy_gib(request: BudgetRequest, resolved: Resolved) -> float:
    """Return one float32 copy of sequences x vocabulary in GiB."""
    sequences = min(resolved.max_num_seqs, resolved.max_num_batched_tokens)
    return sequences * request.architecture.vocab_size * 4 / GIB


def peaks(request: BudgetRequest, resolved: Resolved, fitted: Fitted) -> tuple[float, float]:
    """Return the sampler's peak, and the larger of a layer's and the encoder's, in GiB."""
    found = request.architecture
    sorts = request.behavior.sampler == "sorts"
    copies = fitted.sampler_sorts if sorts else fitted.sampler_fused
    sampler = copies * sampler_copy_gib(request, resolved)
    layer = fitted.layer_copies * resolved.max_num_batched_tokens * _per_token(request) * 2
    encoder = 0.0
    if found.vision_tokens and not request.arguments.language_model_only:
        tokens = max(resolved.max_num_batched_tokens, found.vision_tokens)
        encoder = tokens * found.vision_width * 2
    return sampler, max(layer, encoder) / GIB


def _per_token(request: BudgetRequest) -> float:
    """Return the elements that one token's widest layer holds on one rank."""
    found, tensor = request.architecture, request.arguments.tensor_parallel_size
    dense = 2 * found.hidden_size + 1.5 * found.intermediate_width / tensor
    if not found.experts:
        return dense
    split = 1 if request.arguments.enable_expert_parallel else tensor
    width = 2 * found.expert_intermediate / split
    mixed = found.top_k * (max(width, found.hidden_size) + width / 2) + 2 * found.hidden_size
    return max(dense, mixed)


def non_torch_gib(request: BudgetRequest, weights_gib: float, fitted: Fitted = FITTED) -> float:
    """Return the memory outside PyTorch on one GPU in GiB: context, libraries, communication.

    Releases that took the peak from the driver counted what the allocator kept after loading.
    """
    first = request.behavior.first_engine
    base = fitted.context_first if first else fitted.context
    ranks = request.arguments.tensor_parallel_size * request.arguments.pipeline_parallel_size
    counted = ranks > 1 and request.behavior.counts_communication
    kept = ranks > 1 and request.behavior.keeps_load_cache
    cache = fitted.load_cache_share * weights_gib if kept else 0.0
    rocm = fitted.context_rocm if request.card.rocm else 0.0
    return base + rocm + (fitted.communication if counted else 0.0) + cache


def loosely_known(
    request: BudgetRequest, resolved: Resolved, weights_gib: float, fitted: Fitted = FITTED
) -> dict[str, float]:
    """Return what is known worst about a run: the parts of the bound and how much of each it has.

    One float32 copy of sequences x vocabulary where a fused sampler sets the peak, and weights
    whose quantization is named but not described, or which the oldest releases load on several
    GPUs, in GiB; a peak that no sampler sets, towers beside the text part and graphs of hybrid
    models inside the budget as 1.
    """
    sampler, other = peaks(request, resolved, fitted)
    found = request.architecture
    stored = found.quantization
    assumed = stored is not None and (stored.online or stored.assumed)
    ranks = request.arguments.tensor_parallel_size * request.arguments.pipeline_parallel_size
    oldest = not request.behavior.shards_known and ranks > 1
    graphs = request.behavior.graphs_deducted and not request.arguments.enforce_eager
    fused = request.behavior.sampler == "fused" and sampler >= other
    return {
        "bound_fused": sampler_copy_gib(request, resolved) if fused else 0.0,
        "bound_layer": float(other > sampler),
        "bound_tower": float(found.multimodal),
        "bound_assumed": weights_gib * assumed,
        "bound_hybrid": float(graphs and found.is_hybrid),
        "bound_oldest": weights_gib * oldest,
    }


def slack_gib(
    request: BudgetRequest, resolved: Resolved, weights_gib: float, fitted: Fitted = FITTED
) -> float:
    """Return how far the KV memory may lie below the estimate, one-sided, in GiB."""
    parts = loosely_known(request, resolved, weights_gib, fitted)
    return fitted.bound + sum(getattr(fitted, name) * size for name, size in parts.items())


def captured_sizes(resolved: Resolved, behavior: Behavior) -> int:
    """Return how many batch sizes are captured: 1, 2, 4, then every 8th (16th above 256)."""
    first = behavior.first_engine
    limit = _CAPTURE_LIMIT_FIRST if first else _CAPTURE_LIMIT
    largest = min(2 * resolved.max_num_seqs if not first else resolved.max_num_seqs, limit)
    below = min(largest, 256) // 8
    return min(3, largest) + below + max(0, largest - 256) // 16


def cuda_graph_gib(request: BudgetRequest, resolved: Resolved, fitted: Fitted = FITTED) -> float:
    """Return what CUDA graphs take on one GPU in GiB; 0 when they are off."""
    if resolved.enforce_eager:
        return 0.0
    layers = layers_on_stage(request.architecture, request.arguments.pipeline_parallel_size)
    share = captured_sizes(resolved, request.behavior) / 64
    return fitted.graph_base + fitted.graph_per_layer_mib * layers * share / 1024


def layers_on_stage(architecture: Architecture, pipeline: int) -> int:
    """Return the layers of the widest pipeline stage."""
    return -(-architecture.num_layers // pipeline)
