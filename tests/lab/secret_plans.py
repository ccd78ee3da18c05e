"""Plans for tests of secrets and certificates: the dev stack with a source and an issuer."""

from collections.abc import Callable
from typing import Any, Final

from plans import dev_plan

from models.plan import PlannedRegion

HOSTNAME: Final = "models.triplane.test"

Settings = dict[str, Any]


def with_source(kind: str = "kubernetes", issuer: str = "ca", **more: Any) -> Callable[..., None]:
    """Return a change of settings: a source of secrets, and who signs for the gateway."""

    def change(settings: Settings) -> None:
        settings["gateway"] = {"hostname": HOSTNAME}
        region = settings["regions"][0]
        region["secrets"] = {"kind": kind, **more}
        region["certificates"] = {"issuer": issuer}
        if kind != "config":
            region["storage"]["objects"]["credentials"] = "secret-store"

    return change


def region_of(change: Callable[[Settings], None]) -> PlannedRegion:
    """Return the dev region's plan with its settings changed first."""
    return dev_plan(change).regions[0]
