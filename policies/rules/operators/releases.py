"""What policies cannot look into: charts, files read elsewhere, patches, unknown objects."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import Node, mappings
from policies.core.rule import RuleWeight, rule
from policies.core.unknowns import Unknown
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.podspecs import pod_specs
from policies.views.kubernetes.stack import Placed

_ENGINE_CHART: Final = re.compile(
    r"(^|[/-])(vllm|production-stack|llm-d-modelservice|llm-d$|text-generation|tgi$|sglang|ollama"
    r"|nim-llm|nim-vlm|nim$|triton|ray-cluster|localai|llama)",
    re.IGNORECASE,
)
_MODEL_KEYS: Final = ("modelspec", "requestgpu", "modelurl", "vllmconfig", "tensorparallelsize")
_DEVICE: Final = re.compile(r"^(nvidia\.com/(gpu|mig)|amd\.com/gpu|gpu\.intel\.com/)", re.I)
_ENGINE_TEXT: Final = re.compile(r"vllm[-/]openai|\bvllm serve\b", re.IGNORECASE)


@rule(
    "k8s-release-ship-no-engine",
    "No Helm release ships pods that take GPUs.",
    remedy="write the workload as typed resources: policies see no pods inside a release",
    weight=RuleWeight.CRITICAL,
    tags=("visibility",),
)
def ship_no_engine(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULP-03: charts' pods pass every rule about pods unseen."""
    if not _is_release(manifest):
        return
    chart = manifest.body["chart"].text() or ""
    if _ENGINE_CHART.search(chart):
        yield Finding("chart", f"chart {chart!r} runs engines")
    values = manifest.body["values"]
    for part in (values, manifest.body["valueYamlFiles"]):
        if part.unknown and isinstance(part.value, Unknown):
            yield Finding(
                part.path,
                "cannot verify that the release takes no GPUs, because "
                f"{part.path} is unknown {part.value.why}",
                Severity.UNKNOWN,
                remedy="give values as plain data",
            )
    for mapping in mappings(values):
        yield from _in_values(mapping)


def _is_release(manifest: Manifest) -> bool:
    return manifest.is_kind("Release", "Chart") and (
        manifest.options is not None and "helm.sh" in manifest.options.type
    )


def _in_values(mapping: Node) -> Iterator[Finding]:
    value = mapping.value
    assert isinstance(value, dict)
    for key, member in value.items():
        node = mapping[key]
        if isinstance(member, Unknown) and _may_hide_pods(node.path):
            yield Finding(
                node.path,
                f"cannot verify that the release takes no GPUs, because {node.path} is unknown "
                f"{member.why}",
                Severity.UNKNOWN,
                remedy="give it as a plain value",
            )
        elif key.lower() in _MODEL_KEYS and member:
            yield Finding(node.path, f"value {key!r} makes the chart run an engine")
        elif _DEVICE.match(key) and mapping.path.lower().endswith(("limits", "requests")):
            yield Finding(node.path, f"the values ask for {key}")
        elif isinstance(member, str) and _ENGINE_TEXT.search(member):
            yield Finding(node.path, "the values name an engine's image or command")


def _may_hide_pods(path: str) -> bool:
    last = path.rsplit(".", 1)[-1].lower()
    return any(word in last for word in ("resources", "limits", "requests", "image", "spec"))


@rule(
    "k8s-object-be-readable",
    "Every object can be read by policies.",
    remedy="use typed resources, or give the objects inline (objs, yaml) as plain values",
    weight=RuleWeight.CRITICAL,
    tags=("visibility",),
    fragments=True,
)
def be_readable(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULP-01: what cannot be read is not waved through."""
    body = manifest.body
    if isinstance(body.value, Unknown):
        yield _unreadable(body.path, f"the whole object is unknown {body.value.why}")
    elif manifest.kind == "?":
        yield _unreadable("kind", "its kind is not known")
    elif body["metadata"].unknown:
        yield _unreadable("metadata", "its metadata is unknown")
    elif context.pulumi and manifest.fragment and any(True for _ in pod_specs(manifest)):
        yield _unreadable("spec", "a patch of a workload shows only a part of its pods")


def _unreadable(path: str, why: str) -> Finding:
    return Finding(path, f"cannot verify it, because {why}", Severity.UNKNOWN)


_OPAQUE: Final = ("helm.sh/v4:Chart", "helm.sh/v3:Chart", "yaml/v2:ConfigFile", "kustomize")
_GROUP: Final = "yaml/v2:ConfigGroup"


@rule(
    "k8s-component-show-objects",
    "Every component that reads objects from elsewhere shows them.",
    remedy="write typed resources, or give the objects inline (objs, yaml); or preview with a "
    "cluster that exists",
    weight=RuleWeight.CRITICAL,
    tags=("visibility",),
)
def show_objects(placed: Placed, context: Context) -> Iterator[Finding]:
    """PULP-03: before its cluster exists, a chart or a file registers nothing that is seen."""
    options = placed.manifest.options
    if options is None or not any(name in options.type for name in (*_OPAQUE, _GROUP)):
        return
    body = placed.manifest.body
    if _GROUP in options.type and body["files"].value is None:
        return
    children = (each.options for each in placed.stack.manifests)
    if not any(child is not None and child.parent == options.urn for child in children):
        yield _unreadable("", "none of its objects is seen at preview")
