"""What stands against a start because of bytes: no memory, states, graphs, one request's need."""

from collections.abc import Iterator

from models.core.base import GIB
from models.memory.terms.constants import CONTEXT_RESERVE_GIB
from models.memory.verdict.measure import Measure
from models.memory.verdict.refusals import Refusal


def byte_refusals(taken: Measure) -> Iterator[Refusal]:
    """Yield what stands against a start because of bytes."""
    kv, plan = taken.kv_bytes, taken.plan
    if kv is None:
        return
    if taken.blocks <= 0:
        yield Refusal(
            rule="no-memory",
            reason=(
                f"no memory is left for the KV cache: {taken.requested_gib:.2f} GiB asked for, "
                f"{taken.requested_gib - kv / GIB:.2f} GiB taken before it"
            ),
            mend="see the remedies",
        )
        return
    yield from _states(taken)
    yield from _graphs_outside(taken)
    usable = plan.usable(kv)
    if plan.need_bytes > usable:
        yield Refusal(
            rule="one-request",
            reason=(
                f"one request of {taken.resolved.max_model_len} tokens needs "
                f"{plan.need_bytes / GIB:.2f} GiB of KV cache, {max(0, usable) / GIB:.2f} GiB are "
                "there"
            ),
            mend="see the remedies",
        )


def _states(taken: Measure) -> Iterator[Refusal]:
    """Each running sequence takes a block of each recurrent group; graph capture checks it."""
    sequences = taken.resolved.max_num_seqs
    if taken.resolved.enforce_eager or not taken.plan.has_states or taken.blocks >= sequences:
        return
    yield Refusal(
        rule="mamba-blocks",
        reason=(
            f"max_num_seqs ({sequences}) exceeds the blocks for recurrent states ({taken.blocks})"
        ),
        mend=f"set max_num_seqs to {taken.blocks} or less",
        settings={"max_num_seqs": max(1, taken.blocks)},
    )


_GRAPH_SLACK_GIB = 0.3
"""GiB beside the budget that capturing needs where its estimate, too low, is inside."""


def _graphs_outside(taken: Measure) -> Iterator[Refusal]:
    """CUDA graphs need room beside the budget: all of it, or what their estimate falls short by.

    Where they are not deducted, memory of the activation peak is free again by then.
    """
    if not taken.graphs_gib or taken.request.arguments.kv_cache_memory_bytes is not None:
        return
    card = taken.request.card
    spare = card.memory_gib - CONTEXT_RESERVE_GIB - card.other_gib - taken.requested_gib
    wanted = _GRAPH_SLACK_GIB
    what = f"CUDA graphs may take {wanted:.2f} GiB more than is estimated inside the budget"
    if not taken.request.behavior.graphs_deducted:
        wanted = taken.graphs_gib
        what = f"CUDA graphs need about {wanted:.2f} GiB outside the budget"
        spare += taken.activation_gib
    if wanted <= spare:
        return
    yield Refusal(
        rule="cuda-graphs",
        reason=f"{what}, {max(0.0, spare):.2f} GiB are left there",
        mend="lower gpu_memory_utilization, or set enforce_eager",
        settings={"enforce_eager": True},
    )
