"""All objects of a stack together, for rules about how they fit."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from policies.core.nodes import Node
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import Pod, pods_of

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """Every object that is deployed together.

    `notes`: what a rule finds out about the whole stack once, by the rule's own key.
    """

    manifests: tuple[Manifest, ...]
    notes: dict[str, object] = field(default_factory=dict[str, object], compare=False)

    def of_kind(self, *kinds: str) -> Iterator[Manifest]:
        """Yield the objects of these kinds, patches left out."""
        index = self.once("objects by kind", self._by_kind)
        for kind in dict.fromkeys(kind.lower() for kind in kinds):
            yield from index.get(kind, ())

    def named(self, kind: str, namespace: str | None, name: str) -> Iterator[Manifest]:
        """Yield the objects of a kind with that namespace and name, patches included."""
        index = self.once("objects by name", self._by_name)
        yield from index.get((kind.lower(), namespace, name), ())

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Return what `make` returned when it was first asked for under this key."""
        if key not in self.notes:
            self.notes[key] = make()
        return cast("T", self.notes[key])

    def _by_kind(self) -> dict[str, list[Manifest]]:
        index: dict[str, list[Manifest]] = {}
        for manifest in self.manifests:
            if not manifest.fragment:
                index.setdefault(manifest.kind.lower(), []).append(manifest)
        return index

    def _by_name(self) -> dict[tuple[str, str | None, str], list[Manifest]]:
        index: dict[tuple[str, str | None, str], list[Manifest]] = {}
        for manifest in self.manifests:
            kind = manifest.kind.lower()
            space = None if kind in _CLUSTER_WIDE else manifest.metadata["namespace"].value
            if space is None or isinstance(space, str):
                key = (kind, space, manifest.name)
                index.setdefault(key, []).append(manifest)
        return index

    def pods(self) -> Iterator[Pod]:
        """Yield every pod template."""
        for manifest in self.manifests:
            if not manifest.fragment:
                yield from pods_of(manifest)


_CLUSTER_WIDE: Final = ("clusterissuer", "clustersecretstore")
"""Kinds without a namespace that references name. While their definition is not installed, as in
the first preview of a stack that installs it, the provider gives them the namespace `default`
(pulumi-kubernetes v4.25, provider.go, Check)."""


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
