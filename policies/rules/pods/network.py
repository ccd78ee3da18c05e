"""Who may connect to engines: nobody, unless a policy says so."""

from collections.abc import Iterator

from models.core.findings import Finding
from policies.core.context import Context, is_house
from policies.core.rule import rule
from policies.rules.pods.qos import injections
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.kubernetes.workload import pods_of


def _runs_engines(manifest: Manifest) -> bool:
    return any(pod.runs_engine or pod.takes_accelerators for pod in pods_of(manifest))


@rule(
    "k8s-namespace-deny-ingress",
    "Every namespace with engines denies connections that no policy allows.",
    remedy="add a NetworkPolicy {podSelector: {}, policyTypes: [Ingress]} to the namespace, and "
    "one that allows the gateway",
    tags=("network",),
    framework=("CIS Kubernetes Benchmark", "5.3.2"),
    house=True,
)
def deny_ingress(placed: Placed, context: Context) -> Iterator[Finding]:
    """An engine serves whoever reaches its port, without any key."""
    manifest = placed.manifest
    if not context.whole or manifest.fragment or not _runs_engines(manifest):
        return
    here = manifest.namespace
    policies = placed.stack.of_kind("NetworkPolicy")
    if not any(_denies(each) for each in policies if each.namespace == here):
        yield Finding("metadata.namespace", f"namespace {here!r} has no default-deny policy")


def _denies(policy: Manifest) -> bool:
    spec = policy.spec
    selector = spec["podSelector"]
    everybody = not any(
        True for key in ("matchLabels", "matchExpressions") if selector[key].value not in (None, {})
    )
    types = spec["policyTypes"].words()
    nobody = not any(True for _ in spec["ingress"].items())
    return everybody and nobody and (not types or "Ingress" in types)


@rule(
    "k8s-namespace-inject-no-engine",
    "No namespace adds sidecars to the engines in it.",
    remedy="remove the label or annotation from the namespace",
    tags=("qos", "mesh"),
    house=True,
)
def inject_no_engine(placed: Placed, context: Context) -> Iterator[Finding]:
    """QOS-01, for namespaces that are not this project's."""
    manifest = placed.manifest
    if manifest.fragment or not _runs_engines(manifest) or is_house(manifest.namespace):
        return
    for namespace in placed.stack.of_kind("Namespace"):
        if namespace.name != manifest.namespace:
            continue
        for key in injections({**namespace.annotations(), **namespace.labels()}):
            yield Finding(
                "metadata",
                f"{key!r} adds a sidecar to {manifest.label}",
                subject=namespace.label,
            )
