"""What a region costs per hour: pure arithmetic over prices that have a source.

A bill is a list of lines, each so many of one thing at so much. The program makes it, and the rules
of the `Plan` component make it again from plain values; both call these functions.

Prices are USD per hour on demand from `catalog/prices.yaml` (source and date stand there by row),
or what the owner of a machine says it costs. Spot and reserved machines have no list price: they
count at the on-demand price, which bounds them from above.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from models.core.base import Model
from models.settings.regions import CapacityType

COVERS: Final = (
    "nodes, at the pools' minimum and maximum",
    "EKS control planes, at the rate of standard support",
    "NAT gateways by the hour",
)
"""What a bill has in it."""

EXCLUDES: Final = (
    "storage: EBS volumes, S3, snapshots",
    "traffic: NAT processing, between zones and regions, to the internet",
    "load balancers, interface endpoints, public addresses",
    "logs, metrics, keys, DNS",
    "extended support of an old Kubernetes version",
    "what runs on a cluster that exists already beside these pools, and its control plane",
)
"""What a bill has not in it: the catalog has no price with a source for it, or no quantity."""

CONTROL_PLANE: Final = "eks_control_plane_standard"
NAT_GATEWAY: Final = "nat_gateway"
"""Items of `catalog/prices.yaml` that every EKS region is billed for."""

LIST_PRICE: Final = "on-demand list price"
_BASES: Final[Mapping[CapacityType, str]] = {
    CapacityType.ON_DEMAND: LIST_PRICE,
    CapacityType.SPOT: f"upper bound: {LIST_PRICE} (spot has none)",
    CapacityType.RESERVED: f"upper bound: {LIST_PRICE} (a reservation has its own)",
    CapacityType.CAPACITY_BLOCK: f"upper bound: {LIST_PRICE} (a block has its own, paid ahead)",
}
OWN_FIGURE: Final = "the owner's figure (node.usd_per_hour)"

_DIGITS: Final = 4
"""Decimals of a bill: list prices have up to six, and a sum of them is no more exact than this."""


class CostLine(Model):
    """`count_min` to `count_max` of one thing at `usd_per_hour` each; None where it has no price.

    `basis` says what kind of price it is.
    """

    what: str
    usd_per_hour: float | None
    count_min: int
    count_max: int
    basis: str = LIST_PRICE


class Bill(Model):
    """A region's bill per hour."""

    lines: tuple[CostLine, ...]

    @property
    def usd_min(self) -> float | None:
        """USD per hour at the least; None where something that is there has no price."""
        return total((line.usd_per_hour, line.count_min) for line in self.lines)

    @property
    def usd_max(self) -> float | None:
        """USD per hour at the most; None where something that may be there has no price."""
        return total((line.usd_per_hour, line.count_max) for line in self.lines)


def total(rows: Iterable[tuple[float | None, int]]) -> float | None:
    """Return USD per hour of (price, count) rows; None where a row with a count has no price."""
    found = 0.0
    for price, count in rows:
        if count and price is None:
            return None
        found += (price or 0.0) * count
    return round(found, _DIGITS)


def added(bills: Iterable[float | None]) -> float | None:
    """Return the sum of bills; None where one of them is unknown: it is not a small one."""
    known = list(bills)
    if any(bill is None for bill in known):
        return None
    return round(sum(bill or 0.0 for bill in known), _DIGITS)


def pool_line(
    what: str,
    usd_per_hour: float | None,
    bounds: tuple[int, int],
    needed: int,
    basis: str = LIST_PRICE,
) -> CostLine:
    """Return a pool's line: at the least its minimum and what replicas need, at the most its max.

    `bounds` are the pool's nodes at minimum and maximum, `needed` what the replicas' minimum takes.
    """
    low, high = bounds
    return CostLine(
        what=what,
        usd_per_hour=usd_per_hour,
        count_min=min(max(low, needed), high),
        count_max=high,
        basis=basis,
    )


def basis_of(capacity: CapacityType, *, own: bool) -> str:
    """Return what kind of price a pool's is; `own`: its owner's own figure."""
    return OWN_FIGURE if own else _BASES[capacity]


def nat_gateways(zones: Sequence[str], *, single: bool) -> int:
    """Return how many NAT gateways a region has: one a zone, or one for all."""
    return 1 if single else len(zones)


def service_lines(
    aws_region: str, gateways: int, prices: Mapping[tuple[str, str], float]
) -> tuple[CostLine, ...]:
    """Return what an EKS region is billed for beside its nodes."""
    return tuple(
        CostLine(
            what=item,
            usd_per_hour=prices.get((item, aws_region)),
            count_min=count,
            count_max=count,
        )
        for item, count in ((CONTROL_PLANE, 1), (NAT_GATEWAY, gateways))
    )
