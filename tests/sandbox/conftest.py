"""Sandboxes for the tests: each with a name of its own, and gone at the end."""

from collections.abc import Callable, Generator

import pytest

from sandbox import toolchain
from sandbox.cluster import cluster
from sandbox.cluster.cluster import Sandbox
from sandbox.cluster.nodes import NodeSpec
from sandbox.toolchain import Toolchain
from tests.helpers.sandbox.cluster import CRD_SETS, NODES, unique_name


@pytest.fixture(scope="session")
def tools() -> Toolchain:
    """The toolchain, built if it has to be."""
    return toolchain.ensure()


@pytest.fixture(scope="session")
def shared_box(tools: Toolchain) -> Generator[Sandbox]:
    """One control plane with CRDs and nodes for the tests that only add objects."""
    name = unique_name()
    try:
        yield cluster.start(name, NODES, crd_sets=CRD_SETS, tools=tools)
    finally:
        cluster.stop(name, purge=True)


@pytest.fixture
def new_box(tools: Toolchain) -> Generator[Callable[..., Sandbox]]:
    """Start bare control planes (no CRDs) that are purged after the test."""
    names: list[str] = []

    def start(name: str | None = None, nodes: tuple[NodeSpec, ...] = ()) -> Sandbox:
        chosen = name or unique_name()
        names.append(chosen)
        return cluster.start(chosen, nodes, crd_sets=(), tools=tools)

    try:
        yield start
    finally:
        for name in dict.fromkeys(names):
            cluster.stop(name, purge=True)
