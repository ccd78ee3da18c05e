"""Which engine golden says a request's weights and KV layout, and what it puts in their place.

A golden fits where everything that these depend on resolves to the same: card, ranks, dtypes,
quantization, block size, prefix caching, attention backend. Anywhere else the pure model counts.
"""

from dataclasses import dataclass, replace
from typing import Final

from models.core.base import GIB
from models.core.findings import Finding
from models.core.rule_ids import MemoryRule
from models.engine.arguments import ARGUMENTS, EngineArguments
from models.facts.accelerators import capability
from models.facts.golden import Golden
from models.memory.inputs.request import BudgetRequest, Resolved, resolve
from models.memory.terms.kvcache import CachePlan
from models.memory.terms.pages import base_block
from models.memory.verdict.refusals import refusal

_SAME_DTYPE: Final = {"fp8": "fp8_e4m3"}


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenMatch:
    """A golden that fits, with what of it holds for a request.

    `weights_gib` is None where the golden's weights are not in the kernels' form, or depend on
    tokens per step that differ.
    """

    golden: Golden
    name: str
    weights_gib: float | None


def golden_of(request: BudgetRequest, resolved: Resolved) -> GoldenMatch | None:
    """Return the golden of a request, or None where none fits."""
    if request.goldens is None or not _is_asked(request):
        return None
    for golden in request.goldens.cases:
        if golden.resolved is not None and _fits(golden, request, resolved):
            return GoldenMatch(
                golden=golden,
                name=request.goldens.case_of(golden.case),
                weights_gib=_weights_gib(golden, request, resolved),
            )
    return None


def _is_asked(request: BudgetRequest) -> bool:
    """Tell whether goldens are asked with such arguments at all (docs/goldens.md)."""
    asked, default = request.arguments, EngineArguments()
    named = ("quantization", *(row.name for row in ARGUMENTS.values() if row.loads))
    return not request.card.rocm and all(
        getattr(asked, name) == getattr(default, name)
        for name in named
        if name != "tensor_parallel_size"
    )


def _fits(golden: Golden, request: BudgetRequest, resolved: Resolved) -> bool:
    asked = request.arguments
    if capability(golden.compute_capability) != request.card.capability:
        return False
    if golden.tensor != asked.tensor_parallel_size or golden.asked("quantization") is not None:
        return False
    if asked.attention_backend not in (None, golden.asked("attention_backend")):
        return False
    own = EngineArguments.model_validate(golden.arguments)
    theirs = resolve(request.model_copy(update={"arguments": own}))
    return (
        theirs.dtype == resolved.dtype
        and _cache(theirs) == _cache(resolved)
        and theirs.enable_prefix_caching == resolved.enable_prefix_caching
        and _block(request, own, theirs) == _block(request, asked, resolved)
    )


def _cache(resolved: Resolved) -> str:
    return _SAME_DTYPE.get(resolved.kv_cache_dtype, resolved.kv_cache_dtype)


def _block(request: BudgetRequest, arguments: EngineArguments, resolved: Resolved) -> int:
    default = base_block(request.architecture, request.card.capability, resolved.kv_cache_dtype)
    return arguments.block_size or default


def _weights_gib(golden: Golden, request: BudgetRequest, resolved: Resolved) -> float | None:
    if golden.weights is None or golden.process_failures:
        return None
    if request.architecture.index_top_k and not _same_step(golden, resolved):
        return None
    new = request.behavior.allocator == "new"
    held = golden.weights.alloc_new_bytes if new else golden.weights.alloc_old_bytes
    return held / GIB


def _same_step(golden: Golden, resolved: Resolved) -> bool:
    made = golden.resolved
    return made is not None and made.max_num_batched_tokens == resolved.max_num_batched_tokens


def with_layout(plan: CachePlan, golden: Golden) -> CachePlan:
    """Return the plan with the engine's bytes per block, and its need where the length is there.

    The need of windows depends on the tokens per step too; elsewhere the pure model's number of
    blocks is kept.
    """
    pool = golden.pool_bytes_per_block
    if pool is None:
        return plan
    need = golden.need_bytes.get(str(plan.resolved.max_model_len))
    known = need is not None and _same_step(golden, plan.resolved)
    blocks = (need or 0) // pool if known else plan.need_blocks
    return replace(plan, block_bytes=pool, need_blocks=blocks)


def engine_refusals(request: BudgetRequest, resolved: Resolved) -> tuple[Finding, ...]:
    """Return the engine's own refusal of exactly this question, where there is one."""
    if request.goldens is None or not _is_asked(request):
        return ()
    for golden in request.goldens.cases:
        same = golden.asked("max_model_len") == resolved.max_model_len
        if golden.refused and same and _fits(golden, request, resolved):
            reason = f"the engine itself refuses it: {golden.refused}"
            return (refusal(MemoryRule.ENGINE, reason, "change what it names"),)
    return ()
