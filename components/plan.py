"""`Plan`: the whole plan as plain inputs, registered before anything else.

Stack policies see nothing of a first preview whose provider is not configured yet, so the proofs
about capacity, cost and names are recomputed by a resource rule from this component's inputs.
"""

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions

from models.plan.plan import PlatformPlan
from models.plan.summary.stack import plan_inputs


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanArgs:
    """The plan to publish."""

    plan: PlatformPlan


class Plan(pulumi.ComponentResource):
    """A component without children; its inputs are the plan (docs/outputs.md)."""

    def __init__(self, name: str, args: PlanArgs, opts: ResourceOptions | None = None) -> None:
        """Register the plan's plain values."""
        super().__init__("triplane:plan:Plan", name, dict(plan_inputs(args.plan)), opts)
        self.register_outputs({"catalogRevision": args.plan.catalog_revision})
