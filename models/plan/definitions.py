"""Custom resource definitions that our objects are made of, by the chart that brings them.

Where operators are somebody else's work, each definition is read from the cluster and must serve
the version that we write (`missing_version`); a test holds this table against what is registered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from models.plan.operators import operators
from models.plan.plan import PlannedRegion, PlatformPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedDefinition:
    """One definition: `plural.group`, the kind, the version that our objects are written in."""

    plural: str
    group: str
    version: str
    kind: str

    @property
    def name(self) -> str:
        """The name of the CustomResourceDefinition object."""
        return f"{self.plural}.{self.group}"

    @property
    def api(self) -> str:
        """The apiVersion of our objects."""
        return f"{self.group}/{self.version}"


def _all(group: str, version: str, kinds: Mapping[str, str]) -> tuple[ServedDefinition, ...]:
    return tuple(
        ServedDefinition(plural=plural, group=group, version=version, kind=kind)
        for kind, plural in kinds.items()
    )


DEFINITIONS: Final[Mapping[str, tuple[ServedDefinition, ...]]] = {
    "kube-prometheus-stack": _all(
        "monitoring.coreos.com", "v1", {"ServiceMonitor": "servicemonitors"}
    ),
    "keda": _all("keda.sh", "v1alpha1", {"ScaledObject": "scaledobjects"}),
    "envoy-gateway": (
        *_all(
            "gateway.networking.k8s.io",
            "v1",
            {"GatewayClass": "gatewayclasses", "Gateway": "gateways"},
        ),
        *_all(
            "gateway.envoyproxy.io",
            "v1alpha1",
            {
                "Backend": "backends",
                "BackendTrafficPolicy": "backendtrafficpolicies",
                "ClientTrafficPolicy": "clienttrafficpolicies",
                "SecurityPolicy": "securitypolicies",
            },
        ),
    ),
    "ai-gateway-crds": _all(
        "aigateway.envoyproxy.io",
        "v1beta1",
        {
            "AIGatewayRoute": "aigatewayroutes",
            "AIServiceBackend": "aiservicebackends",
            "BackendSecurityPolicy": "backendsecuritypolicies",
        },
    ),
    "cert-manager": _all(
        "cert-manager.io",
        "v1",
        {"Certificate": "certificates", "ClusterIssuer": "clusterissuers", "Issuer": "issuers"},
    ),
    "external-secrets": _all(
        "external-secrets.io",
        "v1",
        {"ExternalSecret": "externalsecrets", "SecretStore": "secretstores"},
    ),
    "longhorn": _all(
        "longhorn.io",
        "v1beta2",
        {"BackupTarget": "backuptargets", "RecurringJob": "recurringjobs"},
    ),
    "minio-operator": _all("minio.min.io", "v2", {"Tenant": "tenants"}),
}
"""What we write objects of, by the chart that defines it."""


def required(plan: PlatformPlan, region: PlannedRegion) -> tuple[ServedDefinition, ...]:
    """Return the definitions that a region's objects need."""
    return tuple(each for row in operators(plan, region) for each in DEFINITIONS.get(row.chart, ()))


def missing_version(
    definition: ServedDefinition, versions: Sequence[Mapping[str, Any]], served_by: str
) -> str | None:
    """Return why a definition does not do, None where it serves the wanted version.

    `versions` are `spec.versions` of the definition; `served_by` names the cluster.
    """
    served = [str(each.get("name")) for each in versions if each.get("served")]
    if definition.version in served:
        return None
    found = ", ".join(served) or "no version"
    return (
        f"operators: external, but {served_by} does not serve {definition.kind} as "
        f"{definition.api}: its definition {definition.name} serves {found}. Install a release of "
        f"its operator that serves {definition.version} (catalog/charts.yaml has the tested one), "
        "or set operators to managed"
    )


def kinds(definitions: Iterable[ServedDefinition]) -> dict[str, ServedDefinition]:
    """Return definitions by "apiVersion:Kind", as resource types name them."""
    return {f"{each.api}:{each.kind}": each for each in definitions}
