"""Resolving: what the plan decides and says, and what it refuses before anything is registered."""

import dataclasses
import datetime
import json
from collections.abc import Callable
from typing import Any

import pytest

from models.core.problems import ProblemsError
from models.plan.plan import PlannedModel
from models.plan.resolve.stack import resolve
from models.settings.settings import parse
from tests.helpers.plans.dev import TODAY, catalog, dev_plan, dev_settings

pytestmark = pytest.mark.pure

Settings = dict[str, Any]


def refusal(change: Callable[[Settings], None], today: datetime.date = TODAY) -> str:
    """Return what is said of the dev stack with one change; fails where nothing is refused."""
    settings = dev_settings()
    change(settings)
    with pytest.raises(ProblemsError) as caught:
        resolve(parse(json.dumps(settings)), catalog(), today)
    return str(caught.value)


def only_model(change: Callable[[Settings], None]) -> PlannedModel:
    """Return the plan of the one model that a change leaves."""
    (model,) = dev_plan(change).regions[0].models
    return model


def placed(name: str, pool: str, **more: object) -> Callable[[Settings], None]:
    """Return a change that places exactly one model."""

    def change(settings: Settings) -> None:
        settings["models"] = [{"model": name, "pool": pool, "replicas": 1, **more}]

    return change


def in_prod(change: Callable[[Settings], None]) -> Callable[[Settings], None]:
    """Return the change, made in prod."""

    def both(settings: Settings) -> None:
        settings["environment"] = "prod"
        change(settings)

    return both


def test_fp8_kv_cache_only_where_the_card_has_it() -> None:
    """VLLM-05: the source document's table has fp8 everywhere."""
    plan = dev_plan()
    edge, l4 = plan.regions[0].models
    assert edge.arguments.kv_cache_dtype == "auto"
    assert l4.arguments.kv_cache_dtype == "fp8"
    assert any("fp8 needs 8.9" in notice.message for notice in plan.notices)


def test_fp8_asked_for_on_an_old_card_is_refused_with_the_mend() -> None:
    change = placed("qwen25-7b-instruct-awq", "gpu-edge-pool", engine={"kv_cache_dtype": "fp8"})
    text = refusal(change)
    assert "models[0].engine.kv_cache_dtype" in text
    assert "leave kv_cache_dtype out" in text


def test_a_recurrent_model_gets_neither_prefix_caching_nor_block_size() -> None:
    """VLLM-07: both are misconfigurations for a state of fixed size."""
    change = placed("falcon-mamba-7b", "gpu-l4-pool")
    model = only_model(change)
    assert not any("prefix-caching" in word or "block-size" in word for word in model.command)


@pytest.mark.parametrize("engine", [{"enable_prefix_caching": True}, {"block_size": 16}])
def test_paging_asked_for_on_a_recurrent_model_is_refused(engine: dict[str, object]) -> None:
    text = refusal(placed("falcon-mamba-7b", "gpu-l4-pool", engine=engine))
    assert "does not apply to a model of the ssm family" in text


def test_a_card_before_ampere_gets_half_precision_and_the_triton_backend() -> None:
    """VLLM-04: bfloat16 does not exist there, and dtype auto would pick it."""

    def change(settings: Settings) -> None:
        settings["regions"][0]["pools"][1] = {
            "name": "gpu-l4-pool",
            "accelerator": "t4",
            "instance_type": "g4dn.2xlarge",
            "min": 1,
            "max": 1,
        }
        placed("qwen3-06b", "gpu-l4-pool")(settings)

    model = only_model(change)
    assert "--dtype=half" in model.command
    assert "--attention-backend=TRITON_ATTN" in model.command


def test_a_model_that_does_not_fit_is_refused_with_terms_and_remedies() -> None:
    text = refusal(placed("qwen3-8b", "gpu-edge-pool"))
    assert "[plan-memory] local/qwen3-8b" in text
    assert "weights 15.27 GiB" in text
    assert "remedy:" in text


def test_more_gpus_than_a_node_has_are_refused() -> None:
    """VLLM-19: the engine would wait for a placement that never comes."""
    text = refusal(placed("qwen3-8b", "gpu-l4-pool", parallelism={"tensor": 2}))
    assert "one replica takes more GPUs than a node of its pool has" in text


def test_a_pool_without_gpus_is_refused() -> None:
    assert "pool 'cpu-pool' has no GPUs" in refusal(placed("qwen3-8b", "cpu-pool"))


