"""Which GPUs a pod is sent to, by its node labels, its annotation or its pool's name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catalog.readers.tables import node_gpus
from policies.core import knowledge
from policies.core.context import Context
from policies.core.nodes import Node, UnknownFieldError
from policies.views.kubernetes.workload import Container, Pod

if TYPE_CHECKING:
    from models.memory import Card

ACCELERATOR_ANNOTATION: Final = "triplane.dev/accelerator"
"""The catalog's name of the card that a pod was planned for."""

_GPU: Final = "nvidia.com/gpu"
_MIG: Final = "nvidia.com/mig-"
_POOL_LABEL: Final = "triplane.dev/pool"
_INSTANCE_LABELS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_NOT_WHOLE: Final = re.compile(r"-MIG-|-SHARED$|vgpu", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CardPlacement:
    """The cards that a pod may run on (`cards`, by what says so), and its nodes' GPUs if known.

    `sure` is False where only a pool's name hints at the card.
    """

    cards: "tuple[Card, ...]" = ()
    said: str = ""
    node_gpus: int | None = None
    sure: bool = True


def placement(container: Container, context: Context) -> CardPlacement:
    """Return the cards that a container's pod may run on; none where nothing says so."""
    pod = container.pod
    sliced = [name for name in container.accelerators() if name.startswith(_MIG)]
    if any(not name.startswith((_GPU, _MIG)) for name in container.accelerators()):
        return CardPlacement()
    try:
        selected = dict(_selected(pod))
    except UnknownFieldError:
        return CardPlacement()
    annotation = {**pod.manifest.annotations(), **pod.annotations()}.get(ACCELERATOR_ANNOTATION)
    if annotation:
        return _of_texts((annotation,), annotation, None)
    if sliced:
        # The product's label names the whole card there, and the slice has another memory.
        return CardPlacement()
    for label in _INSTANCE_LABELS:
        if label in selected:
            found = _of_instances(selected[label])
            if found.cards:
                return found
    for label in (row.label for row in node_gpus().product_labels):
        if label in selected:
            return _of_texts(selected[label], f"{label}={'|'.join(selected[label])}", None)
    return _of_pool(selected.get(_POOL_LABEL, ()), context)


def _of_pool(pool: tuple[str, ...], context: Context) -> CardPlacement:
    """Return what the settings say of a pool, else what its name hints at."""
    planned = tuple(context.pools[name] for name in pool if name in context.pools)
    if pool and len(planned) == len(pool):
        return _of_texts(planned, f"the pool {pool[0]!r}", None)
    hinted = _of_texts(pool[:1], f"the pool {pool[0]!r}" if pool else "", None)
    return CardPlacement(cards=hinted.cards, said=hinted.said, sure=False)


def _selected(pod: Pod) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield node labels that the pod requires, with the values that they may have."""
    required = pod.spec.at(
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = list(required["nodeSelectorTerms"].items())
    if len(terms) == 1:
        for expression in terms[0]["matchExpressions"].items():
            if expression["operator"].text() == "In":
                yield expression["key"].text() or "", tuple(expression["values"].words())
    for key, node in pod.spec["nodeSelector"].pairs():
        yield key, (_value(node),)


def _value(node: Node) -> str:
    return node.text() or ""


def _of_texts(texts: tuple[str, ...], said: str, gpus: int | None) -> CardPlacement:
    cards: list[Card] = []
    for text in texts:
        part = _slice(text)
        if part is not None:
            cards.append(part)
            continue
        if _NOT_WHOLE.search(text):
            return CardPlacement()
        name = node_gpus().named(text) or text.replace("_", " ")
        known = knowledge.cards().find(name, None)
        if known.card is None or known.card.capability == (0, 0) or known.notes:
            return CardPlacement()
        cards.append(known.card)
    return CardPlacement(cards=tuple(cards), said=said, node_gpus=gpus)


def _slice(text: str) -> "Card | None":
    """Return a MIG slice that the catalog describes, by our name or by its product label."""
    from models.memory import Card

    found = knowledge.catalog().accelerator_of(text) if "-mig-" in text.lower() else None
    if found is None:
        return None
    return Card(memory_gib=found.memory_gib, capability=found.capability, product=found.product)


def _of_instances(types: tuple[str, ...]) -> CardPlacement:
    cards: list[Card] = []
    gpus: list[int] = []
    for text in types:
        name, count = _instance(text)
        if not name:
            return CardPlacement()
        found = _of_texts((name,), text, None)
        cards += found.cards
        gpus.append(count or 0)
    most = max(gpus) if gpus and all(gpus) else None
    return CardPlacement(cards=tuple(cards), said="|".join(types), node_gpus=most)


def _instance(text: str) -> tuple[str, int | None]:
    for accelerator in knowledge.catalog().accelerators.values():
        for machine in accelerator.instance_types:
            if machine.name == text:
                return accelerator.name, machine.gpus
    return node_gpus().machine(text) or ("", None)
