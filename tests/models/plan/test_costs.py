"""Bills and first fits: against sums and packings made in the most plodding way."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.plan.costs import (
    CONTROL_PLANE,
    LIST_PRICE,
    NAT_GATEWAY,
    Bill,
    CostLine,
    added,
    basis_of,
    nat_gateways,
    pool_line,
    service_lines,
    total,
)
from models.plan.proofs import Demand, Supply, first_fit, nodes_needed, unplaced
from models.settings.regions import CapacityType

pytestmark = pytest.mark.pure

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 12)), max_size=5)
PRICES = st.one_of(st.none(), st.integers(0, 99_000_000).map(lambda micro: micro / 1_000_000))


def plodding(
    rows: Sequence[tuple[int, int]], gpus: int, nodes: int | None
) -> tuple[list[int], int]:
    """Return what `first_fit` must: every replica looks at every node, one after another."""
    free: list[int] = []
    left: list[int] = []
    for size, count in rows:
        out = 0
        for _ in range(count if size > 0 else 0):
            place = next((i for i, room in enumerate(free) if room >= size), None)
            if place is None and size <= gpus and (nodes is None or len(free) < nodes):
                free.append(gpus)
                place = len(free) - 1
            if place is None:
                out += 1
            else:
                free[place] -= size
        left.append(out)
    return left, len(free)


@given(rows=ROWS, gpus=st.integers(1, 8), nodes=st.one_of(st.none(), st.integers(0, 9)))
@settings(max_examples=400, deadline=None)
def test_the_counted_fit_is_the_plodding_one(
    rows: list[tuple[int, int]], gpus: int, nodes: int | None
) -> None:
    """Counting nodes that are alike must not change where a replica goes."""
    fit = first_fit(rows, gpus, nodes)
    assert (list(fit.left), fit.nodes) == plodding(rows, gpus, nodes)


def fewest(sizes: Sequence[int], gpus: int) -> int:
    """Return the fewest nodes that hold the sizes, by trying every way to put them."""
    if not sizes:
        return 0
    for nodes in range(1, len(sizes) + 1):
        for where in itertools.product(range(nodes), repeat=len(sizes)):
            loads = [0] * nodes
            for size, node in zip(sizes, where, strict=True):
                loads[node] += size
            if max(loads) <= gpus:
                return nodes
    raise AssertionError("every size fits a node of its own")


@given(sizes=st.lists(st.sampled_from([1, 2, 4, 8]), max_size=5), gpus=st.sampled_from([8]))
@settings(max_examples=60, deadline=None)
def test_the_minimum_is_the_fewest_nodes_where_sizes_divide_each_other(
    sizes: list[int], gpus: int
) -> None:
    """Tensor parallel sizes are powers of two: the bill's minimum is then no estimate."""
    rows = [(size, 1) for size in sizes]
    assert nodes_needed(rows, gpus) == fewest(sizes, gpus)


def test_a_mistyped_count_ends_at_once() -> None:
    """A stack file with a billion replicas gets its message, not a machine out of memory."""
    billion = 10**9
    assert nodes_needed([(2, billion)], 8) == billion // 4
    demand = Demand(model="m", pool="p", gpus=3, replicas=billion)
    assert unplaced([demand], Supply(pool="p", nodes=billion, gpus=8)) == {}
    assert unplaced([demand], Supply(pool="p", nodes=10, gpus=8)) == {"m": billion - 20}


@given(rows=st.lists(st.tuples(PRICES, st.integers(0, 40), st.integers(0, 40)), max_size=8))
@settings(max_examples=200, deadline=None)
def test_a_bill_is_the_sum_of_its_nodes_one_by_one(
    rows: list[tuple[float | None, int, int]],
) -> None:
    """Brute force: every single node is put on the bill with its price."""
    lines = tuple(
        CostLine(what=str(index), usd_per_hour=price, count_min=low, count_max=low + more)
        for index, (price, low, more) in enumerate(rows)
    )
    found = Bill(lines=lines)
    for said, count_of in ((found.usd_min, 0), (found.usd_max, 1)):
        nodes = [
            line.usd_per_hour
            for line in lines
            for _ in range((line.count_min, line.count_max)[count_of])
        ]
        if None in nodes:
            assert said is None
        else:
            assert said == pytest.approx(sum(each or 0.0 for each in nodes), abs=1e-4)
    if found.usd_min is not None and found.usd_max is not None:
        assert found.usd_min <= found.usd_max


@given(
    sizes=st.lists(st.tuples(st.sampled_from([1, 2, 4, 8]), st.integers(0, 6)), min_size=1),
    more=st.integers(1, 5),
    place=st.integers(0, 5),
    bounds=st.tuples(st.integers(0, 6), st.integers(0, 30)),
)
@settings(max_examples=300, deadline=None)
def test_more_replicas_are_never_cheaper(
    sizes: list[tuple[int, int]], more: int, place: int, bounds: tuple[int, int]
) -> None:
    """At the minimum a replica may be free of charge, where a node has room for it."""
    grown = [*sizes]
    index = place % len(sizes)
    grown[index] = (sizes[index][0], sizes[index][1] + more)
    low, high = bounds[0], bounds[0] + bounds[1] + 1

    def least(rows: list[tuple[int, int]]) -> float:
        line = pool_line("p", 55.04, (low, high), nodes_needed(rows, 8))
        found = Bill(lines=(line,)).usd_min
        assert found is not None
        return found

    assert least(grown) >= least(sizes)


def test_a_pool_costs_at_least_its_minimum_and_what_replicas_need() -> None:
    def counts(bounds: tuple[int, int], needed: int) -> tuple[int, int]:
        line = pool_line("p", 1.0, bounds, needed)
        return line.count_min, line.count_max

    assert counts((0, 4), 0) == (0, 4)
    assert counts((0, 4), 3) == (3, 4)
    assert counts((2, 4), 1) == (2, 4)
    assert counts((0, 4), 9) == (4, 4), "what finds no node costs nothing; capacity refuses it"


def test_an_unknown_price_is_no_price_of_zero() -> None:
    assert total([(1.0, 2), (None, 1)]) is None
    assert total([(1.0, 2), (None, 0)]) == 2.0, "what is not there needs no price"
    assert added([1.0, None]) is None
    assert added([1.0, 2.5]) == 3.5


def test_what_has_no_list_price_says_so() -> None:
    """Spot and reserved machines count at the on-demand price, as an upper bound."""
    assert basis_of(CapacityType.ON_DEMAND, own=False) == LIST_PRICE
    for kind in (CapacityType.SPOT, CapacityType.RESERVED):
        assert basis_of(kind, own=False).startswith("upper bound")
    assert "owner" in basis_of(CapacityType.ON_DEMAND, own=True)


def test_an_eks_region_pays_for_its_control_plane_and_its_gateways() -> None:
    prices = {(CONTROL_PLANE, "us-east-1"): 0.1, (NAT_GATEWAY, "us-east-1"): 0.045}
    lines = service_lines("us-east-1", nat_gateways(["a", "b", "c"], single=False), prices)
    assert Bill(lines=lines).usd_max == pytest.approx(0.1 + 3 * 0.045)
    assert nat_gateways(["a", "b", "c"], single=True) == 1
    missing = service_lines("mars-1", 1, prices)
    assert Bill(lines=missing).usd_min is None
