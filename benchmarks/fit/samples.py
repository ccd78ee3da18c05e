"""Real runs with what of them does not depend on the learnt constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.shared.memory_cases import MeasuredCase
from models.core.base import GIB
from models.core.problems import ProblemsError
from models.memory.terms.constants import Fitted
from models.memory.terms.peaks import (
    activation_gib,
    cuda_graph_gib,
    loosely_known,
    non_torch_gib,
    slack_gib,
)
from models.memory.verdict.measure import Measure, measure


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One run with what of it does not depend on the constants."""

    case: MeasuredCase
    taken: Measure
    weights: float
    kv_seen: float | None

    @property
    def is_stated(self) -> bool:
        """Whether the log states the KV memory, not only tokens."""
        names = ("kv_cache_gib", "available_kv_gib")
        return any(self.case.number(name) is not None for name in names)

    @property
    def ranks(self) -> int:
        """Return the GPUs of a replica."""
        arguments = self.taken.request.arguments
        return arguments.tensor_parallel_size * arguments.pipeline_parallel_size

    def over(self, fitted: Fitted) -> float:
        """Return what is estimated beside the weights, GiB."""
        request, resolved = self.taken.request, self.taken.resolved
        graphs = cuda_graph_gib(request, resolved, fitted)
        deducted = graphs if request.behavior.graphs_deducted else 0.0
        return (
            activation_gib(request, resolved, fitted)
            + non_torch_gib(request, self.weights, fitted)
            + deducted
        )

    def kv(self, fitted: Fitted) -> float:
        """Return the estimate of the KV memory in GiB, negative where there is none."""
        return self.taken.requested_gib - self.weights - self.over(fitted)

    def slack(self, fitted: Fitted) -> float:
        """Return how far the KV memory may lie below the estimate, GiB."""
        return slack_gib(self.taken.request, self.taken.resolved, self.weights, fitted)

    def low(self, fitted: Fitted) -> float:
        """Return the bound of the KV memory in GiB."""
        return self.kv(fitted) - self.slack(fitted)

    def loosely_known(self, fitted: Fitted) -> Mapping[str, float]:
        """Return what is known worst about the run, by the parts of the bound."""
        request, resolved = self.taken.request, self.taken.resolved
        return loosely_known(request, resolved, self.weights, fitted)


def samples(found: Sequence[MeasuredCase]) -> list[Sample]:
    """Return the runs that can be estimated."""
    result: list[Sample] = []
    for case in found:
        if case.request is None:
            continue
        try:
            taken = measure(case.request)
        except ProblemsError:
            continue
        if taken.weights_gib is None:
            continue
        seen = _kv_seen(case, taken)
        result.append(Sample(case=case, taken=taken, weights=taken.weights_gib, kv_seen=seen))
    return result


def _kv_seen(case: MeasuredCase, estimate: Measure) -> float | None:
    """Return the observed KV memory in GiB, from tokens where the log has no bytes."""
    stated = case.number("kv_cache_gib")
    if stated is None:
        stated = case.number("available_kv_gib")
    tokens = case.number("kv_cache_tokens")
    if stated is not None or not tokens:
        return stated
    plan = estimate.plan
    if estimate.request.behavior.reports == "capacity":
        return tokens / estimate.resolved.max_model_len * plan.need_bytes / GIB
    each = min(group.block for group in plan.groups)
    return tokens / each * len(plan.groups) * plan.block_bytes / GIB
