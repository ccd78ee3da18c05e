"""Platform-wide options: control plane, gateway, autoscaling, cache, observability, budgets.

Typed for the whole platform, also where the component that acts on an option comes later:
`models/settings/settings.py` refuses those by name, so that nothing is silently ignored.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from models.core.base import DnsLabel, Model
from models.settings.regions import Cluster


class Delivery(StrEnum):
    """Who applies the manifests: this program, or Argo CD from a repository."""

    DIRECT = "direct"
    GITOPS = "gitops"


class Control(Model):
    """The control cluster (Argo CD, fleet dashboards) and how manifests are delivered."""

    delivery: Delivery = Delivery.DIRECT
    cluster: Cluster | None = None
    repository: str | None = None


class Operators(StrEnum):
    """Who installs the operators that our custom resources need.

    `HANDOVER` is the step from the first to the last: the stack still installs them, and leaves
    them where they are once it no longer names them.
    """

    MANAGED = "managed"
    HANDOVER = "handover"
    EXTERNAL = "external"

    @property
    def installed(self) -> bool:
        """Whether the stack installs them."""
        return self is not Operators.EXTERNAL


_REGISTRY: Final = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d+)?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)*$"
_CHARTS: Final = (
    r"^((https|oci)://[^\s/@]+(/\S*)?|file:///\S+"
    r"|http://(127\.0\.0\.1|localhost)(:\d+)?(/\S*)?)$"
)


class Mirror(Model):
    """Where an air-gapped region reads images and charts from; None reads upstream's own places.

    `registry` replaces the host of every image, the path stays: quay.io/jetstack/x becomes
    `<registry>/jetstack/x`, and the official images of Docker Hub stay below `library/`. `charts`
    holds every chart under upstream's name: a Helm repository (https://), an OCI folder (oci://),
    or a directory of packed charts on the machine that runs the update (file://). docs/operators.md
    says what a registry mirror covers.
    """

    registry: Annotated[str, Field(pattern=_REGISTRY)] | None = None
    charts: Annotated[str, Field(pattern=_CHARTS)] | None = None
    """Plain http is taken from this machine only: a chart is code that runs in the cluster."""


class AutoscalingOptions(Model):
    """How engines scale. Thresholds are per replica (waiting requests) and a ratio (KV cache).

    Scaling down waits `scale_down_stabilization_sec`, since a replica takes minutes to load.
    """

    provider: Literal["keda", "hpa"] = "keda"
    prometheus_url: str = "http://prometheus-operated.triplane-observability.svc.cluster.local:9090"
    waiting_requests_per_replica: PositiveInt = 5
    kv_cache_usage: Annotated[float, Field(gt=0, lt=1)] = 0.85
    polling_interval_sec: PositiveInt = 15
    scale_down_stabilization_sec: Annotated[int, Field(ge=0, le=3600)] = 600


class CacheOptions(Model):
    """KV cache beyond the GPU: tiers of LMCache. Sizes in GiB."""

    cpu_gib: NonNegativeFloat = 0
    disk_gib: NonNegativeFloat = 0
    remote_url: str | None = None
    persistence: bool = False


class Observability(Model):
    """Prometheus and Grafana.

    `monitor_labels` are put on every ServiceMonitor and rule: the Prometheus operator selects by
    them. `grafana_url` is where an installed Grafana answers.
    """

    scrape_interval_sec: PositiveInt = 10
    monitor_labels: dict[str, str] = Field(
        default_factory=lambda: {"release": "triplane-monitoring"}
    )
    grafana_url: str | None = None
    dashboards: bool = False


class Alerting(Model):
    """Where alerts go; receivers' keys are Secrets."""

    slack_secret: DnsLabel | None = None
    pagerduty_secret: DnsLabel | None = None


class Budgets(Model):
    """Bounds that a preview may not exceed at the autoscaling maximum."""

    usd_per_hour: PositiveFloat | None = None
    usd_per_hour_per_region: dict[str, PositiveFloat] = Field(default_factory=dict)
    gpus_per_region: dict[str, PositiveInt] = Field(default_factory=dict)


class Range(Model):
    """Replicas between which an autoscaler moves."""

    min: Annotated[int, Field(ge=0)]
    max: PositiveInt

    @model_validator(mode="after")
    def minimum_is_not_above_maximum(self) -> Self:
        """An autoscaler cannot satisfy min > max."""
        if self.min > self.max:
            message = f"min {self.min} is above max {self.max}; lower min or raise max"
            raise ValueError(message)
        return self


class Rollout(Model):
    """How long an update waits for workloads.

    `wait_max_sec` bounds the wait for one engine (seconds); None waits as long as its weights may
    take to load.
    """

    wait_max_sec: PositiveInt | None = None
