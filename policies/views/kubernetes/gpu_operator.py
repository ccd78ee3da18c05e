"""The NVIDIA GPU operator's settings, as a Helm release or its ClusterPolicy says them.

Both are written alike; what a release leaves out is the chart's default (gpu-operator v26.7.0,
values.yaml).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from policies.core.nodes import Node
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Stack

_CHART: Final = "gpu-operator"
_GPU: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_DEFAULT_TOLERATIONS: Final = (_GPU,)


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuOperator:
    """One installation: `settings` are the release's values, or the ClusterPolicy's spec."""

    manifest: Manifest
    settings: Node
    is_release: bool

    def enabled(self, part: str) -> bool:
        """Whether an operand is deployed: on unless it is switched off. Raises where unknown."""
        return self.settings.at(part, "enabled").flag() is not False

    def strategy(self) -> str:
        """Return how MIG slices are named: single where nothing is said."""
        return self.settings.at("mig", "strategy").text() or "single"

    def tolerations(self) -> Iterator[tuple[str, list[Mapping[str, str]]]]:
        """Yield what has to reach GPU nodes, with its tolerations.

        Feature discovery's worker is a part of the release only, unless it is switched off there.
        """
        yield "daemonsets.tolerations", _tolerations(self.settings.at("daemonsets", "tolerations"))
        if self.is_release and self.settings.at("nfd", "enabled").flag() is not False:
            worker = self.settings.at("node-feature-discovery", "worker", "tolerations")
            yield "node-feature-discovery.worker.tolerations", _tolerations(worker)


def is_release(manifest: Manifest) -> bool:
    """Whether an object is a chart installed by Pulumi, as one resource or as many."""
    return manifest.options is not None and "helm.sh/" in manifest.options.type


def gpu_operator(manifest: Manifest) -> GpuOperator | None:
    """Return the operator that an object installs or configures, or None."""
    if manifest.is_kind("ClusterPolicy") and manifest.group == "nvidia.com":
        return GpuOperator(manifest=manifest, settings=manifest.spec, is_release=False)
    if not manifest.is_kind("Release", "Chart") or manifest.body["chart"].unknown:
        return None
    chart = manifest.body["chart"].text() or ""
    name = chart.rstrip("/").rsplit("/", 1)[-1]
    if name != _CHART and not (name.startswith(f"{_CHART}-") and name.endswith(".tgz")):
        return None
    return GpuOperator(manifest=manifest, settings=manifest.body["values"], is_release=True)


def gpu_operators(stack: Stack) -> tuple[GpuOperator, ...]:
    """Return every operator of a stack."""
    return stack.once("GPU operators", lambda: tuple(_operators(stack)))


def _operators(stack: Stack) -> Iterator[GpuOperator]:
    for manifest in stack.of_kind("Release", "Chart", "ClusterPolicy"):
        found = gpu_operator(manifest)
        if found is not None:
            yield found


def _tolerations(node: Node) -> list[Mapping[str, str]]:
    if not node.present:
        return list(_DEFAULT_TOLERATIONS)
    return [toleration(each) for each in node.items()]


def toleration(node: Node) -> Mapping[str, str]:
    """Return a toleration's fields that are given."""
    keys = ("key", "operator", "value", "effect")
    found = {key: node[key].text() for key in keys}
    return {key: text for key, text in found.items() if text is not None}


def tolerates(tolerations: Iterable[Mapping[str, str]], taint: Mapping[str, str]) -> bool:
    """Whether any toleration matches a taint (key, value, effect), by Kubernetes' own rules.

    A taint without "value" stands for one whose value is not known: only Exists is sure of it, and
    a value of the same key may be the right one.
    """
    return any(_matches(each, taint) for each in tolerations)


def _matches(given: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if given.get("effect") and given["effect"] != taint["effect"]:
        return False
    exists = given.get("operator", "Equal") == "Exists"
    if not given.get("key"):
        return exists
    if given["key"] != taint["key"]:
        return False
    return exists or "value" not in taint or given.get("value", "") == taint["value"]
