"""Staging and prod as they stand in the tree: resolved, proved, priced, and comparable."""

import copy
import json
from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from models.core.findings import Finding
from models.core.problems import ProblemsError
from models.facts.catalog import ModelStatus
from models.plan.plan import PlannedRegion, PlatformPlan
from models.plan.resolve.stack import resolve
from models.plan.summary.stack import bill_inputs, capacity_outputs, cost_inputs, plan_inputs
from models.settings.certificates import OURS
from models.settings.secrets import SecretsKind
from models.settings.settings import parse
from models.settings.storage import Credentials
from policies.core.context import Context
from policies.frame.evaluate import plan_findings
from tests.helpers.plans.dev import ROOT, TODAY, catalog

pytestmark = pytest.mark.pure

ENVIRONMENTS = ("staging", "prod")
Settings = dict[str, Any]


def settings_of(environment: str) -> Settings:
    """Return a stack file's settings as plain data."""
    read = yaml.safe_load((ROOT / f"Pulumi.{environment}.yaml").read_text())
    return cast("Settings", read["config"]["triplane:platform"])


def planned(whole: Settings) -> PlatformPlan:
    """Return the plan of settings."""
    return resolve(parse(json.dumps(whole)), catalog(), TODAY)


def refusal(whole: Settings) -> str:
    """Return why settings have no plan."""
    with pytest.raises(ProblemsError) as caught:
        planned(whole)
    return str(caught.value)


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def plan(request: pytest.FixtureRequest) -> PlatformPlan:
    """Return the plan of each environment."""
    return planned(settings_of(request.param))


@pytest.fixture(scope="module")
def prod() -> PlatformPlan:
    """Return prod's plan."""
    return planned(settings_of("prod"))


def test_every_replica_fits_and_its_price_is_known(plan: PlatformPlan) -> None:
    """The proof that a preview makes first."""
    models = [model for region in plan.regions for model in region.models]
    assert {model.budget.verdict.value for model in models} == {"fits"}
    assert plan.totals.usd_per_hour_min is not None
    assert plan.totals.usd_per_hour_max is not None
    assert 0 < plan.totals.usd_per_hour_min <= plan.totals.usd_per_hour_max


def test_the_pack_finds_nothing_in_the_plan(plan: PlatformPlan) -> None:
    """Capacity, names, memory, bill, budgets and admission, made again from plain values."""
    context = Context(pulumi=True, environment=plan.environment.value, today=TODAY)
    assert plan_findings(json.loads(json.dumps(plan_inputs(plan))), context) == ()


def test_every_gateway_has_a_certificate_and_no_secret_passes_through_the_stack(
    plan: PlatformPlan,
) -> None:
    """Keys come from a store, and clients are told the authority that signs for the one name."""
    for region in plan.regions:
        assert region.settings.secrets.is_store
        assert region.settings.storage.objects.credentials is not Credentials.CONFIG
        assert region.settings.certificates.issuer in OURS
        assert region.gateway.tls_secret is not None
        on_aws = region.eks is not None
        assert (region.settings.secrets.kind is SecretsKind.AWS) == on_aws
        if region.eks is not None and region.gateway.hostname is not None:
            assert region.gateway.hostname.endswith(f".{region.eks.domain}")


def test_prod_has_two_regions_on_aws_and_an_edge_site(prod: PlatformPlan) -> None:
    on_aws = [region.eks.aws_region for region in prod.regions if region.eks is not None]
    assert on_aws == ["us-east-1", "us-west-2"]
    [edge] = [region for region in prod.regions if region.eks is None]
    cards = {pool.settings.accelerator for pool in edge.pools}
    assert cards == {"a2000-12gb", "l4", None}
    for region in prod.regions[:2]:
        pools = [pool.name for pool in region.pools]
        assert pools == ["gpu-h100-pool", "gpu-a100-pool", "gpu-l4-pool", "cpu-pool"]


