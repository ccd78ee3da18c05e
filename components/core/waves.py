"""`Waves`: what a region registers, wave after wave (docs/adr/0007-waves-are-strict.md).

A wave starts when everything of the earlier ones is ready. The numbers are those of Argo CD's
sync-wave annotation.
"""

from collections.abc import Iterable
from enum import IntEnum

import pulumi
from pulumi import ResourceOptions


class Wave(IntEnum):
    """The waves of a region."""

    CLUSTER = -4
    SECRETS = -3
    STORAGE = -2
    ACCELERATORS = -1
    ENGINES = 0
    EXPOSURE = 1
    PROOF = 2


class Waves:
    """What each wave of one region has registered so far."""

    def __init__(self, parent: pulumi.Resource, provider: pulumi.ProviderResource | None) -> None:
        """`provider` is the Kubernetes provider of the region; its resources are children."""
        self._common = ResourceOptions(parent=parent, provider=provider)
        self._registered: dict[Wave, list[pulumi.Resource]] = {}
        self._leading: dict[Wave, list[pulumi.Resource]] = {}

    def options(self, wave: Wave, after: Iterable[pulumi.Resource] = ()) -> ResourceOptions:
        """Return options for a resource of a wave: it waits for the nearest earlier wave.

        It waits for what leads its own wave too, and for `after`, resources of the same wave.
        """
        earlier = [each for each in self._registered if each < wave]
        waited = self._registered[max(earlier)] if earlier else []
        waited = [*waited, *self._leading.get(wave, []), *after]
        return ResourceOptions.merge(self._common, ResourceOptions(depends_on=waited))

    def looking(self) -> ResourceOptions:
        """Return options for what is only read, and so waits for nothing but the provider.

        The engine skips a read in a preview where anything it depends on is new
        (pulumi/pulumi#16395).
        """
        return self._common

    def lead(self, wave: Wave, *resources: pulumi.Resource) -> None:
        """Record resources that the rest of their own wave waits for: an operator, whose
        definitions the objects of the wave are made of.
        """
        self._leading.setdefault(wave, []).extend(resources)
        self.add(wave, *resources)

    def add(self, wave: Wave, *resources: pulumi.Resource) -> None:
        """Record resources of a wave, which every later wave waits for."""
        self._registered.setdefault(wave, []).extend(resources)
