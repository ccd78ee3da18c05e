"""An engine's metrics: every name of its release's contract, the ones of serving with values.

A family that a stub cannot have (transfers, speculative decoding, other caches) is announced and
has no series, as an engine without that feature shows it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from models.facts.contract import Metric, MetricType
from sandbox.dataplane.engines.settings import EngineSettings

Family = Counter | Gauge | Histogram

disable_created_metrics()

_FIRST_TOKEN: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_BETWEEN: Final = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0),
)
_REQUEST: Final = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0),
    *(240.0, 480.0, 960.0, 1920.0, 7680.0),
)
_COUNTS: Final = tuple(step * 10.0**power for power in range(6) for step in (1, 2, 5))
_BUCKETS: Final = {
    "vllm:time_to_first_token_seconds": _FIRST_TOKEN,
    "vllm:inter_token_latency_seconds": _BETWEEN,
    "vllm:time_per_output_token_seconds": _BETWEEN,
    "vllm:request_time_per_output_token_seconds": _BETWEEN,
}


class EngineMetrics:
    """The families of one engine. A name that the release does not have is passed over."""

    def __init__(self, settings: EngineSettings) -> None:
        self._registry = CollectorRegistry()
        self._labels = {"model_name": settings.names[0], "engine": "0"}
        self._families = {
            metric.name: _family(metric, self._registry) for metric in settings.contract.metrics
        }
        configured = self._families.get("vllm:cache_config_info")
        if isinstance(configured, Gauge):
            blocks, size = str(settings.kv_blocks), str(settings.block_size)
            configured.labels(engine="0", block_size=size, num_gpu_blocks=blocks).set(1)

    def count(self, names: Sequence[str], amount: float, **labels: str) -> None:
        """Add to the counters that the release has of these names."""
        for family in self._named(names):
            if isinstance(family, Counter):
                family.labels(**self._labels, **labels).inc(amount)

    def observe(self, names: Sequence[str], value: float) -> None:
        """Observe a value in the histograms that the release has of these names."""
        for family in self._named(names):
            if isinstance(family, Histogram):
                family.labels(**self._labels).observe(value)

    def show(self, names: Sequence[str], value: Callable[[], float]) -> None:
        """Let the gauges of these names show what `value` returns when they are read."""
        for family in self._named(names):
            if isinstance(family, Gauge):
                family.labels(**self._labels).set_function(value)

    def exposition(self) -> bytes:
        """Return the text that Prometheus reads."""
        return generate_latest(self._registry)

    def _named(self, names: Sequence[str]) -> list[Family]:
        return [self._families[name] for name in names if name in self._families]


def _family(metric: Metric, registry: CollectorRegistry) -> Family:
    text = f"{metric.name} of a stub engine."
    if metric.type is MetricType.HISTOGRAM:
        buckets = _BUCKETS.get(metric.name, _REQUEST if "seconds" in metric.name else _COUNTS)
        return Histogram(metric.name, text, metric.labels, registry=registry, buckets=buckets)
    if metric.type is MetricType.COUNTER:
        return Counter(metric.name, text, metric.labels, registry=registry)
    if metric.name == "vllm:cache_config_info":
        # The engine writes its whole cache configuration into labels; these two are read by us.
        return Gauge(
            metric.name, text, (*metric.labels, "block_size", "num_gpu_blocks"), registry=registry
        )
    return Gauge(metric.name, text, metric.labels, registry=registry)
