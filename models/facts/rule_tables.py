"""What rules know of clusters and clouds: node labels, routers, injectors, IAM. Types only.

The tables are data (`catalog/rules/`); every row has its source.
"""

import re
from typing import Annotated

from pydantic import Field

from models.core.base import Model
from models.facts.sourced import SourcedFile, SourcedRow


class ProductLabel(SourcedRow):
    """A node label whose value names the card."""

    label: str


class LabelValue(SourcedRow):
    """A value of such a label that is no name of a card: which `gpu` it means."""

    value: Annotated[str, Field(pattern=r"^[a-z0-9]+$")]
    gpu: str


class MachineGpus(SourcedRow):
    """A machine type of a cloud, and its card. `counts`: the pattern's number is that of GPUs."""

    pattern: re.Pattern[str]
    gpu: str
    counts: bool
    notes: str = ""


class NodeGpus(SourcedFile):
    """`rules/node_gpus.yaml`: what labels and machine types of nodes say of their GPUs."""

    product_labels: tuple[ProductLabel, ...]
    values: tuple[LabelValue, ...]
    machines: tuple[MachineGpus, ...]

    def named(self, text: str) -> str | None:
        """Return the GPU that a label's value means, dashes and case apart, or None."""
        plain = "".join(each for each in text.lower() if each.isalnum())
        return next((row.gpu for row in self.values if row.value == plain), None)

    def machine(self, text: str) -> tuple[str, int | None] | None:
        """Return a machine type's card and how many it has (None: the name does not tell)."""
        for row in self.machines:
            match = row.pattern.match(text)
            if match is not None:
                return row.gpu, int(match[1]) if row.counts else None
        return None


class RouterSeries(SourcedRow):
    """A series that a router exports under the engine's prefix."""

    series: str


class RouterMetrics(SourcedFile):
    """`rules/router_metrics.yaml`: series of routers, and the words in an image that tell one."""

    images: tuple[str, ...]
    only_routers: tuple[RouterSeries, ...]
    routers_too: tuple[RouterSeries, ...]


class Injector(Model):
    """A key of annotations or labels, and the values that inject; none means any but "false"."""

    key: Annotated[str, Field(pattern=r"^[^A-Z]+$")]
    values: tuple[str, ...] = ()
    source: Annotated[str, Field(min_length=1)]


class Injectors(Model):
    """`rules/injectors.yaml`: what makes a webhook add a sidecar."""

    injectors: tuple[Injector, ...]
    prefixes: tuple[Injector, ...]

    def injects(self, key: str, value: str) -> bool:
        """Tell whether an annotation or label makes a webhook add a sidecar."""
        name, said = key.lower(), value.strip().lower()
        known = next((row for row in self.injectors if row.key == name), None)
        if known is not None:
            return said in known.values if known.values else said != "false"
        return said != "false" and any(name.startswith(row.key) for row in self.prefixes)


class PolicyRisk(SourcedRow):
    """One way: all of the actions are needed; `what` says what they do together."""

    what: str
    actions: Annotated[tuple[str, ...], Field(min_length=1)]


class IamRisks(SourcedFile):
    """`rules/iam_risks.yaml`: ways to more rights, and ways to data, where nothing limits them."""

    escalations: tuple[PolicyRisk, ...]
    data: tuple[PolicyRisk, ...]
