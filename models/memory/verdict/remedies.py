"""The cheapest changes that make a refused request fit, found by evaluating each of them."""

from collections.abc import Iterator, Sequence

from models.core.base import GIB
from models.core.findings import Finding, Setting
from models.core.rule_ids import BYTE_RULES, MemoryRule
from models.engine.arguments import MOST_UTILIZATION, EngineArguments
from models.memory.inputs.request import BudgetRequest
from models.memory.terms.constants import CONTEXT_RESERVE_GIB, Fitted
from models.memory.verdict.limits import byte_refusals
from models.memory.verdict.measure import Measure, Memo, measure
from models.memory.verdict.result import Remedy

_AT_MOST = 5
_LENGTH_STEP = 256
_STATED = frozenset(
    {
        MemoryRule.GPUS,
        MemoryRule.KV_HEADS,
        MemoryRule.CAPABILITY,
        MemoryRule.BLOCK_SIZE,
    }
)
"""Refusals whose remedy in words is one even without settings."""


def remedies(
    estimate: Measure, hard: Sequence[Finding], fitted: Fitted, memo: Memo
) -> tuple[Remedy, ...]:
    """Return changes that make it fit, cheapest first; a refusal's own remedy comes before them."""
    stated = [
        Remedy(text=refusal.remedy, settings=dict(refusal.settings))
        for refusal in hard
        if refusal.settings or refusal.rule in _STATED
    ]
    if any(refusal.rule not in BYTE_RULES for refusal in hard):
        return tuple(stated[:_AT_MOST])
    found = [*stated]
    for remedy, changed in _candidates(estimate):
        if len(found) >= _AT_MOST:
            break
        if remedy.settings not in [each.settings for each in found] and _fits(
            changed, fitted, memo
        ):
            found.append(remedy)
    if not found:
        found.append(
            Remedy(text="use a card with more memory, a smaller model, or a quantized checkpoint")
        )
    return tuple(found)


def _fits(request: BudgetRequest, fitted: Fitted, memo: Memo) -> bool:
    changed = measure(request, fitted, memo)
    if changed.kv_bytes is None or changed.refusals:
        return False
    return not any(byte_refusals(changed))


def _candidates(estimate: Measure) -> Iterator[tuple[Remedy, BudgetRequest]]:
    """Yield changes from the cheapest to the dearest."""
    request, resolved = estimate.request, estimate.resolved
    asked = request.arguments
    kv = estimate.kv_bytes or 0
    longest = estimate.plan.longest(kv, resolved.max_model_len) // _LENGTH_STEP * _LENGTH_STEP
    if longest >= _LENGTH_STEP:
        yield _change(request, f"set max_model_len to {longest}", {"max_model_len": longest})
    if not estimate.plan.has_states or estimate.blocks < resolved.max_num_seqs:
        fewer = max(1, min(resolved.max_num_seqs // 4, 64))
        if fewer < resolved.max_num_seqs:
            yield _change(request, f"set max_num_seqs to {fewer}", {"max_num_seqs": fewer})
    if resolved.kv_cache_dtype == "auto" and request.card.capability >= (8, 9):
        yield _change(request, "keep the KV cache in FP8", {"kv_cache_dtype": "fp8"})
    most = int(100 * (1 - CONTEXT_RESERVE_GIB / request.card.memory_gib)) / 100
    if asked.kv_cache_memory_bytes is None and resolved.gpu_memory_utilization < min(
        MOST_UTILIZATION, most
    ):
        higher = min(MOST_UTILIZATION, most)
        text = f"raise gpu_memory_utilization to {higher:g}"
        yield _change(request, text, {"gpu_memory_utilization": higher})
    if resolved.max_num_batched_tokens > 2048 and resolved.max_num_seqs <= 2048:
        text = "set max_num_batched_tokens to 2048"
        yield _change(request, text, {"max_num_batched_tokens": 2048})
    if not resolved.enforce_eager:
        text = "set enforce_eager (no CUDA graphs: slower decoding)"
        yield _change(request, text, {"enforce_eager": True})
    yield from _more_gpus(request)
    needed = max(0, estimate.plan.need_bytes - kv) / GIB
    if request.architecture.quantization is None and request.card.capability >= (8, 9):
        text = f"quantize the weights to FP8 while loading ({needed:.1f} GiB of KV cache lack)"
        yield _change(request, text, {"quantization": "fp8"})


def _more_gpus(request: BudgetRequest) -> Iterator[tuple[Remedy, BudgetRequest]]:
    arguments = request.arguments
    tensor = arguments.tensor_parallel_size
    for times in (2, 4, 8):
        wanted = tensor * times
        if wanted > 16:
            return
        changed = request.model_copy(
            update={
                "arguments": arguments.model_copy(update={"tensor_parallel_size": wanted}),
                "n_gpus": wanted
                * request.arguments.pipeline_parallel_size
                * request.arguments.data_parallel_size,
            }
        )
        text = f"spread each replica over {wanted} GPUs (tensor parallel size {wanted})"
        yield Remedy(text=text, settings={"tensor_parallel_size": wanted}), changed


def _change(
    request: BudgetRequest, text: str, settings: dict[str, Setting]
) -> tuple[Remedy, BudgetRequest]:
    arguments: EngineArguments = request.arguments.model_copy(update=dict(settings))
    changed = request.model_copy(update={"arguments": arguments})
    return Remedy(text=text, settings=settings), changed
