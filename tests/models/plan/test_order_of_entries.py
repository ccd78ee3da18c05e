"""The order of entries in the settings decides nothing: models, pools and regions are sets.

Messages name their place (`models[3]`), which does change, and a bill's lines stand as pools do;
nothing else does.
"""

import json
import random
import re
from typing import Any, cast

import pytest
import yaml

from models.core.problems import ProblemsError
from models.plan.plan import PlannedRegion
from models.plan.resolve.stack import resolve
from models.settings.settings import parse
from tests.helpers.plans.dev import ROOT, TODAY, catalog

pytestmark = pytest.mark.pure

Settings = dict[str, Any]
STACKS = ("dev", "staging", "prod")
SEEDS = (1, 2)


def stack(name: str) -> Settings:
    """Return a stack's settings as plain data."""
    read = yaml.safe_load((ROOT / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))
    return cast("Settings", read["config"]["triplane:platform"])


def shuffled(settings: Settings, seed: int) -> Settings:
    """Return the settings with models, regions and each region's pools in another order."""
    source = random.Random(seed)
    result = json.loads(json.dumps(settings))
    lists = [result["models"], result["regions"], *(each["pools"] for each in result["regions"])]
    lists += [each["regions"] for each in result["models"] if each.get("regions")]
    for entries in lists:
        source.shuffle(entries)
    return cast("Settings", result)


def placeless(text: str) -> str:
    """Return a message without the numbers of its place."""
    return re.sub(r"\[\d+\]", "[]", text)


def decided(region: PlannedRegion) -> dict[str, Any]:
    """Return what is decided for a region, its lists by name."""
    plain = region.model_dump(mode="json")
    plain["pools"] = {each["settings"]["name"]: each for each in plain["pools"]}
    plain["models"] = {each["entry"]["name"]: each for each in plain["models"]}
    plain["settings"] = None
    plain["bill"]["lines"] = sorted(plain["bill"]["lines"], key=str)
    return plain


def rounded(value: Any) -> Any:
    """Return plain data with its floats rounded: sums differ in their last bit by order."""
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {name: rounded(each) for name, each in named.items()}
    if isinstance(value, list):
        return [rounded(each) for each in cast("list[Any]", value)]
    return round(value, 9) if isinstance(value, float) else value


def answer(settings: Settings) -> tuple[Any, ...]:
    """Return what `resolve` decides, or what it refuses, without places."""
    try:
        plan = resolve(parse(json.dumps(settings)), catalog(), TODAY)
    except ProblemsError as error:
        return ("refused", sorted(placeless(str(problem)) for problem in error.problems))
    notices = sorted(placeless(f"{each.path}: {each.message}") for each in plan.notices)
    regions = {region.settings.name: decided(region) for region in plan.regions}
    return ("planned", rounded(regions), notices, rounded(plan.totals.model_dump()))


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_is_the_same_in_any_order(name: str, seed: int) -> None:
    settings = stack(name)
    assert shuffled(settings, seed) != settings
    decisions = answer(settings)
    assert decisions[0] == "planned"
    assert answer(shuffled(settings, seed)) == decisions


@pytest.mark.parametrize("first", ["build-pool", "cpu-pool"])
def test_only_the_first_pool_without_gpus_is_first_by_its_place(first: str) -> None:
    """Seeding runs there, as storage does (docs/storage.md): the one place where order says it."""
    settings = stack("dev")
    pools = settings["regions"][0]["pools"]
    pools.append({**pools[-1], "name": "build-pool"})
    settings["regions"][0]["pools"] = sorted(pools, key=lambda each: each["name"] != first)
    plan = resolve(parse(json.dumps(settings)), catalog(), TODAY)
    assert plan.regions[0].seed_pool.name == first


def crowded(settings: Settings) -> Settings:
    """Return the settings with more replicas than nodes, long contexts and a tight bill."""
    for model in settings["models"]:
        model.pop("autoscaling", None)
        model["replicas"] = 9
        model.setdefault("engine", {})["max_model_len"] = 10**6
    settings["budgets"] = {"usd_per_hour": 0.5}
    return settings


@pytest.mark.parametrize("name", STACKS)
def test_a_refusal_is_the_same_in_any_order(name: str) -> None:
    settings = crowded(stack(name))
    kind, problems = answer(settings)
    assert kind == "refused"
    assert len(problems) >= 3
    assert answer(shuffled(settings, 3)) == (kind, problems)
