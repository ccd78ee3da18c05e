"""Plans for tests of secrets and certificates: the dev stack with a source and an issuer."""

import base64
from collections.abc import Callable
from typing import Any, Final

import pulumi

from models.plan.plan import PlannedRegion
from tests.helpers.plans.dev import bare, dev_plan

HOSTNAME: Final = "models.triplane.test"

AUTHORITY: Final = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
"""What mocks answer where a region reads the certificate of its authority."""

Settings = dict[str, Any]


def secret_read(args: pulumi.runtime.MockResourceArgs) -> dict[str, Any]:
    """Return what a Secret that is read has, under mocks; nothing for any other resource."""
    if args.typ != "kubernetes:core/v1:Secret" or not args.resource_id:
        return {}
    return {"data": {"ca.crt": base64.b64encode(AUTHORITY.encode()).decode()}}


def with_source(kind: str = "kubernetes", issuer: str = "ca", **more: Any) -> Callable[..., None]:
    """Return a change of settings: a source of secrets, and who signs for the gateway."""

    def change(settings: Settings) -> None:
        bare(settings)
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
