"""The terms that are fitted, by hand: which sizes a factor is multiplied with.

Each factor is 1 here and all others 0, so that the arithmetic shows and not what was learnt from
runs; what was learnt is held by the runs themselves (test_memory_cases).
"""

from dataclasses import fields
from typing import Any

import pytest

from models.architecture import architecture, with_quantization
from models.engine.arguments import EngineArguments
from models.memory import BudgetRequest, Card
from models.memory.inputs.request import resolve
from models.memory.terms.constants import Fitted
from models.memory.terms.peaks import activation_gib, cuda_graph_gib, non_torch_gib, slack_gib
from tests.helpers.models.memory_data import configs
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
EXPERTS = "Qwen/Qwen3-30B-A3B"
TOWER = "google/gemma-3-27b-it"
HYBRID = "Qwen/Qwen3.5-27B"
GIB = 2**30


def only(**factors: float) -> Fitted:
    """Return constants that are 0 but for those given."""
    return Fitted(**{each.name: factors.get(each.name, 0.0) for each in fields(Fitted)})


def request(name: str = LLAMA_8B, version: str = "0.33.0", **asked: Any) -> BudgetRequest:
    """Return a request of 100 sequences and steps of 2,048 tokens."""
    explicit: dict[str, Any] = {
        "max_model_len": 4096,
        "max_num_seqs": 100,
        "max_num_batched_tokens": 2048,
        **asked,
    }
    return BudgetRequest(
        architecture=architecture(configs()[name]),
        card=Card(memory_gib=79.2, capability=(9, 0)),
        behavior=behavior_of(version),
        arguments=EngineArguments.model_validate(explicit),
    )


def activation(asked: BudgetRequest, **factors: float) -> float:
    """Return the activation peak in bytes."""
    return activation_gib(asked, resolve(asked), only(**factors)) * GIB


@pytest.mark.parametrize(
    ("sequences", "step", "rows"), [(100, 2048, 100), (100, 64, 64), (64, 64, 64)]
)
def test_the_sampler_holds_float32_logits_of_each_sequence(
    sequences: int, step: int, rows: int
) -> None:
    """No more than a step has tokens; which copies count depends on the sampler."""
    asked: dict[str, Any] = {"max_num_seqs": sequences, "max_num_batched_tokens": step}
    said = rows * 128256 * 4
    assert activation(request(**asked), sampler_fused=1) == pytest.approx(said)
    assert activation(request(**asked), sampler_sorts=1) == 0
    older = request(version="0.15.0", **asked)
    assert activation(older, sampler_sorts=1) == pytest.approx(said)
    assert activation(older, sampler_fused=1) == 0


@pytest.mark.parametrize("tensor", [1, 2, 4])
def test_a_layer_holds_its_widest_result_of_a_step(tensor: int) -> None:
    """Two hidden states, and gate, up and their product: 28,672 and a half more, over the ranks."""
    said = 2048 * (2 * 4096 + 1.5 * 28672 / tensor) * 2
    assert activation(request(tensor_parallel_size=tensor), layer_copies=1) == pytest.approx(said)


@pytest.mark.parametrize(
    ("asked", "width"),
    [
        ({}, 1536),
        ({"tensor_parallel_size": 2}, 768),
        ({"tensor_parallel_size": 2, "enable_expert_parallel": True}, 1536),
    ],
)
def test_experts_hold_the_results_of_each_that_a_token_goes_to(
    asked: dict[str, Any], width: int
) -> None:
    """8 experts of 2 x 768; with expert parallelism each is whole on its rank."""
    said = 2048 * (8 * (max(width, 2048) + width / 2) + 2 * 2048) * 2
    assert activation(request(EXPERTS, **asked), layer_copies=1) == pytest.approx(said)


def test_an_encoder_holds_its_largest_item_where_it_is_loaded() -> None:
    asked = request(TOWER, max_num_batched_tokens=64)
    found = asked.architecture
    assert found.vision_tokens == 256
    said = 256 * found.vision_width * 2
    assert activation(asked) == pytest.approx(said)
    longer = request(TOWER, max_num_batched_tokens=512)
    assert activation(longer) == pytest.approx(2 * said)
    alone = request(TOWER, max_num_batched_tokens=64, language_model_only=True)
    assert activation(alone) == 0


def test_the_peak_is_the_largest_of_the_three_and_a_floor() -> None:
    asked = request()
    sampler, layer = 100 * 128256 * 4, 2048 * (2 * 4096 + 1.5 * 28672) * 2
    said = activation(asked, sampler_fused=1, layer_copies=1, activation_floor=0.5)
    assert said == pytest.approx(max(sampler, layer) + GIB / 2)


