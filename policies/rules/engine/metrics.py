"""Names of metrics in rules, dashboards and triggers: those that the pinned engine exports."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from catalog.readers.tables import router_metrics
from models.core import releases
from models.core.findings import Finding, Severity
from models.facts.contract import EngineContract, Metric
from policies.core import knowledge
from policies.core.context import Context
from policies.core.nodes import UnknownFieldError, UnreadableFieldError
from policies.core.rule import RuleWeight, rule
from policies.views.engine.release import Release, of_version, release
from policies.views.kubernetes.stack import Placed, Stack
from policies.views.promql.series import (
    Query,
    Series,
    arguments,
    grouping_labels,
    queries,
    recorded,
    series_of,
    target_labels,
)

_OF_THE_REWRITE: Final = frozenset(
    {"vllm:kv_cache_usage_perc", "vllm:prefix_cache_hits", "vllm:prefix_cache_queries"}
)
"""Series of the second engine only; before it, gpu_cache_usage_perc and hit-rate gauges."""

_WRONG_LABELS: Final = frozenset({"model", "model_id", "modelname", "served_model_name"})
_ALIKE: Final = 0.85
_MEANT_ALIKE: Final = 0.75


@rule(
    "k8s-query-name-known-series",
    "Every query names series that the engine's release exports.",
    remedy="write the series that the release exports (docs/check.md)",
    weight=RuleWeight.CRITICAL,
    tags=("metrics",),
    fragments=True,
)
def name_known_series(placed: Placed, context: Context) -> Iterator[Finding]:
    """VLLM-12, KEDA-10, FB-01: a series that nobody exports reads as nothing, or as zero."""
    manifest = placed.manifest
    found = [*queries(manifest), *arguments(manifest)]
    if not found:
        return
    judge = _judge(placed.stack, context)
    routed = any(judge.is_routers(each.name) for query in found for each in series_of(query.text))
    said: set[tuple[str, str]] = set()
    for query in found:
        for series in series_of(query.text):
            for breach in judge.judge(series, query, routed=routed):
                if (breach.path, breach.message) not in said:
                    said.add((breach.path, breach.message))
                    yield breach


def _judge(stack: Stack, context: Context) -> "_Judge":
    return stack.once("exported series", lambda: _Judge(stack, context))


class _Judge:
    """What the stack exports: its engines, its recording rules, its routers."""

    def __init__(self, stack: Stack, context: Context) -> None:
        self.releases, self.pinned = _releases(stack, context)
        contracts = {each.version: each for known in self.releases for each in known.contracts}
        self.contracts = sorted(contracts.values(), key=lambda each: releases.numbers(each.version))
        self.defined = {name for each in stack.manifests for name in recorded(each)}
        self.labels = {label for each in stack.manifests for label in target_labels(each)}
        self.routed = any(_is_router(stack))
        routers = router_metrics()
        self._only_routers = {row.series for row in routers.only_routers}
        self._routers_too = {row.series for row in routers.routers_too}

    def is_routers(self, name: str) -> bool:
        """Tell whether a series is a router's alone."""
        return name in self._only_routers

    def judge(self, series: Series, query: Query, *, routed: bool) -> Iterator[Finding]:
        """Yield what is wrong with one series of a query; `routed`: a router's are beside it."""
        name = series.name
        if name in self.defined or name in self._only_routers:
            return
        if name in self._routers_too and (
            routed or self.routed or _has_label(series, query, "server")
        ):
            return
        metric = next((m for c in self.contracts if (m := _metric(c, name)) is not None), None)
        if self._too_new(name):
            releases = " or ".join(each.text for each in self.releases)
            message = f"vLLM {releases} exports no series {name} yet"
            yield Finding(query.path, message, remedy="use the older name, or a newer release")
        elif metric is not None:
            yield from self._labels(metric, series, query)
        elif not self._first_engine(name):
            yield from self._absent(name, query)

    def _too_new(self, name: str) -> bool:
        """Whether all engines are older than the rewrite, which brought the series."""
        old = all(each.beyond < 0 and _is_old(each.text) for each in self.releases)
        return old and _base(name) in _OF_THE_REWRITE

    def _first_engine(self, name: str) -> bool:
        """Whether an engine older than all contracts may export what the first of them lacks."""
        if not any(each.beyond < 0 for each in self.releases) or self._since(name):
            return False
        gone = next((r for r in self.contracts[0].removed_metrics if r.name == _base(name)), None)
        return gone is not None and gone.gone_in is not None

    def _absent(self, name: str, query: Query) -> Iterator[Finding]:
        newest = self.contracts[-1]
        meant = newest.series_meant(name)
        if name.startswith("vllm_") and (query.alias or not _resembles(meant, name)):
            return
        if meant is None:
            known = [series for metric in newest.metrics for series in metric.exposed]
            near = get_close_matches(name, known, n=1, cutoff=_MEANT_ALIKE)
            meant = near[0] if near else None
        removed = next((r for r in newest.removed_metrics if r.name == _base(name)), None)
        why = f" ({removed.reason})" if removed else ""
        since = self._since(name)
        if since:
            why = f" (it appeared by {since})"
        releases = " or ".join(dict.fromkeys(each.version for each in self.contracts))
        said = f"vLLM {releases}" if self.pinned else f"vLLM {newest.version}, the newest known,"
        yield Finding(
            query.path,
            f"{said} exports no series {name}{why}",
            remedy=f"did you mean {meant}?" if meant else "",
        )

    def _since(self, name: str) -> str | None:
        """Return the first later release that exports the series."""
        latest = releases.numbers(self.contracts[-1].version)
        for version, contract in knowledge.engines().items():
            if releases.numbers(version) > latest and _metric(contract, name) is not None:
                return version
        return None

    def _labels(self, metric: Metric, series: Series, query: Query) -> Iterator[Finding]:
        own = {*metric.labels, "le", "quantile"}
        for label, operator, value in series.matchers:
            meant = _label_meant(label, metric)
            if label in own or label in self.labels or meant is None:
                continue
            if operator in ("=", "=~") and value not in ("", ".*"):
                yield Finding(
                    query.path,
                    f"{series.name} has no label {label}, so the selector matches nothing",
                    remedy=f"did you mean {meant}?",
                )
        for label in sorted(grouping_labels(query.text) - own - self.labels):
            meant = _label_meant(label, metric)
            if meant is not None and label in _WRONG_LABELS:
                yield Finding(
                    query.path,
                    f"{series.name} has no label {label} to group by",
                    Severity.WARNING,
                    remedy=f"did you mean {meant}?",
                )


