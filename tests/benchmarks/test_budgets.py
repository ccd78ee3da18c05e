"""The speed benchmark measures what it says."""

import pytest

from benchmarks.speed.budgets import Speed, jobs, per_second, shown
from catalog.loader import load
from models.memory import budget

pytestmark = pytest.mark.pure


def test_every_request_is_another_one() -> None:
    """Equal requests could be answered from a cache."""
    given = jobs(load(), 60)
    asked = [request.arguments.max_model_len for _, request in given]
    assert len(set(asked)) == 60
    assert len({request.architecture.model_type for _, request in given}) > 2


def test_budgets_are_far_from_slow() -> None:
    """A loose floor, for a machine that does other things as well."""
    given = jobs(load(), 60)
    assert per_second(lambda job: budget(job[1]), given) > 20


def test_figures_are_told_in_words() -> None:
    found = Speed(
        budgets=1000,
        per_second=500.4,
        with_configuration_per_second=400.0,
        interpreter=0.02,
        cold_import=0.3,
        cold_budget=0.2,
        cold_whole=0.55,
        imports_pulumi=False,
    )
    assert shown(found).startswith("1000 budgets in one process: 500 per second\n")
    assert shown(found).endswith("pulumi is not imported on its path")
