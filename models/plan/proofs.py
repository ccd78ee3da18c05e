"""Proofs over a whole region: every replica finds its GPUs, and the bill stays in its bounds.

Made by the program before it registers anything, and again by policies from the `Plan`
component's inputs; both call these functions.
"""

from collections.abc import Iterable, Sequence

from models.core.base import Model
from models.core.findings import Finding, Source
from models.core.rule_ids import ProofRule


class Demand(Model):
    """Replicas that one model may have at its maximum, each taking `gpus` GPUs of one node."""

    model: str
    pool: str
    gpus: int
    replicas: int


class Supply(Model):
    """A pool at its maximum: `nodes` nodes with `gpus` GPUs each."""

    pool: str
    nodes: int
    gpus: int


class Fit(Model):
    """What a first fit came to: how many replicas of each row find no node, and nodes in use."""

    left: tuple[int, ...]
    nodes: int


def first_fit(rows: Iterable[tuple[int, int]], gpus: int, nodes: int | None = None) -> Fit:
    """Put rows of (GPUs of a replica, replicas) onto nodes of `gpus` GPUs, in the order given.

    Each replica goes to the first node that has room, a new one where none has; `nodes` bounds how
    many there are (None: as many as it takes). Nodes that are alike are counted, not listed: a
    mistyped count of a billion replicas takes no longer than ten.
    """
    # (free GPUs, nodes that have as many), the node that was opened first standing first.
    groups: list[tuple[int, int]] = []
    opened, left = 0, list[int]()
    for size, count in rows:
        wanted = max(0, count) if size > 0 else 0
        kept: list[tuple[int, int]] = []
        for free, many in groups:
            placed = min(wanted, free // size * many) if size > 0 else 0
            kept += _filled(free, many, size, placed)
            wanted -= placed
        more = -(-wanted // (gpus // size)) if 0 < size <= gpus else 0
        more = more if nodes is None else max(0, min(more, nodes - opened))
        placed = min(wanted, gpus // size * more) if more else 0
        groups = [*kept, *_filled(gpus, more, size, placed)]
        opened += more
        left.append(wanted - placed)
    return Fit(left=tuple(left), nodes=opened)


def _filled(free: int, many: int, size: int, placed: int) -> list[tuple[int, int]]:
    """Return a group of nodes once `placed` replicas stand on its first ones."""
    if not placed:
        return [(free, many)] if many else []
    whole, rest = divmod(placed, free // size)
    parts = [(free - free // size * size, whole), (free - rest * size, 1 if rest else 0)]
    parts.append((free, many - whole - (1 if rest else 0)))
    return [part for part in parts if part[1]]


def unplaced(demands: Sequence[Demand], supply: Supply) -> dict[str, int]:
    """Return by model how many replicas of a pool find no node at the maximum.

    First-fit decreasing over GPUs, by name among equals. Replicas take GPUs of one node only, and
    their CPU and memory are their GPUs' share of it (`models/plan/sizing.py`), so GPUs are what
    binds.
    """
    largest = sorted(demands, key=lambda each: (-each.gpus, each.model))
    fit = first_fit([(each.gpus, each.replicas) for each in largest], supply.gpus, supply.nodes)
    left: dict[str, int] = {}
    for demand, count in zip(largest, fit.left, strict=True):
        if count:
            left[demand.model] = left.get(demand.model, 0) + count
    return left


def nodes_needed(replicas: Iterable[tuple[int, int]], gpus: int) -> int:
    """Return how many nodes of `gpus` GPUs hold rows of (GPUs of a replica, replicas).

    The same first fit. A replica that takes more GPUs than a node has is left out: it finds no
    node at all, which the proof of capacity says.
    """
    return first_fit(sorted(replicas, reverse=True), gpus).nodes


def capacity_problems(
    region: str, demands: Iterable[Demand], supplies: Iterable[Supply], path: str
) -> list[Finding]:
    """Return a problem for every pool that cannot hold its models at the autoscaling maximum."""
    wanted = list(demands)
    problems: list[Finding] = []
    for supply in supplies:
        here = [demand for demand in wanted if demand.pool == supply.pool]
        left = unplaced(here, supply)
        if not left:
            continue
        asked = sum(demand.gpus * demand.replicas for demand in here)
        without = ", ".join(f"{count} of {model}" for model, count in sorted(left.items()))
        problems.append(
            Finding(
                path=path,
                rule=ProofRule.CAPACITY,
                source=Source.PLAN,
                subject=f"{region}/{supply.pool}",
                message=f"at the autoscaling maximum these replicas find no node: {without}",
                value=f"{asked} GPUs asked",
                allowed=f"{supply.nodes} nodes of {supply.gpus} GPUs",
                remedy="raise the pool's max, lower replicas or autoscaling.max, or move a model",
            )
        )
    return problems
