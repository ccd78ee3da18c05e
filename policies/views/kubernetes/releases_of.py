"""Which release of an operator a file is meant for, and which of its definitions are known."""

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from policies.core.context import Context

if TYPE_CHECKING:
    from models.facts.crds import Definitions

Numbers = tuple[int, ...]

ALIASES: Final[Mapping[str, str]] = {
    "eso": "external-secrets",
    "ai-gateway": "envoy-ai-gateway",
    "lws": "leaderworkerset",
    "gpu-operator": "nvidia-gpu-operator",
    "nfd": "node-feature-discovery",
    "kube-prometheus-stack": "prometheus-operator",
}
"""Other names of components: those of the charts, and short ones."""


@functools.cache
def definitions() -> "Definitions":
    """Return the pinned custom resource definitions. Raises `ProblemsError`."""
    from catalog.readers.crds import load_definitions

    return load_definitions()


@functools.cache
def pinned() -> Mapping[str, str]:
    """Return the release that the catalog pins of every component with definitions."""
    groups = definitions().by_group.values()
    return {each.component: each.release for kinds in groups for each in kinds.values()}


def release_of(component: str, context: Context) -> str | None:
    """Return the release of a component that is deployed; None where nothing says it.

    A Pulumi program's is the catalog's unless something else is said.
    """
    stated = context.versions.get(component)
    if stated is None and context.pulumi:
        return pinned().get(component)
    return stated


def numbers(release: str) -> Numbers:
    """Return a release's first numbers (`kube-prometheus-stack-88.5.3` is 88, 5), at most two."""
    found = re.search(r"(\d+)(?:\.(\d+))?", release)
    return tuple(int(part) for part in found.groups() if part) if found else ()


def is_before(release: str, since: Numbers) -> bool:
    """Tell whether a release is older than another; what says its major number only may be."""
    return numbers(release) < since[: len(numbers(release))] or (
        len(numbers(release)) > 1 and numbers(release) < since
    )