def test_prod_serves_ten_models_of_every_kind(prod: PlatformPlan) -> None:
    """LIVE, pinned, licensed; several GPUs, experts, hybrid, state space; fixed and autoscaled."""
    models = [model for region in prod.regions for model in region.models]
    entries = {model.name: model.entry for model in models}
    assert len(entries) >= 10
    assert {entry.status for entry in entries.values()} == {ModelStatus.LIVE}
    assert all(entry.resolved and entry.license != "unresolved" for entry in entries.values())
    assert max(model.gpus_per_replica for model in models) >= 2
    assert any(model.arguments.enable_expert_parallel for model in models)
    assert {model.autoscaled for model in models} == {True, False}
    kinds = {
        model.name: catalog().models[model.entry.name].config.get("model_type") for model in models
    }
    assert {"qwen3_next", "falcon_mamba", "mixtral", "gpt_oss"} <= set(kinds.values())


def hardware(region: PlannedRegion) -> set[tuple[str, str | None, str | None]]:
    """Return the machines of a region by pool."""
    pools = [pool.settings for pool in region.pools]
    return {(pool.name, pool.accelerator, pool.instance_type) for pool in pools}


def test_staging_has_the_machines_of_prod(prod: PlatformPlan) -> None:
    """What is proved in staging is proved for these cards, hosts and images."""
    [staging] = planned(settings_of("staging")).regions
    regions = [region for region in prod.regions if region.eks is not None]
    assert all(hardware(region) == hardware(staging) for region in regions)
    versions = {region.eks.version for region in regions if region.eks is not None}
    assert staging.eks is not None
    assert versions == {staging.eks.version}


def test_networks_of_all_environments_stay_apart(prod: PlatformPlan) -> None:
    """Two that overlap could never be peered."""
    staging = planned(settings_of("staging"))
    clusters = [region.eks for each in (prod, staging) for region in each.regions]
    ranges = [cluster.cidr for cluster in clusters if cluster is not None]
    assert len(set(ranges)) == len(ranges) == 3


def test_the_bill_is_that_of_every_node_one_by_one(prod: PlatformPlan) -> None:
    """Brute force, from the catalog's prices and the settings, without the bill's own lines."""
    whole, prices = settings_of("prod"), catalog().prices
    high = 0.0
    for region in whole["regions"]:
        place = region["cluster"].get("aws_region")
        for pool in region["pools"]:
            own = pool.get("node", {}).get("usd_per_hour")
            price = own if own is not None else prices[pool["instance_type"], place]
            high += sum(price for _ in range(pool["max"]))
        if place is not None:
            high += prices["eks_control_plane_standard", place]
            high += sum(prices["nat_gateway", place] for _ in region["cluster"]["zones"])
    assert prod.totals.usd_per_hour_max == pytest.approx(high, abs=1e-3)


def test_the_minimum_is_what_minimum_replicas_need(prod: PlatformPlan) -> None:
    """Ten GPUs of H100 at the least are two machines, whatever the pool's minimum says."""
    east = prod.regions[0]
    line = next(each for each in east.bill.lines if each.what == "gpu-h100-pool")
    assert (east.pools[0].settings.min, line.count_min, line.count_max) == (1, 2, 3)


def test_the_outputs_say_what_a_region_costs_and_has(prod: PlatformPlan) -> None:
    east = prod.regions[0]
    assert cost_inputs(east) == {
        "usdPerHourMin": east.bill.usd_min,
        "usdPerHourMax": east.bill.usd_max,
    }
    found = capacity_outputs(east)
    assert found["h100-80gb"] == {"gpusMin": 10, "gpusMax": 18, "gpusAvailable": 24}
    assert set(found) == {"h100-80gb", "a100-80gb", "l4"}
    assert any("storage" in each for each in bill_inputs()["excludes"])


