"""One evaluation of a request: every term, blocks, and what stands against it. No remedies."""

import math
from dataclasses import dataclass

from models.architecture import TOWERS, Part, with_quantization
from models.core.base import GIB
from models.core.findings import Finding
from models.core.problems import ProblemsError
from models.memory.inputs.request import BudgetRequest, Resolved, resolve
from models.memory.terms.constants import FITTED, Fitted
from models.memory.terms.kvcache import CachePlan, cache_plan, stage_block_bytes
from models.memory.terms.peaks import activation_gib, cuda_graph_gib, non_torch_gib, slack_gib
from models.memory.terms.weights import Rank, weight_bytes
from models.memory.verdict.goldens import GoldenMatch, engine_refusals, golden_of, with_layout
from models.memory.verdict.refusals import refusals


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """The terms of one GPU in GiB and the plan of its KV cache; weights None where not known.

    `golden` is the engine golden that weights and layout were read from, where one fits.
    """

    request: BudgetRequest
    resolved: Resolved
    plan: CachePlan
    requested_gib: float
    weights_gib: float | None
    activation_gib: float
    non_torch_gib: float
    graphs_gib: float
    kv_bytes: int | None
    kv_low_bytes: int | None
    refusals: tuple[Finding, ...]
    golden: GoldenMatch | None = None

    @property
    def blocks(self) -> int:
        """Blocks of the pool; 0 where the KV memory is not known or not positive."""
        return self.plan.blocks(self.kv_bytes) if self.kv_bytes else 0

    @property
    def starts(self) -> bool:
        """Whether nothing stands against a start, bytes included."""
        return not self.refusals


Memo = dict[tuple[str, Rank, str], int]
"""Weight bytes of one model already counted, by `--quantization`, rank and rounding."""


def measure(request: BudgetRequest, fitted: Fitted = FITTED, memo: Memo | None = None) -> Measure:
    """Evaluate a request once; `memo` is for evaluations of one model under changed arguments."""
    request = _loaded(_quantized(request))
    resolved = resolve(request)
    plan = cache_plan(request, resolved)
    golden = golden_of(request, resolved)
    if golden is not None:
        plan = with_layout(plan, golden.golden)
    requested = math.ceil(request.card.memory_gib * GIB * resolved.gpu_memory_utilization) / GIB
    activation = activation_gib(request, resolved, fitted)
    graphs = cuda_graph_gib(request, resolved, fitted)
    if golden is not None and golden.weights_gib is not None:
        weights, stage = golden.weights_gib, 0
    else:
        weights, stage = _weights(request, plan, resolved, {} if memo is None else memo)
    if weights is not None:
        weights = max(0.0, weights - request.arguments.cpu_offload_gb)
    non_torch = non_torch_gib(request, weights or 0.0, fitted)
    deducted = graphs if request.behavior.graphs_deducted else 0.0
    kv: int | None = None
    low: int | None = None
    given = request.arguments.kv_cache_memory_bytes
    if given is not None:
        kv = low = given
    elif weights is not None:
        over = activation + non_torch + deducted
        # Scaled to the stage whose block is widest, so that blocks come out right for all.
        room = (requested - weights - over) * GIB
        kv = _scaled(int(room), plan, stage)
        slack = slack_gib(request, resolved, weights, fitted)
        low = _scaled(int(room - slack * GIB), plan, stage)
    return Measure(
        request=request,
        resolved=resolved,
        plan=plan,
        requested_gib=requested,
        weights_gib=weights,
        activation_gib=activation,
        non_torch_gib=non_torch,
        graphs_gib=graphs,
        kv_bytes=kv,
        kv_low_bytes=low,
        refusals=refusals(request, resolved) or engine_refusals(request, resolved),
        golden=golden,
    )


def _quantized(request: BudgetRequest) -> BudgetRequest:
    """Apply `--quantization`; one that is not known leaves the weights unknown, not the cache."""
    method, found = request.arguments.quantization, request.architecture
    if method is None or found.quantization is not None:
        return request
    try:
        changed = with_quantization(found, method)
    except ProblemsError:
        missing = (*found.incomplete, f"the bits of quantization {method!r}")
        changed = found.model_copy(update={"incomplete": missing})
    return request.model_copy(update={"architecture": changed})


def _loaded(request: BudgetRequest) -> BudgetRequest:
    """Leave out the towers that `--language-model-only` does not load."""
    found = request.architecture
    if not request.arguments.language_model_only:
        return request
    known = tuple(name for name in found.incomplete if not name.startswith(TOWERS))
    kept = tuple(weight for weight in found.weights if weight.part is not Part.VISION)
    none = {"multimodal": False, "vision_tokens": 0, "step_elements": 0}
    text = found.model_copy(update={"weights": kept, "incomplete": known, **none})
    return request.model_copy(update={"architecture": text})


def _scaled(room: int, plan: CachePlan, stage: int) -> int:
    """Return the room of a stage as if its block were the widest stage's.

    All ranks take the least number of blocks; a stage with a smaller block has more of them.
    """
    if plan.request.arguments.pipeline_parallel_size == 1:
        return room
    own = stage_block_bytes(plan, stage)
    return room if own == plan.block_bytes else room * plan.block_bytes // max(1, own)


def _weights(
    request: BudgetRequest, plan: CachePlan, resolved: Resolved, memo: Memo
) -> tuple[float | None, int]:
    """Return the weights in GiB of the stage that leaves the fewest blocks, and that stage."""
    found, asked = request.architecture, request.arguments
    if found.incomplete:
        return None, 0
    pipeline = min(asked.pipeline_parallel_size, found.num_layers)
    best: tuple[float, float, int] | None = None
    budget = request.card.memory_gib * GIB * resolved.gpu_memory_utilization
    for stage in range(pipeline):
        rank = Rank(
            tensor=asked.tensor_parallel_size,
            pipeline=pipeline,
            stage=stage,
            data=asked.data_parallel_size,
            expert_parallel=asked.enable_expert_parallel,
            capability=request.card.capability,
            padded_mxfp4=request.behavior.padded_mxfp4,
            marlin_mxfp4=request.behavior.marlin_mxfp4,
            machete_awq=request.behavior.machete_awq,
            trtllm_experts=request.behavior.trtllm_experts,
            refined_fp8_blocks=request.behavior.refined_fp8_blocks,
            dtype=None if resolved.dtype == found.dtype else resolved.dtype,
            batched_tokens=resolved.max_num_batched_tokens,
        )
        key = (asked.quantization or "", rank, request.behavior.allocator)
        held = memo.get(key)
        if held is None:
            held = memo[key] = weight_bytes(found, rank, request.behavior.allocator).allocated
        blocks = (budget - held) / max(1, stage_block_bytes(plan, stage))
        if best is None or blocks < best[0]:
            best = (blocks, held / GIB, stage)
    return (None, 0) if best is None else (best[1], best[2])
