"""Reads tables that stand for themselves: families of GPUs, and what rules know (`rules/`).

Each is read when it is asked for, and names the source of every row.
"""

from functools import cache
from pathlib import Path
from typing import TypeVar

from catalog.readers.own import own_reader
from catalog.readers.reading import Reader
from models.core.base import Model
from models.facts.gpu_families import GpuFamilies, GpuFamily
from models.facts.rule_tables import IamRisks, Injectors, NodeGpus, RouterMetrics

_M = TypeVar("_M", bound=Model)


@cache
def gpu_families(root: Path | None = None) -> tuple[GpuFamily, ...]:
    """Return the families of GPUs whose names tell their capability. Raises `ProblemsError`."""
    return _table("gpu_families.yaml", GpuFamilies, root).families


@cache
def node_gpus(root: Path | None = None) -> NodeGpus:
    """Return what labels and machine types of nodes say of GPUs. Raises `ProblemsError`."""
    return _table("rules/node_gpus.yaml", NodeGpus, root)


@cache
def router_metrics(root: Path | None = None) -> RouterMetrics:
    """Return the series that routers export. Raises `ProblemsError`."""
    return _table("rules/router_metrics.yaml", RouterMetrics, root)


@cache
def injectors(root: Path | None = None) -> Injectors:
    """Return the keys that make a webhook add a sidecar. Raises `ProblemsError`."""
    return _table("rules/injectors.yaml", Injectors, root)


@cache
def iam_risks(root: Path | None = None) -> IamRisks:
    """Return the known ways to more rights and to data. Raises `ProblemsError`."""
    return _table("rules/iam_risks.yaml", IamRisks, root)


def _table(name: str, of: type[_M], root: Path | None) -> _M:
    reader = own_reader() if root is None else Reader(root)
    table = reader.model(name, of)
    reader.finish("catalog")
    assert table is not None, "what is wrong with a file was raised"
    return table
