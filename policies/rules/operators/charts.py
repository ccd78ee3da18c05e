"""Helm releases: named, pinned, waited for, and with values that their chart knows."""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

import yaml

from models.core.findings import Finding
from policies.core import knowledge
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.core.unknowns import Unknown
from policies.views.kubernetes.chart_values import faults
from policies.views.kubernetes.manifest import Manifest

_RELEASE: Final = "helm.sh/v3:Release"
_EXACT: Final = re.compile(r"^v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$")


def _is_release(manifest: Manifest) -> bool:
    return manifest.options is not None and manifest.options.type.endswith(_RELEASE)


@rule(
    "k8s-release-have-fixed-name",
    "Every Helm release has a fixed name.",
    remedy="give the release's own name (name=...), not only the resource's",
    weight=RuleWeight.CRITICAL,
    tags=("charts", "names"),
)
def have_fixed_name(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-07: a suffix that Pulumi adds is in the name of everything that the chart makes."""
    if _is_release(manifest) and not manifest.body["name"].text():
        yield Finding("name", "the release has no name of its own, and gets a random suffix")


@rule(
    "k8s-release-pin-version",
    "Every Helm release names one version of its chart.",
    remedy="give the exact version (version=...), as catalog/charts.yaml does",
    tags=("charts",),
)
def pin_version(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """A range, or nothing, takes another chart tomorrow than the one that was tested."""
    if not _is_release(manifest):
        return
    version = manifest.body["version"].text()
    local = (manifest.body["chart"].text() or "").startswith((".", "/"))
    if version is None and not local:
        yield Finding("version", "the release takes the newest chart there is")
    elif version is not None and not _EXACT.match(version):
        yield Finding("version", f"{version!r} is a range of versions")


@rule(
    "k8s-release-be-waited-for",
    "Every Helm release is waited for.",
    remedy="leave skipAwait out, and give a timeout that suffices",
    weight=RuleWeight.HIGH,
    tags=("charts",),
)
def be_waited_for(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-04: objects of a chart's definitions come after the chart, if anything waits for it."""
    if _is_release(manifest) and manifest.body["skipAwait"].flag():
        yield Finding("skipAwait", "the release is not waited for")


@rule(
    "k8s-release-set-known-values",
    "Every value of a Helm release is one that its chart has.",
    remedy="correct the key's spelling or the value's type (helm show values lists them)",
    tags=("charts",),
)
def set_known_values(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """Helm ignores a misspelt key without a word, and the text "false" is true to it.

    Judged are charts of the catalog in its version, as far as their default values are at hand.
    """
    if not _is_release(manifest):
        return
    name = _chart(manifest.body["chart"].text() or "")
    for chart in knowledge.catalog().charts.values():
        pinned = chart.version.lstrip("v") == (manifest.body["version"].text() or "").lstrip("v")
        defaults = knowledge.chart_values().get(chart.chart)
        if chart.chart != name or not pinned or defaults is None:
            continue
        given = _known(manifest.body["values"])
        for fault in faults(given, yaml.safe_load(defaults) or {}, chart.open_values):
            yield Finding(f"values.{fault.split(' ')[0]}", fault)


def _chart(text: str) -> str:
    """Return a chart's name from a name, an OCI reference or a packed file."""
    last = text.rstrip("/").rsplit("/", 1)[-1]
    packed = re.match(r"^(.+?)-v?\d+\.\d+\.\d+.*\.tgz$", last)
    return packed[1] if packed else last


def _known(node: Node) -> dict[str, Any]:
    """Return what is known of a mapping; another rule refuses what is unknown."""
    value = node.value
    if not isinstance(value, dict):
        return {}
    found: dict[str, Any] = {}
    for key, member in value.items():
        if isinstance(member, dict):
            found[key] = _known(node[key])
        elif not isinstance(member, Unknown):
            found[key] = cast("Any", member)
    return found