def _has_label(series: Series, query: Query, label: str) -> bool:
    named = any(each == label for each, _, _ in series.matchers)
    return named or label in grouping_labels(query.text)


def _label_meant(label: str, metric: Metric) -> str | None:
    """Return the metric's label that a wrong one stands for, or None where it may be a target's."""
    if label in _WRONG_LABELS:
        return "model_name" if "model_name" in metric.labels else None
    near = get_close_matches(label, list(metric.labels), n=1, cutoff=_ALIKE)
    return near[0] if near else None


def _resembles(meant: str | None, name: str) -> bool:
    """Whether an underscore stands where the engine writes a colon."""
    return meant is not None and name.startswith("vllm_")


def _metric(contract: EngineContract, series: str) -> Metric | None:
    """Return the metric of a series, `_created` of the client library included."""
    found = contract.metric(series)
    if found is None and series.endswith("_created"):
        base = series.removesuffix("_created")
        found = next((metric for metric in contract.metrics if metric.name == base), None)
    return found


def _base(name: str) -> str:
    for suffix in ("_total", "_bucket", "_sum", "_count", "_created"):
        name = name.removesuffix(suffix)
    return name


def _is_router(stack: Stack) -> Iterator[bool]:
    words = router_metrics().images
    for pod in stack.pods():
        try:
            for container in pod.containers():
                yield any(word in (container.image or "") for word in words)
        except (UnknownFieldError, UnreadableFieldError):
            yield False


def _is_old(version: str) -> bool:
    if not version[:1].isdigit():
        return False
    major, minor, patch = (*releases.numbers(version), 0, 0)[:3]
    memory = knowledge.catalog().borders.memory_at((major, minor, patch))
    return memory.first_engine_runs == "default"


def _releases(stack: Stack, context: Context) -> tuple[Sequence[Release], bool]:
    """Return the releases of the stack's engines, or the newest where none is pinned."""
    found: dict[str, Release] = {}
    for pod in stack.pods():
        try:
            for container in pod.containers():
                known = release(container, context) if container.is_engine else None
                if known is not None and known.contracts:
                    found[known.text] = known
        except (UnknownFieldError, UnreadableFieldError):
            continue
    stated = context.versions.get("vllm")
    if not found and stated:
        found[stated] = of_version(stated)
    if not any(each.contracts for each in found.values()):
        newest = knowledge.newest()
        return (Release(text=newest.version, contracts=(newest,)),), False
    return tuple(found.values()), True
