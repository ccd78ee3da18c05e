"""The controllers that run for real, and when they do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.controllers import rights


@dataclass(frozen=True, kw_only=True, slots=True)
class Controller:
    """One controller: `name` is its tool's, its process's and its service account's.

    It runs where the CRD set `definitions` is loaded. `namespace` is where it would be installed:
    other objects are looked for there, so that it must exist. `flags` come after the common ones.
    """

    name: str
    definitions: str
    namespace: str
    rights: tuple[Object, ...]
    flags: tuple[str, ...] = ()
    reads_aws: bool = False


CONTROLLERS: Final[tuple[Controller, ...]] = (
    Controller(
        name="cert-manager",
        definitions="cert-manager",
        namespace="cert-manager",
        rights=rights.CERT_MANAGER,
        flags=("--cluster-resource-namespace=cert-manager",),
    ),
    Controller(
        name="external-secrets",
        definitions="external-secrets",
        namespace="external-secrets",
        rights=rights.EXTERNAL_SECRETS,
        reads_aws=True,
    ),
)

NAMES: Final = tuple(controller.name for controller in CONTROLLERS)


def wanted(crd_sets: Iterable[str]) -> tuple[Controller, ...]:
    """Return the controllers whose definitions are among the sets."""
    loaded = set(crd_sets)
    return tuple(each for each in CONTROLLERS if each.definitions in loaded)
