"""Which operators a region gets, in which wave and namespace, and which definitions it relies on.

One row per chart: what is set in a chart's values is in `components/render/operators.py`, under
the same name. `operators: external` uses the same table: somebody else installed these charts, and
what is checked is that the definitions which we write objects of are served (`required`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from models.core.findings import Finding
from models.core.names import OBSERVABILITY_NAMESPACE
from models.facts.charts import Chart, chart_source
from models.plan.changes import is_storage
from models.plan.plan import PlannedPool, PlannedRegion, PlatformPlan
from models.settings.certificates import ISSUED
from models.settings.secrets import SecretsKind
from models.settings.settings import Serving
from models.settings.storage import ObjectStoreKind, VolumeBackend

Needed = Callable[[PlatformPlan, PlannedRegion], bool]


class PodSecurity(StrEnum):
    """Pod Security levels of Kubernetes, as a namespace enforces them."""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorRow:
    """One chart of the catalog: when a region needs it, and where it goes.

    `wave` is one of docs/operators.md. `lead`: the rest of its wave waits for it, since it
    writes objects of the chart's definitions. `after` are charts of the same wave that come first.
    `level` is what the chart's pods need of their namespace (reason in docs/operators.md).
    """

    chart: str
    wave: int
    namespace: str
    level: PodSecurity
    needed: Needed
    lead: bool = True
    after: tuple[str, ...] = ()

    @property
    def holds_data(self) -> bool:
        """Whether data goes with the release that no other object of ours stands for."""
        return is_storage(self.chart)

    @property
    def label(self) -> str:
        """How messages and `accept_data_loss` name the release."""
        return f"Release/{self.chart}"


def _always(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return True


def _issues(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return region.settings.certificates.issuer in ISSUED


def _reads_secrets(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return bool(region.secrets) and region.settings.secrets.kind is not SecretsKind.CONFIG


def _has_gpus(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return any(pool.accelerator is not None for pool in region.pools)


def efa_pools(region: PlannedRegion) -> tuple[PlannedPool, ...]:
    """Return the pools whose machines have EFA interfaces that the settings ask for."""
    return tuple(pool for pool in region.pools if pool.settings.efa and pool.efa_interfaces)


def _has_efa(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return bool(efa_pools(region))


def _scales(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return plan.autoscaling.provider == "keda" and any(each.autoscaled for each in region.models)


def _has_groups(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return any(each.serving is Serving.LEADER_WORKER for each in region.models)


def _has_longhorn(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return region.settings.storage.volumes is VolumeBackend.LONGHORN


def _has_minio(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return region.settings.storage.objects.kind is ObjectStoreKind.MINIO


def _on_eks(plan: PlatformPlan, region: PlannedRegion) -> bool:
    return region.eks is not None


CLUSTER_AUTOSCALER: Final = OperatorRow(
    chart="cluster-autoscaler",
    wave=-3,
    namespace="cluster-autoscaler",
    level=PodSecurity.RESTRICTED,
    needed=_on_eks,
    lead=False,
)
LOAD_BALANCER_CONTROLLER: Final = OperatorRow(
    chart="aws-load-balancer-controller",
    wave=-3,
    namespace="aws-load-balancer-controller",
    level=PodSecurity.RESTRICTED,
    needed=_on_eks,
    lead=False,
)
"""Both act on AWS: their roles are in `models/plan/aws/pod_roles.py`."""

OPERATORS: Final[tuple[OperatorRow, ...]] = (
    # First of all: every later chart and engine brings ServiceMonitors.
    OperatorRow(
        chart="kube-prometheus-stack",
        wave=-3,
        namespace=OBSERVABILITY_NAMESPACE,
        level=PodSecurity.RESTRICTED,
        needed=_always,
    ),
    OperatorRow(
        chart="cert-manager",
        wave=-3,
        namespace="cert-manager",
        level=PodSecurity.RESTRICTED,
        needed=_issues,
        after=("kube-prometheus-stack",),
    ),
    OperatorRow(
        chart="external-secrets",
        wave=-3,
        namespace="external-secrets",
        level=PodSecurity.RESTRICTED,
        needed=_reads_secrets,
        after=("kube-prometheus-stack",),
    ),
    CLUSTER_AUTOSCALER,
    LOAD_BALANCER_CONTROLLER,
    OperatorRow(
        chart="longhorn",
        wave=-2,
        namespace="longhorn-system",
        level=PodSecurity.PRIVILEGED,
        needed=_has_longhorn,
    ),
    OperatorRow(
        chart="minio-operator",
        wave=-2,
        namespace="minio-operator",
        level=PodSecurity.RESTRICTED,
        needed=_has_minio,
    ),
    OperatorRow(
        chart="gpu-operator",
        wave=-1,
        namespace="gpu-operator",
        level=PodSecurity.PRIVILEGED,
        needed=_has_gpus,
    ),
    OperatorRow(
        chart="efa-device-plugin",
        wave=-1,
        namespace="efa-device-plugin",
        level=PodSecurity.PRIVILEGED,
        needed=_has_efa,
    ),
    OperatorRow(
        chart="leader-worker-set",
        wave=-1,
        namespace="lws-system",
        level=PodSecurity.RESTRICTED,
        needed=_has_groups,
    ),
    # Beside the engines, which take longer: wave 1 waits for all of wave 0.
    OperatorRow(
        chart="keda",
        wave=0,
        namespace="keda",
        level=PodSecurity.RESTRICTED,
        needed=_scales,
        lead=False,
    ),
    OperatorRow(
        chart="ai-gateway-crds",
        wave=0,
        namespace="envoy-ai-gateway-system",
        level=PodSecurity.RESTRICTED,
        needed=_always,
        lead=False,
    ),
    OperatorRow(
        chart="envoy-gateway",
        wave=0,
        namespace="envoy-gateway-system",
        level=PodSecurity.RESTRICTED,
        needed=_always,
        lead=False,
    ),
    OperatorRow(
        chart="ai-gateway",
        wave=0,
        namespace="envoy-ai-gateway-system",
        level=PodSecurity.RESTRICTED,
        needed=_always,
        lead=False,
        # Its controller watches the definitions of both from its first second.
        after=("ai-gateway-crds", "envoy-gateway"),
    ),
)
"""Every operator that a region can get, by wave."""


def operators(plan: PlatformPlan, region: PlannedRegion) -> tuple[OperatorRow, ...]:
    """Return the operators that a region needs, whoever installs them."""
    return tuple(row for row in OPERATORS if row.needed(plan, region))


def chart_problems(
    rows: tuple[OperatorRow, ...], charts: Mapping[str, Chart], mirror: str | None
) -> list[Finding]:
    """Return a problem for every needed chart that cannot be read from anywhere."""
    problems: list[Finding] = []
    for row in rows:
        chart = charts.get(row.chart)
        if chart is None:
            problems.append(
                Finding(
                    path="catalog/charts.yaml",
                    message=f"has no chart named {row.chart!r}",
                    allowed=", ".join(sorted(charts)),
                    remedy="add the chart with its version, repository and source",
                )
            )
            continue
        try:
            chart_source(chart, mirror)
        except ValueError as error:
            problems.append(Finding(path="mirror.charts", message=str(error)))
    return problems
