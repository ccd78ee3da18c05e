"""The engine's own answers in place of the pure model's, wherever one fits and nowhere else."""

from functools import cache
from typing import Any

import pytest

from catalog.loader import load
from models.architecture import architecture
from models.core.base import GIB
from models.engine.arguments import EngineArguments
from models.facts.catalog import Catalog
from models.facts.golden import Golden, ModelGoldens
from models.memory import (
    Budget,
    BudgetRequest,
    Card,
    TermSource,
    Verdict,
    behavior_of_contract,
    budget,
)
from models.memory.inputs.request import resolve
from models.memory.verdict.goldens import golden_of

pytestmark = pytest.mark.pure

VERSION = "0.33.0"
MODEL = "gemma3-27b-it"
CASE = "sm90-tp2-fp8"
TOLERANCE = 0.005


@cache
def catalog() -> Catalog:
    """Return the catalog."""
    return load()


def goldens(name: str = MODEL) -> ModelGoldens:
    """Return a catalog model's goldens."""
    found = catalog().goldens_of(catalog().models[name], VERSION)
    assert found is not None
    return found


def golden(case: str = CASE) -> Golden:
    """Return one golden."""
    return next(each for each in goldens().cases if each.case == case)


def request(held: ModelGoldens | None, **changes: Any) -> BudgetRequest:
    """Return the request of `CASE`, with other arguments where they are given."""
    contract = catalog().engines[VERSION]
    card = catalog().accelerators["h100-80gb"]
    given: dict[str, Any] = {
        "max_model_len": 8192,
        "max_num_seqs": 256,
        "kv_cache_dtype": "fp8",
        "tensor_parallel_size": 2,
        **changes,
    }
    return BudgetRequest(
        architecture=architecture(catalog().models[MODEL].config),
        card=Card(memory_gib=card.memory_gib, capability=card.capability, product=card.product),
        behavior=behavior_of_contract(contract),
        arguments=EngineArguments.model_validate(given),
        minimum=contract.minimum_capability,
        goldens=held,
    )


def changed(case: str = CASE, **fields: Any) -> ModelGoldens:
    """Return the goldens with fields of one case changed."""
    cases = tuple(
        each.model_copy(update=fields) if each.case == case else each for each in goldens().cases
    )
    return goldens().model_copy(update={"cases": cases})


def test_where_golden_and_model_differ_the_golden_is_told() -> None:
    """The engine's own number is better than ours, and who reads it must know whose it is."""
    held = golden().weights
    assert held is not None
    read, counted = budget(request(goldens())), budget(request(None))
    assert read.weights_gib == held.alloc_new_bytes / GIB
    assert counted.weights_gib is not None
    assert counted.weights_gib != read.weights_gib
    assert counted.weights_gib == pytest.approx(read.weights_gib, rel=TOLERANCE)
    assert read.sources["weights_gib"] is TermSource.GOLDEN
    assert read.sources["kv_layout"] is TermSource.GOLDEN
    assert read.sources["activation_gib"] is TermSource.MODEL
    assert read.golden == f"{VERSION} {MODEL} {CASE}"
    assert counted.golden is None
    assert set(counted.sources.values()) == {TermSource.MODEL}


def test_the_bytes_saved_go_to_the_cache() -> None:
    """Terms that do not add up to the budget would be two budgets."""
    read, counted = budget(request(goldens())), budget(request(None))

    def taken(found: Budget) -> float:
        return (found.weights_gib or 0.0) + (found.kv_cache_gib or 0.0)

    assert taken(read) == pytest.approx(taken(counted), abs=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"tensor_parallel_size": 16},
        {"pipeline_parallel_size": 2},
        {"data_parallel_size": 2},
        {"enable_expert_parallel": True},
        {"decode_context_parallel_size": 2},
        {"num_speculative_tokens": 1},
        {"kv_cache_dtype": "fp8_e5m2"},
        {"dtype": "float16"},
        {"block_size": 64},
        {"quantization": "fp8"},
        {"enable_prefix_caching": False},
        {"attention_backend": "FLASHINFER"},
        {"language_model_only": True},
        {"cpu_offload_gb": 1.0},
    ],
)
def test_other_questions_take_no_golden(changes: dict[str, Any]) -> None:
    """A golden of another dtype or block size would be believed without being true."""
    asked = request(goldens(), **changes)
    assert golden_of(asked, resolve(asked)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"max_model_len": 4096},
        {"max_num_seqs": 8},
        {"max_num_batched_tokens": 2048},
        {"gpu_memory_utilization": 0.5},
        {"enforce_eager": True},
        {"block_size": 16},
        {"kv_cache_dtype": "fp8_e4m3"},
        {"dtype": "bfloat16"},
    ],
)
def test_what_neither_weights_nor_layout_depend_on_may_differ(changes: dict[str, Any]) -> None:
    """A golden is asked with one profile's arguments, and holds for more."""
    asked = request(goldens(), **changes)
    found = golden_of(asked, resolve(asked))
    assert found is not None
    assert found.golden.case == CASE


