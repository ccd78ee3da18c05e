"""What the components register on AWS is what the stand-in for AWS accepts."""

from typing import Any, cast

import pytest

from sandbox.aws.kinds import CLASSES, KINDS
from sandbox.aws.plugin.checks import problems
from sandbox.aws.schema.cache import load
from tests.helpers.plans.aws_graph import build

pytestmark = pytest.mark.mocks


def _fast(settings: dict[str, Any]) -> None:
    """Add machines with EFA interfaces, and some of a capacity block."""
    machine = {"accelerator": "h100-80gb", "instance_type": "p5.48xlarge", "min": 0, "max": 2}
    block = {"capacity_type": "capacity-block", "capacity_reservation": "cr-0123456789abcdef0"}
    zone = {"zones": [settings["regions"][0]["cluster"]["zones"][0]]}
    settings["regions"][0]["pools"] += [
        {"name": "fast-pool", **machine, **zone, "efa": True},
        {"name": "block-pool", **machine, **block, **zone},
    ]


def _whole(value: Any) -> Any:
    """Return a value with its whole numbers as such: on the wire every number is a float."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_whole(each) for each in cast("list[Any]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize("change", [None, _fast])
def test_every_value_that_a_region_gives_is_played(change: Any) -> None:
    """Otherwise a stack that is right would be refused offline, at the first preview."""
    schemas = load(CLASSES)
    registered = {name: each for name, each in build(change).aws().items() if each.type in KINDS}
    assert len({each.type for each in registered.values()}) > 20
    found = {
        name: [
            str(each) for each in problems(KINDS[one.type], schemas[one.type], _whole(one.inputs))
        ]
        for name, one in registered.items()
    }
    assert {name: told for name, told in found.items() if told} == {}