def test_a_third_region_is_one_entry() -> None:
    """Models without a list of regions are there at once."""
    whole = settings_of("prod")
    third = copy.deepcopy(whole["regions"][1])
    third["name"] = "third"
    third["cluster"] |= {"cidr": "10.28.0.0/16"}
    third["storage"]["objects"]["bucket"] = "triplane-prod-third-models"
    whole["regions"].append(third)
    whole["budgets"]["usd_per_hour"] = 2000
    plan = planned(whole)
    assert plan.regions[-1].name == "third"
    assert [model.name for model in plan.regions[-1].models] == ["qwen3-8b"]


def test_a_bill_above_its_bound_is_refused() -> None:
    whole = settings_of("prod")
    whole["budgets"] = {"usd_per_hour": 400.0, "usd_per_hour_per_region": {"edge": 1.0}}
    text = refusal(whole)
    assert "budgets.usd_per_hour: [plan-cost] prod: the bill at the maximum is above" in text
    assert "budgets.usd_per_hour_per_region.edge: [plan-cost] edge" in text


def test_a_region_has_no_more_gpus_than_it_may() -> None:
    whole = settings_of("prod")
    whole["budgets"]["gpus_per_region"] = {"us-west-2": 30}
    assert "[plan-gpus] us-west-2" in refusal(whole)


def test_prod_is_never_without_a_price() -> None:
    """No budget is set, and the bill must be known all the same."""
    whole = settings_of("prod")
    whole["budgets"] = {}
    del whole["regions"][2]["pools"][0]["node"]["usd_per_hour"]
    text = refusal(whole)
    assert "regions[2].pools[0]: [plan-cost] edge/gpu-edge-pool: the pool has no price" in text
    whole["environment"] = "staging"
    assert planned(whole).totals.usd_per_hour_max is None


def test_a_service_without_a_price_is_refused() -> None:
    """A NAT gateway in Ireland has no figure with a source: never a guess."""
    whole = settings_of("staging")
    [region] = whole["regions"]
    region["cluster"] |= {"aws_region": "eu-west-1", "zones": ["eu-west-1a", "eu-west-1b"]}
    region["storage"]["objects"]["region"] = "eu-west-1"
    text = refusal(whole)
    assert "[plan-cost] us-east-1/nat_gateway: the catalog has no price" in text
    assert "[plan-cost] us-east-1/gpu-h100-pool: the catalog has no price for this type" in text


def test_a_machine_without_a_list_price_is_told() -> None:
    """Spot counts at the on-demand price, and the preview says so."""
    whole = settings_of("staging")
    whole["regions"][0]["pools"][2]["capacity_type"] = "spot"
    plan = planned(whole)
    said: list[Finding] = [each for each in plan.notices if "upper bound" in each.message]
    assert [each.path for each in said] == ["regions[0].pools[2]"]
    line = next(each for each in plan.regions[0].bill.lines if each.what == "gpu-l4-pool")
    assert line.basis.startswith("upper bound")


@given(
    index=st.integers(0, 11),
    more=st.integers(1, 3),
    grow=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_more_replicas_are_never_cheaper_and_the_rules_agree(
    index: int, more: int, grow: bool
) -> None:
    """Whatever grows, the bill's minimum does not fall, and the pack adds up the same."""
    before, whole = settings_of("prod"), settings_of("prod")
    for each in (before, whole):
        each["budgets"] = {}
        for region in each["regions"]:
            for pool in region["pools"]:
                pool["max"] += 20
    model = whole["models"][index]
    if "replicas" in model:
        model["replicas"] += more
    else:
        model["autoscaling"]["max"] += more
        model["autoscaling"]["min"] += more if grow else 0
    was, now = planned(before).totals, planned(whole).totals
    assert now.gpus_max > was.gpus_max
    assert (now.usd_per_hour_min or 0) >= (was.usd_per_hour_min or 0)
    context = Context(pulumi=True, environment="prod", today=TODAY)
    assert plan_findings(plan_inputs(planned(whole)), context) == ()
