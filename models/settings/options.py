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
    """Who applies the manifests: this program, or Argo CD (`gitops`, which comes later)."""
    cluster: Cluster | None = None
    """The control cluster."""
    repository: str | None = None
    """The repository that Argo CD reads."""


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
    """Where an air-gapped region reads images and charts from, in place of upstream's own places.

    The path of an image stays: quay.io/jetstack/x becomes `<registry>/jetstack/x`, and the
    official images of Docker Hub stay below `library/`. docs/operators.md says what a registry
    mirror covers.
    """

    registry: Annotated[str, Field(pattern=_REGISTRY)] | None = None
    """Replaces the host of every image."""
    charts: Annotated[str, Field(pattern=_CHARTS)] | None = None
    """Holds every chart under upstream's name: a Helm repository (`https://`), an OCI folder
    (`oci://`), or a directory of packed charts on the machine that runs the update (`file:///`).
    Plain http is taken from this machine only: a chart is code that runs in the cluster."""


class AutoscalingOptions(Model):
    """How engines scale. Thresholds are per replica."""

    provider: Literal["keda", "hpa"] = "keda"
    """What scales them; `hpa` comes later."""
    prometheus_url: str = "http://prometheus-operated.triplane-observability.svc.cluster.local:9090"
    """Where the autoscaler asks for metrics."""
    waiting_requests_per_replica: PositiveInt = 5
    """Waiting requests of a replica above which replicas are added."""
    kv_cache_usage: Annotated[float, Field(gt=0, lt=1)] = 0.85
    """Share of the KV cache in use above which replicas are added."""
    polling_interval_sec: PositiveInt = 15
    """How often the metrics are asked (seconds)."""
    scale_down_stabilization_sec: Annotated[int, Field(ge=0, le=3600)] = 600
    """How long scaling down waits (seconds), since a replica takes minutes to load."""


class CacheOptions(Model):
    """KV cache beyond the GPU: tiers of LMCache."""

    cpu_gib: NonNegativeFloat = 0
    """Host memory (GiB)."""
    disk_gib: NonNegativeFloat = 0
    """Local disk (GiB)."""
    remote_url: str | None = None
    """A store that replicas share."""
    persistence: bool = False
    """Keeps the cache on a volume; the volume can be made (docs/storage.md), what writes to it
    comes with the tiers."""


class Observability(Model):
    """Prometheus and Grafana."""

    scrape_interval_sec: PositiveInt = 10
    """How often engines are scraped (seconds)."""
    monitor_labels: dict[str, str] = Field(
        default_factory=lambda: {"release": "triplane-monitoring"}
    )
    """Labels on every ServiceMonitor and rule, by which your Prometheus operator selects them."""
    grafana_url: str | None = None
    """Where an installed Grafana answers."""
    dashboards: bool = False
    """Whether dashboards are made."""


class Alerting(Model):
    """Where alerts go; receivers' keys are Secrets."""

    slack_secret: DnsLabel | None = None
    """The Secret with the key of a Slack receiver."""
    pagerduty_secret: DnsLabel | None = None
    """The Secret with the key of a PagerDuty receiver."""


class Budgets(Model):
    """Bounds that a preview may not exceed at the autoscaling maximum.

    An unknown price does not pass; in prod every pool has a price, with or without a bound.
    """

    usd_per_hour: PositiveFloat | None = None
    """Of the whole stack."""
    usd_per_hour_per_region: dict[str, PositiveFloat] = Field(default_factory=dict)
    """By region name."""
    gpus_per_region: dict[str, PositiveInt] = Field(default_factory=dict)
    """GPUs, by region name."""


class Range(Model):
    """Replicas between which an autoscaler moves."""

    min: Annotated[int, Field(ge=0)]
    """The fewest replicas, at least 1 for a model (scaling to zero comes later)."""
    max: PositiveInt
    """The most replicas."""

    @model_validator(mode="after")
    def minimum_is_not_above_maximum(self) -> Self:
        """An autoscaler cannot satisfy min > max."""
        if self.min > self.max:
            message = f"min {self.min} is above max {self.max}; lower min or raise max"
            raise ValueError(message)
        return self


class Rollout(Model):
    """How long an update waits for workloads."""

    wait_max_sec: PositiveInt | None = None
    """Bounds the wait for one engine (seconds); without it as long as its weights may take to load.
    """