def test_staged_and_unresolved_models_do_not_serve_in_prod() -> None:
    staged = next(m.entry for m in catalog().models.values() if m.entry.status == "STAGED")
    text = refusal(in_prod(placed(staged.name, "gpu-l4-pool")))
    assert "[plan-status]" in text
    assert "staged models do not serve in prod" in text


def test_scaling_from_zero_is_refused() -> None:
    """KEDA-07: the metric comes from pods that would not exist."""

    def change(settings: Settings) -> None:
        settings["models"][1]["autoscaling"] = {"min": 0, "max": 2}

    assert "cannot scale from zero" in refusal(change)


def test_a_region_without_a_cpu_pool_is_refused() -> None:
    def change(settings: Settings) -> None:
        del settings["regions"][0]["pools"][2]

    assert "no pool without GPUs" in refusal(change)


def test_an_unpriced_bill_does_not_pass_a_bound() -> None:
    """An unknown bill is not a small one."""
    text = refusal(lambda settings: settings.update(budgets={"usd_per_hour": 5.0}))
    assert "[plan-cost] dev: the bill at the maximum is unknown" in text


def test_a_priced_bill_is_held_against_its_bound() -> None:
    def change(settings: Settings) -> None:
        for pool in settings["regions"][0]["pools"]:
            pool.pop("instance_type", None)
            gpus = 0 if pool["name"] == "cpu-pool" else 1
            pool["node"] = {"vcpus": 8, "memory_gib": 32, "gpus": gpus, "usd_per_hour": 1.5}

    plan = dev_plan(change)
    # The edge pool's minimum is one node, but its two fixed replicas need two.
    assert (plan.totals.usd_per_hour_min, plan.totals.usd_per_hour_max) == (6.0, 10.5)

    def bounded(settings: Settings) -> None:
        change(settings)
        settings["budgets"] = {"usd_per_hour": 10.0, "gpus_per_region": {"local": 4}}

    text = refusal(bounded)
    assert "10.50 USD per hour" in text
    assert "[plan-gpus] local" in text

    def bounded_by_region(settings: Settings) -> None:
        change(settings)
        settings["budgets"] = {"usd_per_hour_per_region": {"local": 10.4}}

    text = refusal(bounded_by_region)
    assert "budgets.usd_per_hour_per_region.local: [plan-cost] local: the bill" in text


def excepted(expires: str) -> Callable[[Settings], None]:
    """Return a change that breaks the capacity proof and excuses it until a date."""

    def change(settings: Settings) -> None:
        settings["models"][0]["replicas"] = 5
        settings["exceptions"] = [
            {
                "rule": "plan-capacity",
                "object": "local/gpu-edge-pool",
                "reason": "three more edge boxes arrive this week",
                "owner": "platform-ml",
                "expires": expires,
            }
        ]

    return change


def test_a_recorded_exception_excuses_and_is_shown() -> None:
    plan = dev_plan(excepted("2026-12-31"))
    assert any(notice.message.startswith("excused: ") for notice in plan.notices)


def test_an_expired_exception_excuses_nothing_and_is_refused_itself() -> None:
    text = refusal(excepted("2026-11-28"))
    assert "has expired" in text
    assert "[plan-capacity]" in text


def test_a_name_too_long_for_a_pods_label_is_refused() -> None:
    """A StatefulSet's pods carry its name and a revision hash in one label of 63 characters."""
    known = catalog().models["qwen3-8b"]
    name = "a" * 53
    entry = known.entry.model_copy(update={"name": name})
    grown = {**catalog().models, name: dataclasses.replace(known, entry=entry)}
    settings = dev_settings()
    placed(name, "gpu-l4-pool")(settings)
    with pytest.raises(ProblemsError, match=r"\[plan-names\] local/a+: the name is longer than 52"):
        resolve(parse(json.dumps(settings)), dataclasses.replace(catalog(), models=grown), TODAY)


def test_every_live_model_on_every_card_either_fits_or_says_why() -> None:
    """No crash, no silent pass: a verdict or a problem for each combination."""
    fits = 0
    for name in catalog().models:
        for pool in ("gpu-edge-pool", "gpu-l4-pool"):
            try:
                model = only_model(placed(name, pool))
            except ProblemsError:
                continue
            assert model.budget.verdict == "fits"
            fits += 1
    assert fits >= 6
