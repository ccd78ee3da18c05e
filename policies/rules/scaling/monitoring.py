"""Monitors that Prometheus takes, and that find something to scrape."""

from collections.abc import Iterator, Mapping
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed, Stack, selects

_SELECTORS: Final = {
    "servicemonitor": "serviceMonitorSelector",
    "podmonitor": "podMonitorSelector",
    "probe": "probeSelector",
    "prometheusrule": "ruleSelector",
}
_OPERATOR_CHART: Final = "kube-prometheus-stack"


@rule(
    "k8s-monitor-carry-selected-labels",
    "Every monitor and rule has the labels that the Prometheus operator selects.",
    remedy="add the label, for kube-prometheus-stack release: <name of the Helm release>",
    weight=RuleWeight.CRITICAL,
    tags=("metrics", "names"),
    house=True,
    configuration=("monitorLabels",),
)
def carry_selected_labels(placed: Placed, context: Context) -> Iterator[Finding]:
    """PROM-01: what is not selected is ignored without a word."""
    manifest = placed.manifest
    selector = _SELECTORS.get(manifest.kind.lower())
    if selector is None or manifest.fragment or manifest.group != "monitoring.coreos.com":
        return
    labels = manifest.labels()
    found = list(_selections(placed.stack, selector))
    if not found and context.monitor_labels:
        found = [dict(context.monitor_labels)]
    if not found:
        if context.whole:
            yield Finding(
                "metadata.labels",
                "cannot verify that Prometheus takes it: nothing says what the operator selects",
                Severity.UNKNOWN,
                remedy="set monitor_labels (settings: observability.monitor_labels)",
            )
        return
    if not any(_takes(each, labels) for each in found):
        wanted = " or ".join(str(each) for each in found)
        yield Finding(
            "metadata.labels", f"the operator selects {wanted}, and this has other labels"
        )


def _takes(selection: Mapping[str, str] | Node, labels: Mapping[str, str]) -> bool:
    if isinstance(selection, Node):
        return selects(selection, labels)
    return all(labels.get(key) == value for key, value in selection.items())


def _selections(stack: Stack, selector: str) -> Iterator[Mapping[str, str] | Node]:
    """Yield what each Prometheus of the stack selects."""
    for prometheus in stack.of_kind("Prometheus"):
        if prometheus.spec[selector].present:
            yield prometheus.spec[selector]
    for release in stack.of_kind("Release"):
        if (release.body["chart"].text() or "").endswith(_OPERATOR_CHART):
            yield _release_selection(release, selector)


def _release_selection(release: Manifest, selector: str) -> Mapping[str, str] | Node:
    spec = release.body.at("values", "prometheus", "prometheusSpec")
    switch = spec[f"{selector}NilUsesHelmValues"]
    if spec[selector].present and spec[selector].value != {}:
        return spec[selector]
    # A text "false" is true to Helm: only the boolean switches the release label off.
    if switch.value is False:
        return {}
    return {"release": release.body["name"].text() or release.name}


@rule(
    "k8s-monitor-find-its-port",
    "Every ServiceMonitor finds a Service with the named port it scrapes.",
    remedy="name the Service's port and write that name in endpoints[].port; select by labels of "
    "the Service, not of the pods",
    weight=RuleWeight.CRITICAL,
    tags=("metrics", "names"),
)
def find_its_port(placed: Placed, context: Context) -> Iterator[Finding]:
    """PROM-02: a number, or a name that no Service has, gives no targets and no error."""
    manifest = placed.manifest
    if not manifest.is_kind("ServiceMonitor") or manifest.fragment:
        return
    ports: list[str] = []
    for endpoint in manifest.spec["endpoints"].items():
        name = endpoint["port"].text()
        if name is None and endpoint["targetPort"].present:
            continue
        if name is None or name.isdigit():
            yield Finding(endpoint.path, f"port {name!r} is not the name of a Service's port")
        else:
            ports.append(name)
    services = list(_selected_services(placed))
    if not services:
        if context.whole:
            yield Finding("spec.selector", "no Service has these labels in these namespaces")
        return
    for name in ports:
        if not any(name in _port_names(service) for service in services):
            yield Finding("spec.endpoints", f"no selected Service has a port named {name!r}")


def _selected_services(placed: Placed) -> Iterator[Manifest]:
    manifest = placed.manifest
    selector = manifest.spec["namespaceSelector"]
    names = selector["matchNames"].words()
    anywhere = bool(selector["any"].flag())
    for service in placed.stack.of_kind("Service"):
        allowed = names or [manifest.namespace]
        if (anywhere or service.namespace in allowed) and selects(
            manifest.spec["selector"], service.labels()
        ):
            yield service


def _port_names(service: Manifest) -> set[str]:
    return {port["name"].text() or "" for port in service.spec["ports"].items()}
