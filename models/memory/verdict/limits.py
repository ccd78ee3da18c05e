"""What stands against a start because of bytes: no memory, states, graphs, one request's need."""

from collections.abc import Iterator

from models.core.base import GIB
from models.core.findings import Finding
from models.core.rule_ids import MemoryRule
from models.memory.terms.constants import CONTEXT_RESERVE_GIB
from models.memory.verdict.measure import Measure
from models.memory.verdict.refusals import refusal


def byte_refusals(estimate: Measure) -> Iterator[Finding]:
    """Yield what stands against a start because of bytes."""
    kv, plan = estimate.kv_bytes, estimate.plan
    if kv is None:
        return
    if estimate.blocks <= 0:
        yield refusal(
            MemoryRule.NO_MEMORY,
            f"no memory is left for the KV cache: {estimate.requested_gib:.2f} GiB asked for, "
            f"{estimate.requested_gib - kv / GIB:.2f} GiB taken before it",
            "see the remedies",
        )
        return
    yield from _states(estimate)
    yield from _graphs_outside(estimate)
    usable = plan.usable(kv)
    if plan.need_bytes > usable:
        yield refusal(
            MemoryRule.ONE_REQUEST,
            f"one request of {estimate.resolved.max_model_len} tokens needs "
            f"{plan.need_bytes / GIB:.2f} GiB of KV cache, {max(0, usable) / GIB:.2f} GiB are "
            "there",
            "see the remedies",
        )


def _states(estimate: Measure) -> Iterator[Finding]:
    """Each running sequence takes a block of each recurrent group; graph capture checks it."""
    sequences = estimate.resolved.max_num_seqs
    if (
        estimate.resolved.enforce_eager
        or not estimate.plan.has_states
        or estimate.blocks >= sequences
    ):
        return
    yield refusal(
        MemoryRule.MAMBA_BLOCKS,
        f"max_num_seqs ({sequences}) exceeds the blocks for recurrent states ({estimate.blocks})",
        f"set max_num_seqs to {estimate.blocks} or less",
        settings={"max_num_seqs": max(1, estimate.blocks)},
    )


_GRAPH_SLACK_GIB = 0.3
"""GiB beside the budget that capturing needs where its estimate, too low, is inside."""


def _graphs_outside(estimate: Measure) -> Iterator[Finding]:
    """CUDA graphs need room beside the budget: all of it, or what their estimate falls short by.

    Where they are not deducted, memory of the activation peak is free again by then.
    """
    if not estimate.graphs_gib or estimate.request.arguments.kv_cache_memory_bytes is not None:
        return
    card = estimate.request.card
    spare = card.memory_gib - CONTEXT_RESERVE_GIB - card.other_gib - estimate.requested_gib
    wanted = _GRAPH_SLACK_GIB
    what = f"CUDA graphs may take {wanted:.2f} GiB more than is estimated inside the budget"
    if not estimate.request.behavior.graphs_deducted:
        wanted = estimate.graphs_gib
        what = f"CUDA graphs need about {wanted:.2f} GiB outside the budget"
        spare += estimate.activation_gib
    if wanted <= spare:
        return
    yield refusal(
        MemoryRule.CUDA_GRAPHS,
        f"{what}, {max(0.0, spare):.2f} GiB are left there",
        "lower gpu_memory_utilization, or set enforce_eager",
        settings={"enforce_eager": True},
    )
