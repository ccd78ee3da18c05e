"""Borders of releases: each has a source and a test, and a budget on each side of it.

What a border says is held by the test that it names, whose values are written there by hand.
"""

import json
import shutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from catalog.loader import load
from catalog.readers.own import HERE
from models.architecture import architecture
from models.architecture.traits import EngineTraits
from models.core.base import UNRESOLVED
from models.core.problems import ProblemsError
from models.core.releases import numbers
from models.engine.arguments import EngineArguments
from models.facts.borders import Border, Borders
from models.memory import Budget, BudgetRequest, Card, budget
from tests.helpers.models.releases import behavior_of

pytestmark = pytest.mark.pure

CATALOG = load()
ALL = CATALOG.borders.borders
BY_BORDER = pytest.mark.parametrize("border", ALL, ids=lambda each: f"{each.changes}-{each.since}")


def before(release: str) -> str:
    """Return a release before another one."""
    major, minor, patch = map(int, release.split("."))
    return f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}.9"


def ids_of(path: str, function: str) -> list[str]:
    """Return the ids of a module's test: those of its one table, or none."""
    module = import_module(path.removesuffix(".py").replace("/", "."))
    marks: list[pytest.Mark] = getattr(getattr(module, function), "pytestmark", [])
    tables = [mark for mark in marks if mark.name == "parametrize"]
    if not tables:
        return []
    (table,) = tables
    return table.kwargs.get("ids") or ["-".join(map(str, row)) for row in table.args[1]]


@BY_BORDER
def test_a_border_names_a_test_that_holds_it(border: Border) -> None:
    """The function is there, and with an id in brackets also that row of its table."""
    path, _, name = border.test.partition("::")
    function, _, row = name.rstrip("]").partition("[")
    ids = ids_of(path, function)
    assert row in ids if row else not ids


@BY_BORDER
def test_the_release_before_a_border_behaves_otherwise(border: Border) -> None:
    last, first = behavior_of(before(border.since)), behavior_of(border.since)
    assert getattr(last, border.changes) == border.before
    assert getattr(first, border.changes) == border.after
    assert border.before != border.after


def asked(name: str, card: Card, **arguments: Any) -> BudgetRequest:
    """Return a request of the newest release."""
    return BudgetRequest(
        architecture=architecture(CATALOG.models[name].config),
        card=card,
        behavior=behavior_of("0.33.0"),
        arguments=EngineArguments.model_validate(arguments),
    )


def changed(request: BudgetRequest, **fields: Any) -> BudgetRequest:
    """Return a request of a model that is a little other."""
    other = request.architecture.model_copy(update=fields)
    return request.model_copy(update={"architecture": other})


A100 = Card(memory_gib=79.2, capability=(8, 0), product="NVIDIA-A100-SXM4-80GB")
H100 = Card(memory_gib=79.2, capability=(9, 0), product="NVIDIA-H100-80GB-HBM3")
B200 = Card(memory_gib=178.0, capability=(10, 0), product="B200")
GB10 = Card(memory_gib=119.7, capability=(12, 1), product="NVIDIA GB10")
L4 = Card(memory_gib=22.16, capability=(8, 9), product="NVIDIA L4")


@cache
def requests() -> tuple[BudgetRequest, ...]:
    """Return requests of which each border moves at least one."""
    short: dict[str, Any] = {"max_model_len": 8192}
    eight: dict[str, Any] = {"tensor_parallel_size": 8, **short}
    return (
        asked("llama31-8b-instruct", H100, **short),
        asked("llama31-8b-instruct", H100, tensor_parallel_size=2, **short),
        asked("llama31-8b-instruct", B200, **short),
        asked("llama31-8b-instruct", GB10, **short),
        asked("gemma3-27b-it", H100, **short),
        asked("gemma3-1b-it", L4, **short),
        asked("gpt-oss-20b", H100, **short),
        asked("qwen3-next-80b-a3b-instruct", B200, enable_prefix_caching=True, **short),
        asked("qwen3-next-80b-a3b-instruct", B200, **short),
        asked("qwen25-7b-instruct-awq", H100, **short),
        asked("qwen3-30b-a3b-fp8", H100, tensor_parallel_size=4, **short),
        asked("qwen3-30b-a3b", B200, tensor_parallel_size=4, **short),
        asked("mixtral-8x7b-instruct", B200),
        changed(asked("gemma3-27b-it", A100), vision_tokens=4096),
        changed(asked("deepseek-r1", B200, **eight), engine=EngineTraits(prefers_fp8_cache=True)),
    )


THROUGH: Mapping[str, str] = {
    "first_engine_runs": "first_engine",
    "no_graph_estimate_for": "graphs_deducted",
}
"""Fields that a budget does not read: which one they decide."""


@BY_BORDER
def test_a_border_moves_a_budget(border: Border) -> None:
    """A border that no budget depends on would be a fact that nobody needs."""
    if border.changes in THROUGH:
        sides = ({THROUGH[border.changes]: False}, {THROUGH[border.changes]: True})
    else:
        sides = ({border.changes: border.before}, {border.changes: border.after})

    def budgets(request: BudgetRequest) -> list[Budget]:
        behaviors = [request.behavior.model_copy(update=side) for side in sides]
        return [budget(request.model_copy(update={"behavior": each})) for each in behaviors]

    assert any(one != other for one, other in map(budgets, requests()))


def test_a_border_that_does_not_follow_on_the_one_before_is_refused() -> None:
    borders = CATALOG.borders.model_dump(mode="json")
    rows = borders["borders"]
    index = next(i for i, row in enumerate(rows) if row["changes"] == "keeps_load_cache")
    rows[index + 1]["before"] = False
    with pytest.raises(ValueError, match=r"keeps_load_cache: the border since 0\.5\.0"):
        _ = Borders.model_validate_json(json.dumps(borders))


def test_a_change_of_nothing_that_is_known_is_refused() -> None:
    borders = CATALOG.borders.model_dump(mode="json")
    borders["borders"][0]["changes"] = "hybrid_cashing"
    with pytest.raises(ValueError, match="hybrid_cashing"):
        _ = Borders.model_validate_json(json.dumps(borders))


def test_months_are_in_order_and_name_the_newest_release_last() -> None:
    dates = [month.date for month in CATALOG.borders.months]
    assert dates == sorted(set(dates))
    newest = CATALOG.borders.months[-1].newest
    assert newest == max(CATALOG.engines, key=numbers).rpartition(".")[0]


def test_borders_without_a_source_are_known() -> None:
    """Each is a figure that runs of the engine tell, and nothing that was read."""
    unknown = {(each.changes, each.since) for each in ALL if each.source == UNRESOLVED}
    assert unknown == {("keeps_load_cache", "0.5.0"), ("shards_known", "0.5.0")}


def test_a_contract_repeats_no_border(tmp_path: Path) -> None:
    """Two homes of one fact would part."""
    _ = shutil.copytree(HERE, tmp_path / "catalog")
    with (tmp_path / "catalog/engines/0.33.0.yaml").open("a") as file:
        _ = file.write("memory: {allocator: new}\n")
    with pytest.raises(ProblemsError, match=r"0\.33\.0\.yaml: memory: follows from"):
        _ = load(tmp_path / "catalog")
