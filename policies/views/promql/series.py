"""Names of series and their labels in PromQL, and the texts of an object that hold PromQL."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from policies.core.nodes import Node, leaves, mappings
from policies.core.unknowns import Unknown, plain
from policies.views.kubernetes.manifest import Manifest

_STRING: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`')
_NAMED: Final = re.compile(r"__name__\s*=\s*[\"'](vllm[:_]\w+)[\"']")
_SERIES: Final = re.compile(r"(?<![\w:.$/-])((?:vllm[:_])[a-zA-Z_]\w*)(?![\w:]*\s*\()(?!\w*[:$])")
_TEMPLATED: Final = re.compile(r"^(\$|\{\{|\[\[|\ufffc|<)")
_MATCHER: Final = re.compile(r"([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*(\x00\d+\x00)")
_GROUPING: Final = re.compile(r"\b(?:by|on)\s*\(([^()]*)\)", re.IGNORECASE)
_ARGUMENT: Final = re.compile(r"(?:^|=)(vllm:[a-z]\w*)(\{[^{}]*\})?$")
_TEXT_MAX: Final = 3_000_000


@dataclass(frozen=True, slots=True)
class Series:
    """A series that a query names, with the label matchers beside it (name, operator, value)."""

    name: str
    matchers: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A text in PromQL with where it stands; `alias`: the name may be one that an adapter made."""

    text: str
    path: str
    alias: bool = False


def series_of(query: str) -> Iterator[Series]:
    """Yield every series of the engine's prefix that a query names."""
    strings: list[str] = []

    def hide(match: re.Match[str]) -> str:
        strings.append(match[0][1:-1])
        return f"\0{len(strings) - 1}\0"

    for name in _NAMED.findall(query):
        yield Series(name)
    hidden = re.sub(r"#[^\n]*", " ", _STRING.sub(hide, query))
    for match in _SERIES.finditer(hidden):
        after = hidden[match.end() :].lstrip()
        if _TEMPLATED.match(after):
            continue
        inside = after[1:].partition("}")[0] if after.startswith("{") else ""
        matchers = tuple(
            (label, operator, strings[int(value.strip("\0"))])
            for label, operator, value in _MATCHER.findall(inside)
        )
        yield Series(match[1], matchers)


def grouping_labels(query: str) -> frozenset[str]:
    """Return the labels that a query groups or joins by."""
    found: set[str] = set()
    for labels in _GROUPING.findall(_STRING.sub('""', query)):
        found |= {label.strip() for label in labels.split(",") if label.strip()}
    return frozenset(found)


def queries(manifest: Manifest) -> Iterator[Query]:
    """Yield every PromQL text of an object, whatever its kind."""
    kind = manifest.kind.lower()
    if kind == "scaledobject" or kind == "scaledjob":
        yield from _triggers(manifest)
    elif kind == "horizontalpodautoscaler":
        yield from _external(manifest)
    elif kind == "configmap":
        for _, node in _texts(manifest.body["data"]):
            yield from _embedded(node)
    elif kind == "grafanadashboard":
        yield from _embedded(manifest.spec["json"])
    elif kind == "prometheusrule" or "groups" in _keys(manifest.body):
        yield from _rules(manifest.spec if kind == "prometheusrule" else manifest.body)
    elif "panels" in _keys(manifest.body) or "dashboard" in _keys(manifest.body):
        yield from _dashboard(manifest.body)


def arguments(manifest: Manifest) -> Iterator[Query]:
    """Yield names of series among the arguments of containers (of endpoint pickers and routers)."""
    for node in mappings(manifest.body["spec"]):
        for key in ("args", "command"):
            for leaf in leaves(node[key]):
                match = _ARGUMENT.search(leaf.value) if isinstance(leaf.value, str) else None
                if match is not None:
                    yield Query(match[1], leaf.path)


def recorded(manifest: Manifest) -> Iterator[str]:
    """Yield the names that an object's recording rules, adapters and relabelings define."""
    for node in mappings(manifest.body):
        for key in ("record", "as", "replacement"):
            value = node[key].value
            if isinstance(value, str):
                yield value
    if manifest.is_kind("ConfigMap"):
        for _, node in _texts(manifest.body["data"]):
            text = node.value if isinstance(node.value, str) else ""
            yield from re.findall(r"\b(?:record|as):\s*[\"']?([\w:$]+)", text)


def target_labels(manifest: Manifest) -> Iterator[str]:
    """Yield labels that monitors and scrape settings add to series."""
    for node in mappings(manifest.body):
        for key in ("podTargetLabels", "targetLabels"):
            value = node[key].value
            if isinstance(value, list):
                yield from (each for each in value if isinstance(each, str))
        for key in ("targetLabel", "target_label"):
            value = node[key].value
            if isinstance(value, str):
                yield value


def _keys(node: Node) -> set[str]:
    return set(node.value) if isinstance(node.value, dict) else set()


def _texts(node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node.value, dict):
        for key, value in node.value.items():
            if isinstance(value, str):
                yield key, node[key]


def _list(node: Node) -> Iterator[Node]:
    if isinstance(node.value, list):
        yield from (node[index] for index in range(len(node.value)))


def _text(node: Node, *, alias: bool = False) -> Iterator[Query]:
    value = node.value
    if isinstance(value, Unknown):
        value = value.text
    if isinstance(value, str) and "vllm" in value:
        yield Query(value, node.path, alias)


def _triggers(manifest: Manifest) -> Iterator[Query]:
    for trigger in _list(manifest.spec["triggers"]):
        yield from _text(trigger.at("metadata", "query"))


def _external(manifest: Manifest) -> Iterator[Query]:
    for metric in _list(manifest.spec["metrics"]):
        for kind in ("external", "pods", "object"):
            yield from _text(metric.at(kind, "metric", "name"), alias=True)


def _rules(node: Node) -> Iterator[Query]:
    for group in _list(node["groups"]):
        for each in _list(group["rules"]):
            yield from _text(each["expr"])


def _dashboard(node: Node) -> Iterator[Query]:
    for each in mappings(node):
        for key in ("expr", "query", "definition"):
            yield from _text(each[key])


def _embedded(node: Node) -> Iterator[Query]:
    """Yield the queries of a dashboard, of rules or of an adapter given as text."""
    text = node.value
    if not isinstance(text, str) or "vllm" not in text or len(text) > _TEXT_MAX:
        return
    try:
        parsed = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        return
    inner = Node(plain(parsed), "")
    found = [*_rules(inner), *_dashboard(inner), *_adapter(inner)]
    for query in dict.fromkeys(found):
        yield Query(query.text, f"{node.path}: {query.path}", query.alias)


def _adapter(node: Node) -> Iterator[Query]:
    """Yield what a Prometheus adapter looks for; its own templates stand for the rest."""
    for key in ("rules", "externalRules"):
        for each in _list(node[key]):
            yield from _text(each["seriesQuery"])
