"""A suspended region under mocks: all of it is registered, and all of it is frozen."""

from typing import Any, Final

import pytest

from tests.helpers.plans.aws_graph import Graph, build

pytestmark = pytest.mark.mocks

SKIP: Final = "skipUpdateUnreachable"


def suspended(settings: dict[str, Any]) -> None:
    """Suspend the only region."""
    settings["regions"][0]["suspended"] = True


@pytest.fixture(scope="module")
def free() -> Graph:
    """Return a region as ever."""
    return build()


@pytest.fixture(scope="module")
def frozen() -> Graph:
    """Return the same region, suspended."""
    return build(suspended)


def test_everything_of_a_suspended_region_is_registered(free: Graph, frozen: Graph) -> None:
    """What is not registered would be deleted; only questions to the cluster are left out."""
    questions = {name for name in free.resources if "-needs-" in name}
    questions |= set(free.of_type(":ExternalOperators"))
    assert set(free.resources) - questions == set(frozen.resources)


def test_everything_of_a_suspended_region_is_frozen(free: Graph, frozen: Graph) -> None:
    """What is not frozen would be changed."""
    real = {
        name: each
        for name, each in frozen.resources.items()
        if each.type.startswith(("aws:", "kubernetes:"))
    }
    assert len(real) > 100
    assert all("*" in each.ignored for each in real.values())
    assert not any("*" in each.ignored for each in free.resources.values())


def test_silence_is_no_change_only_in_a_suspended_region(free: Graph, frozen: Graph) -> None:
    """As a default it would turn an outage into a green update."""
    assert frozen.one("providers:kubernetes").inputs[SKIP] == "true"
    assert not {SKIP, "deleteUnreachable"} & set(free.one("providers:kubernetes").inputs)
