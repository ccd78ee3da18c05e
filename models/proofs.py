"""Proofs over a whole region: every replica finds its GPUs, and the bill stays in its bounds.

Made by the program before it registers anything, and again by policies from the `Plan`
component's inputs; both call these functions.
"""

from collections.abc import Iterable, Sequence

from models.base import Model
from models.problems import Problem


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


def unplaced(demands: Sequence[Demand], supply: Supply) -> dict[str, int]:
    """Return by model how many replicas of a pool find no node at the maximum.

    First-fit decreasing over GPUs. Replicas take GPUs of one node only, and their CPU and memory
    are their GPUs' share of it (`models/sizing.py`), so GPUs are what binds.
    """
    free = [supply.gpus] * supply.nodes
    left: dict[str, int] = {}
    for demand in sorted(demands, key=lambda each: -each.gpus):
        for _ in range(demand.replicas):
            node = next((i for i, gpus in enumerate(free) if gpus >= demand.gpus), None)
            if node is None:
                left[demand.model] = left.get(demand.model, 0) + 1
            else:
                free[node] -= demand.gpus
    return left


def capacity_problems(
    region: str, demands: Iterable[Demand], supplies: Iterable[Supply], path: str
) -> list[Problem]:
    """Return a problem for every pool that cannot hold its models at the autoscaling maximum."""
    wanted = list(demands)
    problems: list[Problem] = []
    for supply in supplies:
        here = [demand for demand in wanted if demand.pool == supply.pool]
        left = unplaced(here, supply)
        if not left:
            continue
        asked = sum(demand.gpus * demand.replicas for demand in here)
        without = ", ".join(f"{count} of {model}" for model, count in sorted(left.items()))
        problems.append(
            Problem(
                path=path,
                rule="plan-capacity",
                object=f"{region}/{supply.pool}",
                message=f"at the autoscaling maximum these replicas find no node: {without}",
                value=f"{asked} GPUs asked",
                allowed=f"{supply.nodes} nodes of {supply.gpus} GPUs",
                mend="raise the pool's max, lower replicas or autoscaling.max, or move a model",
            )
        )
    return problems
