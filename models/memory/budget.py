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


def _verdict(taken: Measure, hard: list[Finding]) -> Verdict:
    if any(refusal.rule != MemoryRule.ONE_REQUEST for refusal in hard):
        return Verdict.CANNOT_START
    if hard:
        return Verdict.CANNOT_SERVE
    return Verdict.UNKNOWN if taken.kv_bytes is None else Verdict.FITS


def _result(taken: Measure, verdict: Verdict, hard: list[Finding]) -> Budget:
    plan, request = taken.plan, taken.request
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
    kv, low = taken.kv_bytes, taken.kv_low_bytes
    return Budget(
        verdict=verdict,
        requested_gib=taken.requested_gib,
        weights_gib=taken.weights_gib,
        activation_gib=taken.activation_gib,
        non_torch_gib=taken.non_torch_gib,
        cuda_graph_gib=taken.graphs_gib,
        kv_cache_gib=None if kv is None else max(0.0, kv / GIB),
        kv_cache_gib_low=None if low is None else max(0.0, low / GIB),
        kv_bytes_per_token=plan.bytes_per_token(),
        kv_bytes_per_block=plan.block_bytes,
        gpu_blocks=None if kv is None else taken.blocks,
        kv_cache_tokens=None if kv is None else plan.tokens(taken.blocks),
        max_concurrency=None if kv is None else plan.concurrency(taken.blocks),
        needed_kv_gib=plan.need_bytes / GIB,
        margin_gib=None if kv is None else (plan.usable(kv) - plan.need_bytes) / GIB,
        longest_model_len=None if kv is None else _longest(taken, kv),
        max_model_len=taken.resolved.max_model_len,
        max_num_seqs=taken.resolved.max_num_seqs,
        kv_heads_replicated=_replicates(request),
        groups=plan.summary(),
        sources=_sources(taken),
        golden=None if taken.golden is None else taken.golden.name,
        refusals=tuple(refusals),
        notes=_notes(taken),
    )


def _sources(taken: Measure) -> dict[str, TermSource]:
    read = taken.golden
    given = taken.request.arguments.kv_cache_memory_bytes is not None
    counted = read is None or read.weights_gib is None
    return {
        "weights_gib": TermSource.MODEL if counted else TermSource.GOLDEN,
        "activation_gib": TermSource.MODEL,
        "non_torch_gib": TermSource.MODEL,
        "cuda_graph_gib": TermSource.MODEL,
        "kv_cache_gib": TermSource.GIVEN if given else TermSource.MODEL,
        "kv_layout": TermSource.MODEL if read is None else TermSource.GOLDEN,
    }


def _longest(taken: Measure, kv: int) -> int:
    length = taken.resolved.max_model_len
    limit = max(taken.request.architecture.max_positions or length, length)
    return taken.plan.longest(kv, limit)


def _replicates(request: BudgetRequest) -> bool:
    tensor = request.arguments.tensor_parallel_size
    return any(
        tensor > cache.kv_heads
        for cache in request.architecture.caches
        if not cache.kind.is_state and cache.kind not in (CacheKind.MLA, CacheKind.MLA_SLIDING)
    )


def _notes(taken: Measure) -> tuple[str, ...]:
    notes = [*taken.request.architecture.notes]
    behavior = taken.request.behavior
    if behavior.assumed:
        major, minor = behavior.release
        notes.append(f"the engine's version is not known: {major}.{minor} is assumed")
    if taken.golden is not None:
        notes.append(f"weights and KV layout are the engine's own: golden {taken.golden.name}")
    if taken.request.arguments.kv_cache_memory_bytes is not None:
        notes.append("kv_cache_memory_bytes is given: gpu_memory_utilization is not used")
    return tuple(notes)
