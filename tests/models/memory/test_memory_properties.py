"""Properties of the memory model over random inputs: no traceback, no nonsense, monotone bytes.

Examples are the same in every run (`derandomize`), and few: each is a whole budget.
"""

import copy
import math
import random
from functools import cache
from typing import Any, Final, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.architecture import Architecture, architecture
from models.core.problems import ProblemsError
from models.engine.arguments import EngineArguments
from models.memory import Budget, BudgetRequest, Card, Verdict, budget
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

ORDER = {Verdict.CANNOT_START: 0, Verdict.CANNOT_SERVE: 0, Verdict.FITS: 1}
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen3-30B-A3B",
    "openai/gpt-oss-120b",
    "google/gemma-2-9b-it",
    "deepseek-ai/DeepSeek-V2-Lite",
    "Qwen/Qwen3.5-27B",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "tfdefault/Mamba2-Codestral",
)


@cache
def shapes(model: str) -> Architecture:
    """Return a known model's architecture, built once."""
    return architecture(configs()[model])


def ask(model: str, memory: float, **arguments: Any) -> Budget:
    """Return a budget with every argument explicit."""
    explicit: dict[str, Any] = {
        "max_model_len": 4096,
        "gpu_memory_utilization": 0.9,
        "max_num_seqs": 64,
        "max_num_batched_tokens": 4096,
        "kv_cache_dtype": "auto",
        "enforce_eager": False,
        **arguments,
    }
    return budget(
        BudgetRequest(
            architecture=shapes(model),
            card=Card(memory_gib=memory, capability=(9, 0)),
            behavior=behavior_of("0.33.0"),
            arguments=EngineArguments(**explicit),
        )
    )


def numbers(found: Budget) -> list[float]:
    """Return every number of a budget that may not be negative or NaN."""
    skipped = {"margin_gib"}
    values = found.model_dump(exclude=skipped).values()
    return [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


@given(
    model=st.sampled_from(MODELS),
    memory=st.floats(8, 300),
    more=st.floats(0, 200),
)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_more_memory_never_makes_it_worse(model: str, memory: float, more: float) -> None:
    less, larger = ask(model, memory), ask(model, memory + more)
    assert (larger.kv_cache_gib or 0) >= (less.kv_cache_gib or 0) - 1e-9
    assert (larger.gpu_blocks or 0) >= (less.gpu_blocks or 0)
    assert ORDER[larger.verdict] >= ORDER[less.verdict]


@given(
    model=st.sampled_from(MODELS),
    low=st.floats(0.3, 0.9),
    more=st.floats(0, 0.08),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_more_utilization_gives_more_cache(model: str, low: float, more: float) -> None:
    less = ask(model, 141.0, gpu_memory_utilization=low)
    larger = ask(model, 141.0, gpu_memory_utilization=low + more)
    assert (larger.kv_cache_gib or 0) >= (less.kv_cache_gib or 0) - 1e-9


@given(
    model=st.sampled_from(MODELS),
    length=st.integers(16, 8000),
    more=st.integers(0, 100_000),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_longer_request_needs_no_less(model: str, length: int, more: int) -> None:
    short = ask(model, 141.0, max_model_len=length)
    longer = ask(model, 141.0, max_model_len=length + more)
    assert (longer.needed_kv_gib or 0) >= (short.needed_kv_gib or 0)
    assert (longer.kv_cache_gib or 0) <= (short.kv_cache_gib or 0) + 1e-9


@given(
    model=st.sampled_from(MODELS),
    sequences=st.integers(1, 1000),
    more=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_more_sequences_leave_no_more_cache(model: str, sequences: int, more: int) -> None:
    few = ask(model, 141.0, max_num_seqs=sequences)
    many = ask(model, 141.0, max_num_seqs=sequences + more)
    assert (many.kv_cache_gib or 0) <= (few.kv_cache_gib or 0) + 1e-9


@given(model=st.sampled_from(MODELS), memory=st.floats(8, 300), tensor=st.sampled_from([1, 2, 4]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_remedy_mends(model: str, memory: float, tensor: int) -> None:
    """A remedy that does not help is worse than none."""
    found = ask(model, memory, tensor_parallel_size=tensor, max_model_len=2048)
    for remedy in found.remedies if found.rules == ("one-request",) else ():
        if remedy.settings and "tensor_parallel_size" not in remedy.settings:
            fixed = ask(
                model,
                memory,
                **{"tensor_parallel_size": tensor, "max_model_len": 2048, **remedy.settings},
            )
            assert fixed.verdict is Verdict.FITS, remedy.text


NUMBERS: Final = (0, 1, -1, 2, 3, 7, 16, 64, 100, 1e9, 1.5, math.nan, math.inf)
VALUES: Final[tuple[Any, ...]] = (None, *NUMBERS, True, "", "x", [], {})


def mutated(config: dict[str, Any], source: random.Random) -> dict[str, Any]:
    """Return a configuration with some fields lost, changed or moved to nonsense."""
    result = copy.deepcopy(config)
    target = result
    inner = result.get("text_config")
    if isinstance(inner, dict) and source.random() < 0.7:
        target = cast("dict[str, Any]", inner)
    for _ in range(source.randint(1, 4)):
        name = source.choice(list(target))
        if source.random() < 0.3:
            del target[name]
            if not target:
                break
        else:
            target[name] = source.choice(VALUES)
    return result


def test_two_thousand_random_configurations_give_answers_not_tracebacks() -> None:
    """Configurations come from outside: a traceback would be our fault."""
    source = random.Random(20261129)
    known = list(configs().values())
    answered = 0
    for _ in range(2000):
        config = mutated(source.choice(known), source)
        try:
            found = architecture(config)
        except ProblemsError:
            continue
        answered += 1
        said = budget(
            BudgetRequest(
                architecture=found,
                card=Card(
                    memory_gib=source.uniform(4, 300),
                    capability=source.choice([(7, 5), (8, 0), (9, 0), (10, 0)]),
                ),
                behavior=behavior_of(source.choice(["0.33.0", "0.11.0", "0.7.2", None])),
                arguments=EngineArguments(
                    max_model_len=source.choice([None, 1, 17, 4096, 10**6]),
                    max_num_seqs=source.choice([None, 1, 1024]),
                    kv_cache_dtype=source.choice([None, "auto", "fp8", "nvfp4", "nonsense"]),
                    quantization=source.choice([None, "awq", "fp8", "nonsense"]),
                    tensor_parallel_size=source.choice([1, 2, 3, 8]),
                    pipeline_parallel_size=source.choice([1, 1, 2, 5]),
                    enable_expert_parallel=source.random() < 0.3,
                ),
            )
        )
        assert all(math.isfinite(each) and each >= 0 for each in numbers(said))
    assert answered > 200
