"""`budget`: what vLLM will say after it has loaded, with the verdict and the cheapest remedies."""

from models.architecture import CacheKind
from models.core.base import GIB
from models.core.findings import Finding, Severity, Source
from models.core.rule_ids import MemoryRule
from models.memory.inputs.request import BudgetRequest
from models.memory.terms.constants import FITTED, Fitted
from models.memory.verdict.limits import byte_refusals
from models.memory.verdict.measure import Measure, Memo, measure
from models.memory.verdict.remedies import remedies
from models.memory.verdict.result import Budget, TermSource, Verdict


def budget(request: BudgetRequest, fitted: Fitted = FITTED) -> Budget:
    """Return the memory budget of one GPU of a replica.

    Raises:
        ProblemsError: when `quantization` names a method that is not known.

    """
    memo: Memo = {}
    taken = measure(request, fitted, memo)
    hard = [*taken.refusals, *byte_refusals(taken)]
    verdict = _verdict(taken, hard)
    found = _result(taken, verdict, hard)
    if verdict in (Verdict.CANNOT_START, Verdict.CANNOT_SERVE):
        return found.model_copy(update={"remedies": remedies(taken, hard, fitted, memo)})
    return found


def _verdict(estimate: Measure, hard: list[Finding]) -> Verdict:
    if any(refusal.rule != MemoryRule.ONE_REQUEST for refusal in hard):
        return Verdict.CANNOT_START
    if hard:
        return Verdict.CANNOT_SERVE
    return Verdict.UNKNOWN if estimate.kv_bytes is None else Verdict.FITS


def _result(estimate: Measure, verdict: Verdict, hard: list[Finding]) -> Budget:
    plan, request = estimate.plan, estimate.request
    missing = request.architecture.incomplete
    refusals = [*hard]
    if missing:
        message = "the weights cannot be counted, missing: " + ", ".join(missing)
        refusals.append(
            Finding(
                "",
                message,
                Severity.UNKNOWN,
                rule=MemoryRule.INCOMPLETE,
                source=Source.MEMORY,
            )
        )
    kv, low = estimate.kv_bytes, estimate.kv_low_bytes
    return Budget(
        verdict=verdict,
        requested_gib=estimate.requested_gib,
        weights_gib=estimate.weights_gib,
        activation_gib=estimate.activation_gib,
        non_torch_gib=estimate.non_torch_gib,
        cuda_graph_gib=estimate.graphs_gib,
        kv_cache_gib=None if kv is None else max(0.0, kv / GIB),
        kv_cache_gib_low=None if low is None else max(0.0, low / GIB),
        kv_bytes_per_token=plan.bytes_per_token(),
        kv_bytes_per_block=plan.block_bytes,
        gpu_blocks=None if kv is None else estimate.blocks,
        kv_cache_tokens=None if kv is None else plan.tokens(estimate.blocks),
        max_concurrency=None if kv is None else plan.concurrency(estimate.blocks),
        needed_kv_gib=plan.need_bytes / GIB,
        margin_gib=None if kv is None else (plan.usable(kv) - plan.need_bytes) / GIB,
        longest_model_len=None if kv is None else _longest(estimate, kv),
        max_model_len=estimate.resolved.max_model_len,
        max_num_seqs=estimate.resolved.max_num_seqs,
        kv_heads_replicated=_replicates(request),
        groups=plan.summary(),
        sources=_sources(estimate),
        golden=None if estimate.golden is None else estimate.golden.name,
        refusals=tuple(refusals),
        notes=_notes(estimate),
    )


def _sources(estimate: Measure) -> dict[str, TermSource]:
    read = estimate.golden
    given = estimate.request.arguments.kv_cache_memory_bytes is not None
    counted = read is None or read.weights_gib is None
    return {
        "weights_gib": TermSource.MODEL if counted else TermSource.GOLDEN,
        "activation_gib": TermSource.MODEL,
        "non_torch_gib": TermSource.MODEL,
        "cuda_graph_gib": TermSource.MODEL,
        "kv_cache_gib": TermSource.GIVEN if given else TermSource.MODEL,
        "kv_layout": TermSource.MODEL if read is None else TermSource.GOLDEN,
    }


def _longest(estimate: Measure, kv: int) -> int:
    length = estimate.resolved.max_model_len
    limit = max(estimate.request.architecture.max_positions or length, length)
    return estimate.plan.longest(kv, limit)


def _replicates(request: BudgetRequest) -> bool:
    tensor = request.arguments.tensor_parallel_size
    return any(
        tensor > cache.kv_heads
        for cache in request.architecture.caches
        if not cache.kind.is_state and cache.kind not in (CacheKind.MLA, CacheKind.MLA_SLIDING)
    )


def _notes(estimate: Measure) -> tuple[str, ...]:
    notes = [*estimate.request.architecture.notes]
    behavior = estimate.request.behavior
    if behavior.assumed:
        major, minor = behavior.release
        notes.append(f"the engine's version is not known: {major}.{minor} is assumed")
    if estimate.golden is not None:
        notes.append(f"weights and KV layout are the engine's own: golden {estimate.golden.name}")
    if estimate.request.arguments.kv_cache_memory_bytes is not None:
        notes.append("kv_cache_memory_bytes is given: gpu_memory_utilization is not used")
    return tuple(notes)
