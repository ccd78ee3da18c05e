"""`Platform`: the plan, then one `Region` per region, then the outputs that clients read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi import Input, Output, ResourceOptions

from components.core.suspension import suspend
from components.plan import Plan, PlanArgs
from components.region import Region, RegionArgs
from models.plan.plan import PlatformPlan
from models.plan.summary.stack import (
    bill_inputs,
    capacity_outputs,
    cost_inputs,
    model_outputs,
    totals_inputs,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionSecrets:
    """What a region needs that is secret; None where it is not needed."""

    kubeconfig: Input[str] | None = None
    object_store: Mapping[str, Input[str]] | None = None
    values: Mapping[str, Output[Mapping[str, str]]] | None = None
    """What secret stack settings hold, by the name of the secret."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformArgs:
    """The plan and its secrets by region. `render_to` writes manifests below that directory."""

    plan: PlatformPlan
    secrets: Mapping[str, RegionSecrets]
    seed_program: Mapping[str, str]
    render_to: str | None = None


_OF_ALL_REGIONS: Final = ("environment", "catalogRevision", "totals", "bill")


class Platform(pulumi.ComponentResource):
    """Everything of one stack. `outputs` is the contract with clients (docs/outputs.md)."""

    outputs: Mapping[str, object]

    def __init__(self, name: str, args: PlatformArgs, opts: ResourceOptions | None = None) -> None:
        """Register the plan first: policies read it before anything else exists."""
        super().__init__("triplane:platform:Platform", name, None, opts)
        plan = Plan(f"{name}-plan", PlanArgs(plan=args.plan), ResourceOptions(parent=self))
        regions: dict[str, object] = {}
        for planned in args.plan.regions:
            secrets = args.secrets[planned.name]
            render_to = None if args.render_to is None else f"{args.render_to}/{planned.name}"
            region = Region(
                f"{name}-{planned.name}",
                RegionArgs(
                    plan=args.plan,
                    region=planned,
                    seed_program=args.seed_program,
                    kubeconfig=secrets.kubeconfig,
                    credentials=secrets.object_store,
                    secret_values=secrets.values,
                    render_to=render_to,
                ),
                ResourceOptions(
                    parent=self,
                    # Nothing of a region may be looked at before the plan is.
                    depends_on=[plan],
                    transformations=[suspend] if planned.settings.suspended else None,
                ),
            )
            regions[planned.name] = {
                "gatewayUrl": region.gateway_url,
                "gatewayCa": region.gateway_ca,
                "clientKeys": planned.gateway.has_keys,
                "maxBodyMib": planned.gateway.max_body_mib,
                "grafanaUrl": args.plan.observability.grafana_url,
                "kubeconfig": region.kubeconfig,
                "suspended": planned.settings.suspended,
                "cost": dict(cost_inputs(planned)),
                "capacity": dict(capacity_outputs(planned)),
                "models": [
                    {**facts, "endpoint": Output.concat(region.gateway_url, "/v1")}
                    for facts in model_outputs(planned)
                ],
            }
        self.outputs = {
            "environment": args.plan.environment.value,
            "catalogRevision": args.plan.catalog_revision,
            "regions": regions,
            "totals": dict(totals_inputs(args.plan)),
            "bill": dict(bill_inputs()),
        }
        # What is of one region stands at the region; the whole is exported by the program.
        self.register_outputs({key: self.outputs[key] for key in _OF_ALL_REGIONS})
