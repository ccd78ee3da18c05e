"""ScaledObjects that scale when they should and never when they should not."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context, strictness
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.promql import query as promql

_SAFE_FALLBACKS: Final = ("currentreplicas", "currentreplicasifhigher")
_ENGINE_METRIC: Final = re.compile(r"^(kserve_)?vllm:")


def _is_scaled(manifest: Manifest) -> bool:
    return manifest.is_kind("ScaledObject")


def _prometheus(manifest: Manifest) -> Iterator[Node]:
    for trigger in manifest.spec["triggers"].items():
        if (trigger["type"].text() or "").lower() == "prometheus":
            yield trigger


def minimum(manifest: Manifest) -> int:
    """Return the replicas that KEDA goes down to; its default is 0."""
    idle = manifest.spec["idleReplicaCount"]
    floor = manifest.spec["minReplicaCount"].integer(0)
    return min(floor, idle.integer()) if idle.present else floor


def _maximum(manifest: Manifest) -> int:
    return manifest.spec["maxReplicaCount"].integer(100)


@rule(
    "k8s-scaledobject-hold-on-missing-data",
    "No autoscaler takes missing metrics for an idle engine.",
    remedy='set ignoreNullValues: "false" on the trigger and spec.fallback with behavior '
    "currentReplicasIfHigher",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling",),
    house=True,
)
def hold_on_missing_data(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KEDA-03: an empty answer counts as zero unless told otherwise, and Prometheus restarts."""
    if not _is_scaled(manifest):
        return
    triggers = list(_prometheus(manifest))
    for trigger in triggers:
        query = trigger.at("metadata", "query").text() or ""
        from_zero = minimum(manifest) == 0 and re.search(r"\bor\s+vector\(0\)\s*\)*\s*$", query)
        ignores = trigger.at("metadata", "ignoreNullValues")
        if ignores.flag() is not False and not from_zero:
            said = "the default" if not ignores.present else "on"
            yield Finding(ignores.path, f"ignoreNullValues is {said}: no data scales down")
    if triggers:
        yield from _fallback(manifest)


def _fallback(manifest: Manifest) -> Iterator[Finding]:
    fallback = manifest.spec["fallback"]
    if not fallback.present:
        yield Finding(fallback.path, "there is no fallback for when Prometheus does not answer")
        return
    if (fallback["behavior"].text() or "static").lower() in _SAFE_FALLBACKS:
        return
    replicas = fallback["replicas"].integer()
    if replicas < _maximum(manifest):
        yield Finding(
            fallback.path,
            f"the fallback sets {replicas} replicas whatever the load: fewer than may be running",
            remedy="add behavior: currentReplicasIfHigher, or set replicas to the maximum",
        )


@rule(
    "k8s-scaledobject-return-one-series",
    "Every trigger's query returns one series.",
    remedy="aggregate over the pods: sum(...), avg(...) or max(...), without by or without",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling", "metrics"),
)
def return_one_series(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KEDA-08: from the second replica on the query fails, so scaling stops where it matters."""
    if not _is_scaled(manifest) or _maximum(manifest) <= 1:
        return
    for trigger in _prometheus(manifest):
        node = trigger.at("metadata", "query")
        query = node.text() or ""
        fault = promql.fault(query)
        if fault is not None:
            yield Finding(
                node.path,
                f"Prometheus refuses the query: {fault}",
                remedy="write it as PromQL; `promtool query instant` tries it",
            )
        elif not promql.shape(query).single:
            yield Finding(node.path, "the query returns one series per pod")


@rule(
    "k8s-scaledobject-match-metric-type",
    "Every trigger's metric type fits its query.",
    remedy="metricType: Value for averages, maxima and ratios; AverageValue (the default) for sums",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling", "metrics"),
)
def match_metric_type(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KEDA-09: AverageValue divides by the replicas, so 0.95 on two of them reads 0.475."""
    if not _is_scaled(manifest) or _maximum(manifest) <= 1:
        return
    types: set[str] = set()
    for trigger in _prometheus(manifest):
        metric_type = trigger["metricType"].text() or "AverageValue"
        types.add(metric_type)
        grows = promql.shape(trigger.at("metadata", "query").text() or "").grows
        if grows is False and metric_type == "AverageValue":
            yield Finding(
                trigger.path,
                "the query is an average or a ratio, and AverageValue divides it by the replicas",
            )
        elif grows is True and metric_type == "Value":
            yield Finding(
                trigger.path,
                "the query is a sum over pods, and Value compares it undivided",
                strictness(manifest.namespace, context),
            )
    if len(types) > 1 and manifest.spec["fallback"].present:
        yield Finding(
            "spec.triggers",
            "triggers of Value and AverageValue type share one fallback, whose condition differs",
            Severity.WARNING,
            remedy="give all triggers one type",
        )


@rule(
    "k8s-scaledobject-pace-scale-down",
    "Every autoscaler says how fast it scales down.",
    remedy="set advanced.horizontalPodAutoscalerConfig.behavior.scaleDown (a stabilization window "
    "of minutes and one pod at a time)",
    weight=RuleWeight.MEDIUM,
    tags=("autoscaling",),
    house=True,
)
def pace_scale_down(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KEDA-05: between N and 1 only the HPA's behavior counts, never the cool-down."""
    if not _is_scaled(manifest):
        return
    behavior = manifest.spec.at("advanced", "horizontalPodAutoscalerConfig", "behavior")
    if minimum(manifest) >= 1 and not behavior["scaleDown"].present:
        yield Finding(behavior.path, "nothing says how fast replicas go away")
    cooldown = manifest.spec["cooldownPeriod"]
    if minimum(manifest) >= 1 and cooldown.present:
        yield Finding(
            cooldown.path,
            "cooldownPeriod has no effect, since the minimum is not 0",
            Severity.WARNING,
            remedy="remove it and set behavior.scaleDown",
        )


@rule(
    "k8s-scaledobject-wake-from-zero",
    "No autoscaler waits at zero for metrics of pods that do not exist.",
    remedy="set minReplicaCount to 1, or add a trigger on the gateway's or router's own metric",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling",),
)
def wake_from_zero(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KEDA-07: at zero replicas nobody exports the queue that should wake one up."""
    if not _is_scaled(manifest) or minimum(manifest) > 0:
        return
    triggers = list(manifest.spec["triggers"].items())
    if triggers and all(_is_of_engine(trigger) for trigger in triggers):
        floor = manifest.spec["minReplicaCount"]
        said = "is 0" if floor.present else "is not given, so 0"
        yield Finding(floor.path, f"minReplicaCount {said}, and every trigger reads the engine")


def _is_of_engine(trigger: Node) -> bool:
    kind = (trigger["type"].text() or "").lower()
    if kind in ("cpu", "memory"):
        return True
    if kind != "prometheus":
        return False
    names = promql.metrics(trigger.at("metadata", "query").text() or "")
    return bool(names) and all(_ENGINE_METRIC.match(name) for name in names)
