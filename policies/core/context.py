"""What rules know beside their subject: where the objects come from, and what was agreed."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from models.core.findings import Severity

HOUSE_PREFIX: Final = "triplane-"
NODE_NAMESPACE: Final = "triplane-node"
"""The one namespace whose pods may touch the host."""


def _no_labels() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """Facts for rules, all plain.

    `pulumi`: the objects come from a Pulumi program, so options are known and names may be made
    up. `whole`: every object of what is deployed is there, so an absent one is a finding.
    `monitor_labels`: what the Prometheus operator selects by, where no object says it.
    `accept_data_loss`: objects ("Kind/namespace/name") that may be replaced in this change.
    `versions`: releases (`vllm`, `keda`) of what does not say its own. `pools`: accelerators of
    node pools by name. `environment`: of the stack, empty where it is not known. `regions`: names
    of the settings' regions.
    """

    pulumi: bool = False
    whole: bool = True
    node_namespaces: frozenset[str] = frozenset({NODE_NAMESPACE})
    monitor_labels: Mapping[str, str] = field(default_factory=_no_labels)
    accept_data_loss: frozenset[str] = frozenset()
    versions: Mapping[str, str] = field(default_factory=_no_labels)
    pools: Mapping[str, str] = field(default_factory=_no_labels)
    environment: str = ""
    regions: tuple[str, ...] = ()
    today: datetime.date = datetime.date.min


def is_house(namespace: str | None) -> bool:
    """Whether a namespace is one of this project's, where its conventions hold."""
    return namespace is not None and namespace.lower().startswith(HOUSE_PREFIX)


def strictness(namespace: str | None, context: Context) -> Severity:
    """Return how what is only likely to fail counts.

    An error where it is about to be deployed and in this project's namespaces; a warning in
    files of other people, who may have reasons.
    """
    return Severity.ERROR if context.pulumi or is_house(namespace) else Severity.WARNING
