"""Reads the Prometheus metrics that a vLLM source tree defines, without importing it.

A metric is a string `vllm:<name>` in the source. Its type is the class that it is given to:
`Counter(name=...)`, `self._gauge_cls(name=...)`, or `{NAME: OffloadingHistogramMetadata(...)}`.
`_HINTS` has the few whose type is decided elsewhere in the code.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from models.facts.contract import Metric, MetricType

_NAME: Final = re.compile(r"^vllm:[a-z][a-z0-9_]*$")
_USUAL_LABELS: Final = ("model_name", "engine")
_KINDS: Final = ("counter", "gauge", "histogram")
_IGNORED_PARTS: Final = frozenset({"benchmarks", "third_party"})
_OLD_ENGINE: Final = "engine/metrics.py"  # the V0 engine's, which no release here runs by default

# Names in lists that a loop turns into metrics, and the info metrics, which are gauges of value 1.
_HINTS: Final[Mapping[str, MetricType]] = {
    "vllm:cache_config_info": MetricType.INFO,
    "vllm:kv_offload_config_info": MetricType.INFO,
    "vllm:simple_kv_offload_info": MetricType.INFO,
    "vllm:diffusion_num_canvas_positions": MetricType.COUNTER,
    "vllm:diffusion_num_committed_tokens": MetricType.COUNTER,
    "vllm:diffusion_num_denoising_steps": MetricType.COUNTER,
    "vllm:spec_decode_num_accepted_tokens": MetricType.COUNTER,
    "vllm:spec_decode_num_draft_tokens": MetricType.COUNTER,
    "vllm:spec_decode_num_drafts": MetricType.COUNTER,
}
# The labels of the first two are fields of the configuration, not a fixed set; the third takes its
# labels from attributes.
_LABEL_HINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "vllm:cache_config_info": ("engine",),
    "vllm:kv_offload_config_info": ("model_name", "engine"),
    "vllm:lora_requests_info": ("max_lora", "waiting_lora_adapters", "running_lora_adapters"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    type: MetricType
    labels: tuple[str, ...] | None


def read_metrics(root: Path) -> tuple[Metric, ...]:
    """Return the metrics of the source tree `root`, by name.

    Raises `FileNotFoundError` where the tree is not vLLM's.
    """
    if not (root / "vllm").is_dir():
        raise FileNotFoundError(f"{root}: no vllm package")
    trees = [_Visible().visit(ast.parse(text)) for text in _texts(root / "vllm")]
    constants = _constants(trees)
    found = {name: known for tree in trees for name, known in _definitions(tree, constants)}
    names = {text for text in constants.values() if _NAME.match(text)}
    names |= found.keys() | set(_written(trees))
    return tuple(metric(name, found.get(name)) for name in sorted(names))


def metric(name: str, known: _Found | None = None) -> Metric:
    """Return a metric by its name in the code; its type is a hint's, or what was found, if any."""
    kind = _HINTS.get(name) or (known.type if known else MetricType.UNKNOWN)
    labels = known.labels if known and known.labels is not None else _USUAL_LABELS
    return Metric(
        name=name,
        type=kind,
        exposed=exposed(name, kind),
        labels=_LABEL_HINTS.get(name, labels),
    )


def exposed(name: str, kind: MetricType) -> tuple[str, ...]:
    """Return the series that Prometheus sees.

    The client library gives counters the suffix `_total` (once, whether the code has it or not) and
    histograms three series.
    """
    if kind is MetricType.COUNTER:
        return (f"{name.removesuffix('_total')}_total",)
    if kind is MetricType.HISTOGRAM:
        return tuple(f"{name}{suffix}" for suffix in ("_bucket", "_sum", "_count"))
    return (name,)


class _Visible(ast.NodeTransformer):
    """Drops what a release registers only on `--show-hidden-metrics-for-version`."""

    def visit_If(self, node: ast.If) -> ast.AST:
        """Replace the block that shows hidden metrics by a `pass`."""
        hidden = "show_hidden_metrics" in ast.unparse(node.test)
        return ast.Pass() if hidden else self.generic_visit(node)


def _texts(package: Path) -> Iterator[str]:
    """Yield the files that can define a metric (parsing all of vLLM takes half a minute)."""
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.as_posix() != _OLD_ENGINE and _IGNORED_PARTS.isdisjoint(name.parts):
            text = path.read_text(encoding="utf-8")
            if '"vllm:' in text or "Metadata(" in text:
                yield text


def _constants(trees: list[ast.Module]) -> dict[str, str]:
    """Return string constants by name: `Class.NAME` and, of modules, `NAME`."""
    found: dict[str, str] = {}
    for tree in trees:
        owners = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for prefix, body in [("", tree.body), *((f"{node.name}.", node.body) for node in owners)]:
            for node in body:
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
                    continue
                target = node.targets[0]
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    found.setdefault(f"{prefix}{target.id}", node.value.value)
    return found


def _definitions(tree: ast.Module, constants: Mapping[str, str]) -> Iterator[tuple[str, _Found]]:
    """Yield what is defined by a call, or by a call under a name in a mapping."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = next((key.value for key in node.keywords if key.arg == "name"), None)
            first = named or (node.args[0] if node.args else None)
            yield from _defined(first, node, constants)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield from _defined(key, value, constants)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield from _defined(node.targets[0].slice, node.value, constants)


def _defined(
    name: ast.expr | None, call: ast.expr, constants: Mapping[str, str]
) -> Iterator[tuple[str, _Found]]:
    if name is None or not isinstance(call, ast.Call):
        return
    text = _string(name, constants)
    function = ast.unparse(call.func).rsplit(".", 1)[-1].lower()
    kind = next((kind for kind in _KINDS if kind in function), None)
    if text is not None and _NAME.match(text) and kind is not None:
        yield text, _Found(type=MetricType(kind), labels=_labels(call, constants))


def _labels(call: ast.Call, constants: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the labels, or None where they are the usual ones or cannot be read.

    The offloading connectors' `...Metadata(labelnames=...)` are added to the usual ones.
    """
    positional = call.args[2] if len(call.args) > 2 else None  # (name, help, labels)
    value = next((key.value for key in call.keywords if key.arg == "labelnames"), positional)
    if isinstance(value, ast.BinOp):
        extra = _strings(value.right, constants)
        return None if extra is None else (*_USUAL_LABELS, *extra)
    found = None if value is None else _strings(value, constants)
    if found is not None and ast.unparse(call.func).endswith("Metadata"):
        return (*_USUAL_LABELS, *found)
    return found


def _strings(value: ast.expr, constants: Mapping[str, str]) -> tuple[str, ...] | None:
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    found = [_string(item, constants) for item in value.elts]
    return None if None in found else tuple(text for text in found if text is not None)


def _written(trees: list[ast.Module]) -> Iterator[str]:
    """Yield the metric names that stand in a list of specifications or in an assignment."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple | ast.Assign):
                parts = node.elts if isinstance(node, ast.Tuple) else [node.value]
                texts = (_string(part, {}) for part in parts)
                yield from (text for text in texts if text is not None and _NAME.match(text))


def _string(value: ast.expr, constants: Mapping[str, str]) -> str | None:
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else None
    return constants.get(ast.unparse(value))
