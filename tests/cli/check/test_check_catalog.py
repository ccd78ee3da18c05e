"""The catalog's gate asks for the bound as the plan does, not for the estimate alone."""

from pathlib import Path

import pytest

from cli.commands import check_catalog
from cli.commands.check_catalog import catalog_findings, stack_gate
from models.memory import Budget, BudgetRequest, Verdict
from tests.helpers.plans.dev import ROOT

pytestmark = pytest.mark.pure

DEV = ROOT / "Pulumi.dev.yaml"


def answered(low: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every model fit by an estimate of 4 GiB, need 2, and have that bound."""

    def budget(request: BudgetRequest) -> Budget:
        return Budget(
            verdict=Verdict.FITS, kv_cache_gib=4.0, kv_cache_gib_low=low, needed_kv_gib=2.0
        )

    monkeypatch.setattr(check_catalog, "budget", budget)


def said(path: Path) -> list[str]:
    """Return what the gate says of models that no pool holds."""
    return [finding.message for finding, _ in stack_gate(path) if "no pool" in finding.message]


def test_a_model_that_fits_within_its_bound_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(2.0, monkeypatch)
    # Only what cannot be split over the GPUs of a node is left.
    assert not any("within the bound" in message for message in said(DEV))
    assert not [finding for finding, _ in catalog_findings() if "no node" in finding.message]


def test_a_model_that_fits_by_the_estimate_only_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate would let pass what the plan then refuses by `plan-margin`."""
    answered(1.99, monkeypatch)
    assert any("within the bound it does not" in message for message in said(DEV))
    assert any("no node" in finding.message for finding, _ in catalog_findings())
