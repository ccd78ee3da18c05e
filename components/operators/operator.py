"""`Operator`: one operator of the cluster, installed from its pinned Helm chart.

A Release, not the objects of the chart: charts bring hooks and definitions of their own, and Helm
is how upstream tests them. Policies look at the values (docs/operators.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi
from pulumi import CustomTimeouts, ResourceOptions
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from components.core.guard import guarded
from models.facts.charts import Chart, chart_source
from models.settings.options import Mirror

READY_TIMEOUT_SEC: Final = 900
"""How long a release may take until everything of it is ready: images are pulled on every node."""

_HISTORY: Final = 5
"""Revisions kept for a rollback; each is a Secret of up to 1 MiB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorArgs:
    """The pinned chart, the namespace (it exists), the values that we set, and where charts are.

    The release is called `chart.name`: other objects refer to it and to what it makes by that name.
    `left`: once the program no longer names the release, it stays in the cluster. `protect`: the
    engine refuses to remove it.
    """

    chart: Chart
    namespace: str
    values: Mapping[str, Any]
    mirror: Mirror = field(default_factory=Mirror)
    timeout_sec: int = READY_TIMEOUT_SEC
    left: bool = False
    protect: bool = False


class Operator(pulumi.ComponentResource):
    """One Helm release that is waited for."""

    release: Release

    def __init__(self, name: str, args: OperatorArgs, opts: ResourceOptions | None = None) -> None:
        """Register the release. Raises `ValueError` for a chart whose repository has no source."""
        super().__init__("triplane:operators:Operator", name, None, opts)
        source = chart_source(args.chart, args.mirror.charts)
        wait = f"{args.timeout_sec}s"
        self.release = Release(
            f"{name}-release",
            name=args.chart.name,
            chart=source.chart,
            version=args.chart.version,
            repository_opts=None
            if source.repository is None
            else RepositoryOptsArgs(repo=source.repository),
            namespace=args.namespace,
            create_namespace=False,
            values=dict(args.values),
            skip_await=False,
            wait_for_jobs=True,
            timeout=args.timeout_sec,
            # A release that fails stays as it is, so that its pods can be asked why; the next
            # update goes on from there.
            atomic=False,
            cleanup_on_fail=True,
            max_history=_HISTORY,
            opts=ResourceOptions(
                parent=self,
                custom_timeouts=CustomTimeouts(create=wait, update=wait, delete=wait),
                retain_on_delete=args.left,
                protect=args.protect,
                # Some charts upgrade one minor release at a time, and their data with them.
                hooks=guarded(name, f"Release/{args.chart.name}", ()),
            ),
        )
        self.register_outputs({"release": args.chart.name, "version": args.chart.version})
