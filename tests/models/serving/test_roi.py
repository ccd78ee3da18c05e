"""The return on a KV cache outside the GPU: identities, edges, and where prices come from."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from catalog.loader import load as catalog
from models.serving import roi as returns
from models.serving.roi import GIB_PER_GB, Roi, RoiInput, StoragePrices

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parents[3]


PRICES = StoragePrices.of(
    {
        ("ebs_gp3_storage", "us-east-1"): 0.08,
        ("s3_standard_storage_first_50tb", "us-east-1"): 0.023,
    }
)


def roi(given: RoiInput) -> Roi:
    """Return what a load's cache saves and costs at these prices."""
    return returns.roi(given, PRICES)


def load(**changes: Any) -> RoiInput:
    """Return a load with changes."""
    base: dict[str, Any] = {
        "requests_per_sec": 10,
        "prompt_tokens": 2000,
        "hit_rate": 0.6,
        "gpu_usd_per_hour": 0.8,
        "prefill_tokens_per_sec": 4000,
        "nvme_gib": 500,
    }
    return RoiInput.model_validate({**base, **changes})


@settings(max_examples=60, deadline=None)
@given(
    hit=st.floats(0, 1),
    rate=st.floats(0.01, 500),
    tokens=st.floats(1, 100_000),
    nvme=st.floats(0, 10_000),
    cost=st.floats(0, 1),
    nodes=st.integers(1, 16),
)
def test_the_break_even_hit_rate_breaks_even(
    hit: float, rate: float, tokens: float, nvme: float, cost: float, nodes: int
) -> None:
    """At that rate savings are the cost, above it they pay."""
    found = roi(
        load(
            hit_rate=hit,
            requests_per_sec=rate,
            prompt_tokens=tokens,
            nvme_gib=nvme,
            hit_cost_share=cost,
            nodes=nodes,
        )
    )
    assert found.net_usd_per_hour == pytest.approx(
        found.savings_usd_per_hour - found.tiers_usd_per_hour
    )
    even = found.break_even_hit_rate
    if even is None:
        assert not found.pays
        return
    at = roi(
        load(
            hit_rate=even,
            requests_per_sec=rate,
            prompt_tokens=tokens,
            nvme_gib=nvme,
            hit_cost_share=cost,
            nodes=nodes,
        )
    )
    assert at.savings_usd_per_hour == pytest.approx(found.tiers_usd_per_hour, abs=1e-12)
    assert found.pays == (found.savings_usd_per_hour > found.tiers_usd_per_hour)


def test_what_the_gpus_own_cache_finds_is_not_the_tiers_gain() -> None:
    """A tool that counts it sells a cache that is already there."""
    all_of_it = roi(load(baseline_hit_rate=0.6))
    assert all_of_it.savings_usd_per_hour == 0
    assert not all_of_it.pays
    half = roi(load(baseline_hit_rate=0.3))
    assert half.savings_usd_per_hour == pytest.approx(roi(load()).savings_usd_per_hour / 2)
    even = roi(load()).break_even_hit_rate or 0
    assert half.break_even_hit_rate == pytest.approx(0.3 + even)


def test_tiers_that_cost_nothing_have_no_ratio() -> None:
    found = roi(load(nvme_gib=0, cpu_gib=64))
    assert (found.roi_ratio, found.break_even_hit_rate, found.pays) == (None, 0, True)


def test_a_hit_that_costs_as_much_as_computing_never_pays() -> None:
    found = roi(load(hit_cost_share=1.0))
    assert (found.break_even_hit_rate, found.pays, found.gpu_savings) == (None, False, 0)


def test_a_given_price_needs_no_gpu() -> None:
    found = roi(
        load(prefill_usd_per_token=1e-7, gpu_usd_per_hour=None, prefill_tokens_per_sec=None)
    )
    assert found.gpus_without is None
    assert found.savings_usd_per_hour == pytest.approx(72e6 * 0.6 * 0.95 * 1e-7)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpu_usd_per_hour": None}, "the price of a prompt token is not known"),
        ({"hit_rate": 1.2}, "less than or equal to 1"),
        ({"baseline_hit_rate": 0.7}, "is below baseline_hit_rate"),
        ({"requests_per_sec": float("nan")}, "greater than 0"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        load(**changes)


def test_every_field_is_an_assumption_with_its_option() -> None:
    """A number that is not printed is a number that nobody checks."""
    everything = load(prefill_usd_per_token=1e-7, kv_bytes_per_token=131072)
    found = {each.option: each for each in roi(everything).assumptions}
    fields = {"--" + name.replace("_", "-") for name in RoiInput.model_fields}
    assert set(found) == fields
    assert found["--hit-rate"].source == "given"
    assert found["--hit-cost-share"].source == "assumed"


def test_tokens_held_and_the_rate_of_loading_follow_from_the_cache_entry() -> None:
    found = roi(load(kv_bytes_per_token=131072, nodes=2))
    assert found.tokens_held == 2 * 500 * 2**30 / 131072
    assert found.load_gib_per_sec == pytest.approx(20000 * 0.6 * 131072 / 2**30)


def test_assumed_prices_are_the_catalogs() -> None:
    """A price without a source would be made up. 10^9 bytes are sold, and 2^30 are counted."""
    rows = yaml.safe_load((ROOT / "catalog" / "prices.yaml").read_text())["prices"]
    usd = {row["item"]: row["usd"] for row in rows if row["region"] == "us-east-1"}
    found = StoragePrices.of(catalog().monthly_prices)
    assert found.nvme_usd_per_gib_month == usd["ebs_gp3_storage"] * GIB_PER_GB
    assert found.remote_usd_per_gib_month == usd["s3_standard_storage_first_50tb"] * GIB_PER_GB
    assert found == PRICES