def test_another_card_takes_another_golden() -> None:
    """Kernels and block sizes follow from the compute capability."""
    asked = request(goldens())
    card = asked.card.model_copy(update={"capability": (8, 9)})
    found = golden_of(asked.model_copy(update={"card": card}), resolve(asked))
    assert found is not None
    assert found.golden.case == "sm89-tp2-fp8"


def test_the_layout_is_the_goldens() -> None:
    """Blocks, need and concurrency follow from the engine's bytes per block."""
    pool = (golden().pool_bytes_per_block or 0) * 2
    need = {"8192": 10 * pool}
    found = budget(request(changed(pool_bytes_per_block=pool, need_bytes=need)))
    assert found.kv_bytes_per_block == pool
    assert found.needed_kv_gib == 10 * pool / GIB
    assert found.gpu_blocks == int((found.kv_cache_gib or 0.0) * GIB) // pool
    other = budget(
        request(changed(pool_bytes_per_block=pool, need_bytes=need), max_num_batched_tokens=2048)
    )
    assert other.needed_kv_gib != found.needed_kv_gib, "a window's need depends on the step"


def test_weights_that_were_not_brought_into_kernels_form_are_counted() -> None:
    """Their bytes are the checkpoint's, which kernels pad."""
    found = budget(request(changed(process_failures=("X: RuntimeError",))))
    assert found.sources["weights_gib"] is TermSource.MODEL
    assert found.weights_gib == budget(request(None)).weights_gib


def test_a_refusal_of_the_engine_is_one_of_ours() -> None:
    """What the engine refuses must never be called fitting."""
    held = changed(refused="no such thing", resolved=None, weights=None)
    found = budget(request(held))
    assert found.verdict is Verdict.CANNOT_START
    assert found.rules == ("engine",)
    assert "no such thing" in found.reasons[0]
    assert budget(request(held, max_model_len=4096)).verdict is Verdict.FITS


def test_remedies_are_weighed_with_their_own_goldens() -> None:
    """More GPUs load other bytes."""
    tight = request(goldens(), tensor_parallel_size=1, gpu_memory_utilization=0.66)
    found = budget(tight)
    assert found.verdict is Verdict.CANNOT_START
    assert {"tensor_parallel_size": 2} in [each.settings for each in found.remedies]


def test_a_quantized_checkpoint_is_not_offered_another_quantization() -> None:
    """The engine keeps the checkpoint's own; asked otherwise the golden would be left out.

    Here the golden says more bytes than the card has, where the pure model would fit.
    """
    name, case = "qwen3-30b-a3b-fp8", "sm90-tp1-auto"
    held = goldens(name)
    (own,) = [each for each in held.cases if each.case == case]
    assert own.weights is not None
    heavy = own.weights.model_copy(update={"alloc_new_bytes": 200 * 2**30})
    cases = (own.model_copy(update={"weights": heavy}),)
    plain = request(None, tensor_parallel_size=1, kv_cache_dtype="auto")
    asked = plain.model_copy(update={"architecture": architecture(catalog().models[name].config)})
    assert budget(asked).verdict is Verdict.FITS
    found = budget(asked.model_copy(update={"goldens": held.model_copy(update={"cases": cases})}))
    assert found.golden == f"{VERSION} {name} {case}"
    assert found.verdict is Verdict.CANNOT_START
    assert not any("quantization" in remedy.settings for remedy in found.remedies)