@pytest.mark.parametrize(
    ("version", "asked", "factors"),
    [
        ("0.33.0", {}, {"context"}),
        ("0.33.0", {"tensor_parallel_size": 2}, {"context", "communication"}),
        ("0.33.0", {"pipeline_parallel_size": 2}, {"context", "communication"}),
        ("0.33.0", {"data_parallel_size": 2}, {"context"}),
        ("0.6.0", {}, {"context_first"}),
        ("0.6.0", {"tensor_parallel_size": 2}, {"context_first", "communication"}),
        ("0.4.0", {}, {"context_first"}),
        (
            "0.4.0",
            {"tensor_parallel_size": 2},
            {"context_first", "communication", "load_cache_share"},
        ),
        ("0.2.4", {"tensor_parallel_size": 2}, {"context_first"}),
    ],
)
def test_what_lies_outside_pytorch(version: str, asked: dict[str, Any], factors: set[str]) -> None:
    """10 GiB of weights; each factor alone says 1 where it counts, a share of weights 10."""
    for each in ("context", "context_first", "communication", "load_cache_share", "context_rocm"):
        said = non_torch_gib(request(version=version, **asked), 10.0, only(**{each: 1.0}))
        expected = 0.0 if each not in factors else 10.0 if each == "load_cache_share" else 1.0
        assert said == expected, each


def test_rocm_takes_its_own() -> None:
    asked = request()
    card = asked.card.model_copy(update={"rocm": True})
    rocm = asked.model_copy(update={"card": card})
    assert non_torch_gib(rocm, 10.0, only(context_rocm=1.0, context=1.0)) == 2.0


@pytest.mark.parametrize(
    ("asked", "layers"),
    [({}, 32), ({"pipeline_parallel_size": 2}, 16), ({"pipeline_parallel_size": 3}, 11)],
)
def test_graphs_take_so_much_per_layer_of_a_stage_and_64_sizes(
    asked: dict[str, Any], layers: int
) -> None:
    """100 sequences are captured to 200: 1, 2, 4 and every eighth, 28 sizes."""
    own = request(**asked)
    said = cuda_graph_gib(own, resolve(own), only(graph_per_layer_mib=1024.0))
    assert said == pytest.approx(layers * 28 / 64)
    assert cuda_graph_gib(own, resolve(own), only(graph_base=0.5)) == 0.5


def test_graphs_that_are_off_take_nothing() -> None:
    own = request(enforce_eager=True)
    assert cuda_graph_gib(own, resolve(own), only(graph_base=1, graph_per_layer_mib=1)) == 0


def slack(asked: BudgetRequest, **factors: float) -> float:
    """Return the bound's distance with 10 GiB of weights."""
    return slack_gib(asked, resolve(asked), 10.0, only(**factors))


def test_the_bound_is_wider_where_less_is_known() -> None:
    plain = request()
    assert slack(plain, bound=1) == 1
    for name in ("bound_assumed", "bound_oldest", "bound_tower", "bound_hybrid"):
        assert slack(plain, **{name: 1.0}) == 0, name
    named = plain.model_copy(update={"architecture": with_quantization(plain.architecture, "awq")})
    assert slack(named, bound_assumed=1) == 10
    assert slack(request(TOWER), bound_tower=1) == 1


@pytest.mark.parametrize(
    ("version", "asked", "wider"),
    [
        ("0.4.3", {"tensor_parallel_size": 2}, True),
        ("0.4.3", {"pipeline_parallel_size": 2}, True),
        ("0.4.3", {}, False),
        ("0.5.0", {"tensor_parallel_size": 2}, False),
    ],
)
def test_the_oldest_releases_on_several_gpus_are_known_worst(
    version: str, asked: dict[str, Any], wider: bool
) -> None:
    assert slack(request(version=version, **asked), bound_oldest=1) == (10 if wider else 0)


@pytest.mark.parametrize(
    ("name", "version", "asked", "wider"),
    [
        (HYBRID, "0.33.0", {}, True),
        (HYBRID, "0.33.0", {"enforce_eager": True}, False),
        (HYBRID, "0.19.0", {}, False),
        (LLAMA_8B, "0.33.0", {}, False),
    ],
)
def test_graphs_of_hybrid_models_inside_the_budget_are_known_worst(
    name: str, version: str, asked: dict[str, Any], wider: bool
) -> None:
    assert slack(request(name, version, **asked), bound_hybrid=1) == (1 if wider else 0)


def test_a_peak_that_the_sampler_does_not_set_widens_the_bound() -> None:
    """A layer's or an encoder's results are known worse than logits are."""
    own = request()
    assert slack(own, bound_layer=1, layer_copies=1) == 1
    assert slack(own, bound_layer=1, layer_copies=1, sampler_fused=100) == 0


@pytest.mark.parametrize(("version", "copies"), [("0.16.0", 1), ("0.15.0", 0)])
def test_a_fused_sampler_that_sets_the_peak_widens_the_bound_by_copies_of_its_logits(
    version: str, copies: int
) -> None:
    logits = 100 * 128256 * 4 / GIB
    own = request(version=version)
    assert slack(own, bound_fused=1, sampler_fused=1) == pytest.approx(copies * logits)
    assert slack(own, bound_fused=1, layer_copies=1) == 0
