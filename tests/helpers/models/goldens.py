"""The pure model's answers to the questions that goldens answer."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from catalog.loader import load
from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.facts.accelerators import capability
from models.facts.catalog import Catalog
from models.facts.golden import Golden
from models.memory import BudgetRequest, Card, behavior_of_contract
from models.memory.inputs.request import resolve
from models.memory.terms.kvcache import CachePlan, cache_plan
from models.memory.terms.weights import Rank, weight_bytes
from models.memory.verdict.refusals import refusals
from tests.helpers.models.memory_data import scalars, step_floats

VERSION = "0.33.0"


@cache
def catalog() -> Catalog:
    """Return the catalog."""
    return load()


def request_of(model: str, golden: Golden, length: int) -> BudgetRequest:
    """Return a golden's question as the pure model is asked it."""
    card = catalog().accelerators[golden.accelerator]
    contract = catalog().engines[VERSION]
    return BudgetRequest(
        architecture=architecture(catalog().models[model].config),
        card=Card(
            memory_gib=card.memory_gib,
            capability=capability(golden.compute_capability),
            product=card.product,
        ),
        behavior=behavior_of_contract(contract),
        arguments=EngineArguments.model_validate({**golden.arguments, "max_model_len": length}),
        n_gpus=golden.tensor,
        minimum=contract.minimum_capability,
        quantization_names=dict(contract.quantization_names),
    )


@dataclass
class Score:
    """How the pure model did: cases, errors of the weights, and what differs by kind.

    `weights` are relative errors with the allocator's rounding, `beside` what the engine's tensors
    have beside ours, in bytes, by each number of scales that attention layers may hold.
    """

    cases: int = 0
    refused: int = 0
    weights: dict[str, float] = field(default_factory=dict[str, float])
    beside: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    differing: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def differ(self, kind: str, text: str) -> None:
        """Note a difference."""
        self.differing.setdefault(kind, []).append(text)


def judge(model: str, golden: Golden, score: Score) -> None:
    """Compare one golden with the pure model."""
    score.cases += 1
    length = cast("int", golden.asked("max_model_len"))
    request = request_of(model, golden, length)
    resolved = resolve(request)
    name = f"{model}/{golden.case}"
    ours = refusals(request, resolved)
    if bool(ours) is not (golden.refused is not None):
        theirs = golden.refused or "runs"
        score.differ("refusal", f"{name}: engine {theirs}; ours {[r.rule for r in ours]}")
    if golden.refused is not None or golden.resolved is None or golden.weights is None:
        score.refused += 1
        return
    if golden.resolved.max_num_batched_tokens != resolved.max_num_batched_tokens:
        score.differ("batched tokens", name)
    rank = Rank(
        tensor=golden.tensor,
        capability=request.card.capability,
        dtype=None if resolved.dtype == request.architecture.dtype else resolved.dtype,
        batched_tokens=resolved.max_num_batched_tokens,
    )
    said = weight_bytes(request.architecture, rank, "new")
    score.weights[name] = said.allocated / golden.weights.alloc_new_bytes - 1
    step = step_floats(request.architecture, golden.tensor, rank.batched_tokens, golden.attention)
    rest = golden.weights.raw_bytes - said.raw - step
    score.beside[name] = tuple(rest - each for each in scalars(request.architecture))
    for kind, text in _layout(golden, cache_plan(request, resolved)):
        score.differ(kind, f"{name}: {text}")
    for plan_length in sorted({plan.max_model_len for plan in golden.plans}):
        asked = request_of(model, golden, plan_length)
        for kind, text in _plans(golden, plan_length, cache_plan(asked, resolve(asked))):
            score.differ(kind, f"{name} at {plan_length}: {text}")


def _layout(golden: Golden, plan: CachePlan) -> Iterator[tuple[str, str]]:
    said = Counter((g.layers, g.block_size, g.page_bytes) for g in plan.summary())
    seen: Counter[tuple[int, int, int]] = Counter()
    for group in golden.groups:
        seen[group.layers, group.block_size, group.page_bytes] += group.times
    if said != seen:
        yield "groups", f"ours {dict(said)}, engine {dict(seen)}"
    if plan.block_bytes != golden.pool_bytes_per_block:
        yield "pool", f"ours {plan.block_bytes}, engine {golden.pool_bytes_per_block}"


def _plans(golden: Golden, length: int, plan: CachePlan) -> Iterator[tuple[str, str]]:
    need = golden.need_bytes[str(length)]
    if plan.need_bytes != need:
        yield "need", f"ours {plan.need_bytes}, engine {need}"
    for seen in golden.plans:
        if seen.max_model_len != length:
            continue
        if seen.blocks is None:
            yield from _refusal(seen.refusal or "", seen.kv_bytes, length, plan)
            continue
        blocks = plan.blocks(seen.kv_bytes)
        if blocks != seen.blocks:
            yield "blocks", f"ours {blocks}, engine {seen.blocks}"
        if plan.tokens(blocks) != seen.tokens:
            yield "tokens", f"ours {plan.tokens(blocks)}, engine {seen.tokens}"


def _refusal(text: str, given: int, length: int, plan: CachePlan) -> Iterator[tuple[str, str]]:
    if plan.need_bytes <= plan.usable(given):
        yield "plan refusal", f"ours fits into {given}, engine: {text}"
    longest = re.search(r"maximum model length is (\d+)", text)
    if longest:
        said = plan.longest(given, length)
        if said != int(longest[1]):
            yield "longest", f"ours {said}, engine {longest[1]}"
