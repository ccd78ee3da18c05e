"""All objects of a stack together, for rules about how they fit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.manifest import Manifest
from policies.nodes import Node
from policies.workload import Pod, pods_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """Every object that is deployed together."""

    manifests: tuple[Manifest, ...]

    def of_kind(self, *kinds: str) -> Iterator[Manifest]:
        """Yield the objects of these kinds, patches left out."""
        for manifest in self.manifests:
            if manifest.is_kind(*kinds) and not manifest.fragment:
                yield manifest

    def pods(self) -> Iterator[Pod]:
        """Yield every pod template."""
        for manifest in self.manifests:
            if not manifest.fragment:
                yield from pods_of(manifest)


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """One object among the others of its stack."""

    manifest: Manifest
    stack: Stack

    @property
    def label(self) -> str:
        """The object's label."""
        return self.manifest.label


def selects(selector: Node, labels: Mapping[str, str]) -> bool:
    """Whether a label selector (matchLabels and matchExpressions) takes these labels."""
    for key, value in selector["matchLabels"].strings().items():
        if labels.get(key) != value:
            return False
    return all(_expression(node, labels) for node in selector["matchExpressions"].items())


def _expression(node: Node, labels: Mapping[str, str]) -> bool:
    key, operator = node["key"].text() or "", node["operator"].text()
    has = key in labels
    values = node["values"].words()
    if operator == "In":
        return has and labels[key] in values
    if operator == "NotIn":
        return not has or labels[key] not in values
    return has if operator == "Exists" else not has
