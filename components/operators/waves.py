"""`WaveOperators`: the operators of one wave of a region, with their namespaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace

from components.operators.operator import Operator, OperatorArgs
from components.render.cluster.namespaces import security_labels
from components.render.common import metadata
from components.render.operators import VALUES
from models.plan.operators import OperatorRow
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.options import Operators


@dataclass(frozen=True, kw_only=True, slots=True)
class WaveOperatorsArgs:
    """The rows of `models/plan/operators.py` to install, and what their values are made from."""

    plan: PlatformPlan
    region: PlannedRegion
    rows: Sequence[OperatorRow]


class WaveOperators(pulumi.ComponentResource):
    """Helm releases side by side; one waits for another only where its row says so."""

    releases: Mapping[str, Operator]

    def __init__(
        self, name: str, args: WaveOperatorsArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register namespaces, then the charts in the order of the rows."""
        super().__init__("triplane:operators:WaveOperators", name, None, opts)
        left = args.plan.operators is Operators.HANDOVER
        spaces = {
            row.namespace: Namespace(
                f"{name}-{row.namespace}",
                metadata=metadata(row.namespace, labels=security_labels(row.level)),
                opts=ResourceOptions(parent=self, retain_on_delete=left),
            )
            for row in {row.namespace: row for row in args.rows}.values()
        }
        done: dict[str, Operator] = {}
        for row in args.rows:
            done[row.chart] = Operator(
                f"{name}-{row.chart}",
                OperatorArgs(
                    chart=args.plan.charts[row.chart],
                    namespace=row.namespace,
                    values=VALUES[row.chart](args.plan, args.region),
                    mirror=args.plan.mirror,
                    left=left,
                    # What is left needs no protection, which would refuse to leave it.
                    protect=not left
                    and row.holds_data
                    and row.label not in args.plan.accept_data_loss,
                ),
                ResourceOptions(
                    parent=self,
                    depends_on=[
                        spaces[row.namespace],
                        *(done[chart] for chart in row.after if chart in done),
                    ],
                ),
            )
        self.releases = done
        versions = {row.chart: args.plan.charts[row.chart].version for row in args.rows}
        self.register_outputs({"versions": versions})
