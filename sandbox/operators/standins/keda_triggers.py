"""What KEDA refuses of a trigger: a type it has no scaler for, metadata that its scaler cannot use.

Metadata is read for the types that `keda_scalers.yaml` calls checked; each rule is the scaler's own
(pkg/scalers/*_scaler.go and scalersconfig/typed_config.go of v2.20.2, which reads a number as JSON
does).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import yaml

from sandbox.core.kube import Object
from sandbox.operators.standins.objects import section

_DATA: Final = Path(__file__).with_name("keda_scalers.yaml")
_NO_UTILIZATION: Final = frozenset({"cron", "prometheus"})
_WITHOUT_CACHE: Final = frozenset({"cpu", "memory", "cron"})
_WHOLE: Final = re.compile(r"[+-]?\d+")
_QUANTITY: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scalers:
    """The types that KEDA has scalers for, and those whose metadata is read here."""

    types: frozenset[str]
    checked: frozenset[str]


@cache
def scalers() -> Scalers:
    """Return what `keda_scalers.yaml` says."""
    found = yaml.safe_load(_DATA.read_text())
    return Scalers(types=frozenset(found["types"]), checked=frozenset(found["checked"]))


def problems(trigger: Object) -> Iterable[str]:
    """Yield what KEDA would refuse."""
    kind: str = trigger["type"]
    metric: str = trigger.get("metricType", "")
    metadata: dict[str, str] = section(trigger, "metadata")
    if kind not in scalers().types:
        yield f"KEDA has no scaler for type {kind}"
    if trigger.get("useCachedMetrics") and kind in _WITHOUT_CACHE:
        yield f"useCachedMetrics is not supported for a trigger of type {kind}"
    if kind in _NO_UTILIZATION and metric == "Utilization":
        yield f"metricType Utilization is for cpu and memory only, not for {kind}"
    if kind in _METADATA:
        yield from _METADATA[kind](metadata, metric)


def _missing(metadata: Mapping[str, str], *names: str) -> Iterable[str]:
    for name in names:
        if not metadata.get(name):
            yield f"metadata.{name} is missing"


def _prometheus(metadata: Mapping[str, str], _metric: str) -> Iterable[str]:
    yield from _missing(metadata, "serverAddress", "query", "threshold")
    address = metadata.get("serverAddress")
    if address and (
        urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).netloc
    ):
        yield f"metadata.serverAddress must be an http or https URL, it is {address!r}"
    for name in ("threshold", "activationThreshold"):
        value = metadata.get(name)
        if value and not _is_number(value):
            yield f"metadata.{name} must be a number, it is {value!r}"


def _is_number(text: str) -> bool:
    """Tell whether Go's JSON reads a float64 from it: neither NaN nor Infinity, nor `true`."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse(text: str) -> float:
    raise ValueError(text)


def _resource(metadata: Mapping[str, str], metric: str) -> Iterable[str]:
    yield from _missing(metadata, "value")
    if metric not in {"Utilization", "AverageValue"}:
        yield f"metricType must be Utilization or AverageValue, it is {metric!r}"
    value = metadata.get("value")
    form = _WHOLE if metric == "Utilization" else _QUANTITY
    if value and not form.fullmatch(value):
        what = "a whole number" if metric == "Utilization" else "a quantity"
        yield f"metadata.value must be {what}, it is {value!r}"


def _cron(metadata: Mapping[str, str], _metric: str) -> Iterable[str]:
    yield from _missing(metadata, "start", "end", "timezone", "desiredReplicas")
    for name in ("start", "end"):
        value = metadata.get(name)
        if value and len(value.split()) != 5 and not value.startswith("@"):
            yield f"metadata.{name} must have the five fields of a cron line, it is {value!r}"
    if metadata.get("start") and metadata.get("start") == metadata.get("end"):
        yield "metadata.start and metadata.end must not be the same"
    wanted = metadata.get("desiredReplicas")
    if wanted and (not _WHOLE.fullmatch(wanted) or int(wanted) == 0):
        yield f"metadata.desiredReplicas must be a whole number other than 0, it is {wanted!r}"


_METADATA: Final[Mapping[str, Callable[[Mapping[str, str], str], Iterable[str]]]] = {
    "cpu": _resource,
    "memory": _resource,
    "cron": _cron,
    "prometheus": _prometheus,
}
