"""Which kinds are watched, and which of them have a stand-in. docs/readiness.md must agree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.kube import Object
from sandbox.standins import ai_gateway, envoy, gateway, keda, minio
from sandbox.standins.objects import Objects, name_of, namespace_of

Evaluator = Callable[[Object, Objects], Object | None]
"""From an object and all others to its status; None leaves the status alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """Where objects of a kind are served."""

    group_version: str
    kind: str
    plural: str
    evaluate: Evaluator | None = None

    @property
    def collection(self) -> str:
        """The path that lists the kind over all namespaces."""
        root = "/apis/" if "/" in self.group_version else "/api/"
        return f"{root}{self.group_version}/{self.plural}"

    def status_path(self, obj: Object) -> str:
        """The path of the status subresource of one object."""
        root = self.collection.removesuffix(f"/{self.plural}")
        space = namespace_of(obj)
        middle = f"namespaces/{space}/" if space else ""
        return f"{root}/{middle}{self.plural}/{name_of(obj)}/status"


def _kinds(
    group_version: str, evaluators: Mapping[str, tuple[str, Evaluator | None]]
) -> list[Kind]:
    return [
        Kind(group_version=group_version, kind=kind, plural=plural, evaluate=evaluate)
        for kind, (plural, evaluate) in evaluators.items()
    ]


KINDS: Final[tuple[Kind, ...]] = (
    *_kinds(
        "v1",
        {
            "Namespace": ("namespaces", None),
            "Service": ("services", None),
            "Secret": ("secrets", None),
        },
    ),
    *_kinds(
        "apps/v1",
        {"Deployment": ("deployments", None), "StatefulSet": ("statefulsets", None)},
    ),
    *_kinds("storage.k8s.io/v1", {"StorageClass": ("storageclasses", None)}),
    *_kinds("minio.min.io/v2", {"Tenant": ("tenants", minio.tenant)}),
    *_kinds("autoscaling/v2", {"HorizontalPodAutoscaler": ("horizontalpodautoscalers", None)}),
    *_kinds("leaderworkerset.x-k8s.io/v1", {"LeaderWorkerSet": ("leaderworkersets", None)}),
    *_kinds("inference.networking.k8s.io/v1", {"InferencePool": ("inferencepools", None)}),
    *_kinds(
        "gateway.networking.k8s.io/v1",
        {
            "GatewayClass": ("gatewayclasses", gateway.gateway_class),
            "Gateway": ("gateways", gateway.gateway),
            "HTTPRoute": ("httproutes", gateway.http_route),
            "ReferenceGrant": ("referencegrants", None),
        },
    ),
    *_kinds(
        "gateway.envoyproxy.io/v1alpha1",
        {
            "EnvoyProxy": ("envoyproxies", None),
            "Backend": ("backends", envoy.backend),
            "BackendTrafficPolicy": ("backendtrafficpolicies", envoy.policy),
            "ClientTrafficPolicy": ("clienttrafficpolicies", envoy.policy),
            "SecurityPolicy": ("securitypolicies", envoy.policy),
            "EnvoyExtensionPolicy": ("envoyextensionpolicies", envoy.policy),
        },
    ),
    *_kinds(
        "aigateway.envoyproxy.io/v1beta1",
        {
            "AIGatewayRoute": ("aigatewayroutes", ai_gateway.route),
            "AIServiceBackend": ("aiservicebackends", ai_gateway.service_backend),
            "BackendSecurityPolicy": ("backendsecuritypolicies", ai_gateway.security_policy),
        },
    ),
    *_kinds(
        "keda.sh/v1alpha1",
        {
            "ScaledObject": ("scaledobjects", keda.scaled_object),
            "TriggerAuthentication": ("triggerauthentications", None),
            "ClusterTriggerAuthentication": ("clustertriggerauthentications", None),
        },
    ),
)

STANDIN_KINDS: Final = tuple(sorted(kind.kind for kind in KINDS if kind.evaluate is not None))
