"""The `Plan` component's plain inputs, as a preview shows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policies.core.nodes import Node

PLAN_TYPE: Final = "triplane:plan:Plan"


@dataclass(frozen=True, slots=True)
class PlanView:
    """The component's inputs."""

    body: Node

    @property
    def label(self) -> str:
        """What messages call it where no model or pool is meant."""
        return "plan"

    def pools(self, region: str) -> dict[str, Node]:
        """Return a region's pools by name."""
        return {
            pool["name"].text() or "": pool
            for node in self.body["regions"].items()
            if node["name"].text() == region
            for pool in node["pools"].items()
        }

    def models(self, region: str | None = None) -> Iterator[Node]:
        """Yield models, of one region or of all."""
        for model in self.body["models"].items():
            if region is None or model["region"].text() == region:
                yield model
