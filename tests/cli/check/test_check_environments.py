"""Staging and prod under this project's own profile: every engine of every region."""

import json
from pathlib import Path

import pytest
from test_check_own import manifests
from yaml import safe_load

from models.plan.plan import PlatformPlan
from models.plan.resolve.stack import resolve
from models.settings.settings import parse
from tests.helpers.cli.command import triplane as run
from tests.helpers.plans.dev import ROOT, TODAY, catalog

pytestmark = pytest.mark.pure


def plan_of(environment: str) -> PlatformPlan:
    """Return the plan of a stack file."""
    read = safe_load((ROOT / f"Pulumi.{environment}.yaml").read_text())
    return resolve(parse(json.dumps(read["config"]["triplane:platform"])), catalog(), TODAY)


@pytest.mark.parametrize("environment", ["staging", "prod"])
def test_the_engines_of_every_region_have_no_finding(environment: str, tmp_path: Path) -> None:
    """The memory, flags, resources and probes of what will run, as anybody's YAML is read."""
    plan = plan_of(environment)
    for region in plan.regions:
        alone = plan.model_copy(update={"regions": (region,)})
        items = list(manifests(alone))
        assert len(items) == len(region.models) >= 3
        file = tmp_path / f"{region.name}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    ran = run("check", "--profile", "triplane", "--json", "-f", str(tmp_path))
    assert ran.json["findings"] == []
    assert ran.json["files"] == len(plan.regions)
