"""Names: fixed where others refer to them, and none that breaks an engine's environment."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context, strictness
from policies.core.nodes import UnknownFieldError, UnreadableFieldError
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.kubernetes.workload import Container, Pod

_ENGINE_VARIABLES: Final = (
    "VLLM_PORT",
    "VLLM_DP_MASTER_PORT",
    "VLLM_NIXL_SIDE_CHANNEL_PORT",
    "VLLM_MOONCAKE_BOOTSTRAP_PORT",
    "LMCACHE_PORT",
)
"""Variables that the engine reads and that a Service's link `<NAME>_PORT` would set."""

_AUTONAMED: Final = "pulumi.com/autonamed"
_SKIP_AWAIT: Final = "pulumi.com/skipAwait"


@rule(
    "k8s-service-spare-engine-variables",
    "No Service has a name whose link would set a variable of the engine.",
    remedy="give the Service another name, such as the model's",
    weight=RuleWeight.CRITICAL,
    tags=("names",),
    fragments=True,
)
def spare_engine_variables(placed: Placed, context: Context) -> Iterator[Finding]:
    """VLLM-13: the Service `vllm` sets VLLM_PORT=tcp://..., and the engine ends reading it."""
    service = placed.manifest
    if not service.is_kind("Service"):
        return
    name = service.metadata["name"].text() or ""
    variable = name.upper().replace("-", "_").replace(".", "_") + "_PORT"
    if variable not in _ENGINE_VARIABLES:
        return
    linked = context.pulumi or _reaches_engines(placed)
    yield Finding(
        "metadata.name",
        f"the name {name!r} sets {variable} in every pod beside it",
        Severity.ERROR if linked else Severity.WARNING,
    )


def _reaches_engines(placed: Placed) -> bool:
    """Whether an engine beside the Service gets its variables; so it is where none is seen."""
    namespace = placed.manifest.namespace
    engines = [pod for pod in placed.stack.pods() if pod.namespace == namespace and _is_engine(pod)]
    links = [pod.spec["enableServiceLinks"].value is not False for pod in engines]
    return any(links) or not links


def _is_engine(pod: Pod) -> bool:
    try:
        return pod.runs_engine
    except (UnknownFieldError, UnreadableFieldError):
        return False


@rule(
    "k8s-pod-switch-off-service-links",
    "Every engine's pod has service links switched off.",
    remedy="set enableServiceLinks: false in the pod's spec",
    tags=("names",),
    house=True,
)
def switch_off_service_links(pod: Pod, context: Context) -> Iterator[Finding]:
    """VLLM-13: whatever Services exist beside it, the environment stays what is written here."""
    if pod.found.model is not None or not pod.runs_engine:
        return
    links = pod.spec["enableServiceLinks"]
    if links.flag() is not False:
        severity = strictness(pod.namespace, context)
        yield Finding(links.path, "enableServiceLinks is not false", severity)


@rule(
    "k8s-container-leave-engine-ports",
    "No engine has its internal port or address set by a variable.",
    remedy="remove the variable; the API's port is the argument --port",
    tags=("names",),
    fragments=True,
)
def leave_engine_ports(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-13: VLLM_PORT is not the API's port; set to it, ranks and API collide."""
    for node in container.node["env"].items():
        name = node["name"].text()
        value = node["value"].text() or ""
        refers = node["valueFrom"].present or "$(" in value
        if name not in ("VLLM_PORT", "VLLM_HOST_IP") or refers:
            continue
        collides = name == "VLLM_HOST_IP" or value in _api_ports(container)
        severity = strictness(container.pod.namespace, context)
        yield Finding(
            node.path,
            f"container {container.called} sets {name}",
            Severity.ERROR if collides else severity,
        )


def _api_ports(container: Container) -> set[str]:
    """Return the ports that the API may have: the default's, and those that the pod names."""
    named = {port["containerPort"].text() or "" for port in container.node["ports"].items()}
    return {"8000", *named}


@rule(
    "k8s-object-have-fixed-name",
    "Every object has a fixed name.",
    remedy="set metadata.name (for a Release: name) to a literal",
    tags=("names",),
)
def have_fixed_name(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-07: Pulumi adds a random suffix to a name that is not given; plain strings miss it."""
    if not context.pulumi or manifest.options is None:
        return
    if manifest.is_kind("Release", "Chart", "ConfigGroup", "ConfigFile", "Directory"):
        if manifest.is_kind("Release"):
            yield from _release_name(manifest)
        return
    metadata = manifest.metadata
    if metadata["annotations"][_AUTONAMED].flag() or not metadata["name"].present:
        yield Finding("metadata.name", "Pulumi makes the name up, with a random suffix")


def _release_name(manifest: Manifest) -> Iterator[Finding]:
    # The provider fills a missing name in with the logical name and a suffix of hex digits.
    name = manifest.body["name"].text()
    logical = manifest.implied_name.strip("()")
    suffix = "" if name is None else name.removeprefix(f"{logical}-")
    made_up = len(suffix) == 8 and all(character in "0123456789abcdef" for character in suffix)
    if name is None or (name.startswith(f"{logical}-") and made_up):
        yield Finding("name", "Pulumi makes the release's name up, with a random suffix")


@rule(
    "k8s-service-await-no-endpoints",
    "No headless Service makes Pulumi wait for endpoints.",
    remedy=f'annotate it {{"{_SKIP_AWAIT}": "true"}}; the StatefulSet is what to wait for',
    tags=("rollout",),
)
def await_no_endpoints(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """PULK-06: the Service waits for pods that wait for the Service."""
    if not context.pulumi or not manifest.is_kind("Service"):
        return
    headless = manifest.spec["clusterIP"].text() == "None"
    selects_pods = any(True for _ in manifest.spec["selector"].pairs())
    if headless and selects_pods and not manifest.metadata["annotations"][_SKIP_AWAIT].flag():
        yield Finding("metadata.annotations", "the provider waits for the Service's endpoints")


@rule(
    "k8s-statefulset-name-its-service",
    "Every StatefulSet names a Service that exists.",
    remedy="write the same literal in spec.serviceName and in the headless Service's metadata.name",
    tags=("names",),
)
def name_its_service(placed: Placed, context: Context) -> Iterator[Finding]:
    """Pods get no DNS names of their own from a Service that does not exist."""
    manifest = placed.manifest
    if not manifest.is_kind("StatefulSet") or manifest.fragment:
        return
    name = manifest.spec["serviceName"].text()
    here = manifest.namespace
    services = [
        service
        for service in placed.stack.of_kind("Service")
        if service.namespace == here and service.name == name
    ]
    if not name:
        yield Finding("spec.serviceName", "no Service is named", Severity.WARNING)
    elif not services and context.whole:
        yield Finding("spec.serviceName", f"there is no Service {name!r} in the namespace")
